"""One log line for each action that Graph carries out itself: which endpoint, what it answered, for how many people.

The fields are those of the contract of the dialect `graph`; no id and no address is among them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from postroom.model.errors import PostroomError
from postroom.model.native import NativeAction
from postroom.providers.graph.session.wire import TAKEN

log = logging.getLogger("postroom.providers")
_TOOLS = {"send": "send_email", "reply": "reply_email", "reply_all": "reply_email", "forward": "forward_email"}


@contextmanager
def logged(action: NativeAction, endpoint: str) -> Iterator[None]:
    """`status` is that of the response, or the error's code where none came."""
    started = time.perf_counter()
    status: int | str = TAKEN
    try:
        yield
    except PostroomError as error:
        status = error.details.get("status") or error.code
        raise
    finally:
        line = {
            "tool": _TOOLS[action.kind],
            "method": "POST",
            "endpoint": endpoint,
            "status": status,
            "duration_ms": round((time.perf_counter() - started) * 1000, 1),
            "recipientCount": len(action.everyone.to) + len(action.everyone.cc),
        }
        log.info("provider_request", extra=line)
