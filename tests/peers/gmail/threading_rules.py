"""When a message joins a thread: it refers to one of its messages and has the same subject, but for Re: and Fwd:."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.peers.gmail.stored import StoredMessage

_PREFIXES = re.compile(r"^(?:\s*(?:re|aw|fw|fwd|wg|sv|vs|antw)\s*(?:\[\d+\])?\s*:)+\s*", re.IGNORECASE)


def bare_subject(subject: str) -> str:
    return " ".join(_PREFIXES.sub("", subject).split()).casefold()


def joins(message: StoredMessage, others: Iterable[StoredMessage]) -> bool:
    others = list(others)
    refers = any(other.message_id and other.message_id in message.references for other in others)
    return refers and any(bare_subject(other.subject) == bare_subject(message.subject) for other in others)
