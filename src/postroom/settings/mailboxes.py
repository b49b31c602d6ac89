"""Which mailbox an account's settings lead to: its name may come to stand for another."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from postroom.model.address import Address

if TYPE_CHECKING:
    from postroom.settings.accounts import Account

_MARKED = "#"  # no account has it in its name
_NAMING = ("provider", "host", "base_url", "session_url", "address", "username")  # of a mailbox, in any settings


def owner_of(settings: Account) -> str:
    """Equal for equal mailboxes, whatever the port, the secret or the mirror."""
    return json.dumps([str(getattr(settings, name, "")).casefold() for name in _NAMING])


def secrets_name(settings: Account) -> str:
    """What its secrets are stored under: another settings file may use the account's name for another address."""
    if not settings.address:
        return settings.name
    digest = hashlib.sha256(Address(settings.address).key.encode()).hexdigest()
    return f"{settings.name}{_MARKED}{digest[:16]}"


def named(stored_under: str) -> str:
    """The name of the account alone. Secrets were once stored under it, and a person may have put one there."""
    return stored_under.partition(_MARKED)[0]
