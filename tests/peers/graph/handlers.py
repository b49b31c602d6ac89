"""Which function answers which operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.peers.graph import attachments, delta, folders, messages, rules, sending, settings
from tests.peers.graph.call import Call

HANDLERS: dict[str, Callable[[Call], Any]] = {
    **messages.HANDLERS,
    **sending.HANDLERS,
    **attachments.HANDLERS,
    **folders.HANDLERS,
    **delta.HANDLERS,
    **rules.HANDLERS,
    **settings.HANDLERS,
}
