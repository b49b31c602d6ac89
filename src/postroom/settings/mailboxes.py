"""Which mailbox an account's settings lead to: its name may come to stand for another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.settings.accounts import Account

_NAMING = ("provider", "host", "base_url", "session_url", "address", "username")  # of a mailbox, in any settings


def owner_of(settings: Account) -> str:
    """Equal for equal mailboxes, whatever the port, the secret or the mirror."""
    return json.dumps([str(getattr(settings, name, "")).casefold() for name in _NAMING])
