"""The vacation reply: what the provider sends by itself to everybody who writes while its owner is away."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from postroom.model.address import Address
from postroom.model.native import NativeAction

# Whom a vacation reply counts as written to: nobody can know who will write.
EVERYONE = Address("everyone@vacation-reply.invalid", "Everybody who writes to this mailbox")


@dataclass(frozen=True, slots=True)
class Vacation:
    """Without `start` it replies at once, without `end` until it is switched off; `end` is the first moment without
    replies. `html` only where the provider has no other version. `note` is what could not be found out."""

    enabled: bool
    subject: str = ""
    text: str = ""
    html: str = ""
    start: datetime | None = None
    end: datetime | None = None
    note: str = ""


def vacation_of(action: NativeAction) -> Vacation:
    """What a native action of kind `vacation` switches on."""
    start, end = (datetime.fromisoformat(one) if one else None for one in (action.start, action.end))
    return Vacation(True, action.subject, action.text, start=start, end=end)
