"""Which function answers which method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.peers.gmail import changes, drafts, filters, labels, messages, settings, threads
from tests.peers.gmail.call import Call

HANDLERS: dict[str, Callable[[Call], dict[str, Any] | None]] = {
    **messages.HANDLERS,
    **threads.HANDLERS,
    **drafts.HANDLERS,
    **labels.HANDLERS,
    **changes.HANDLERS,
    **settings.HANDLERS,
    **filters.HANDLERS,
}
