"""A mail that the provider writes by itself: "reply to this one with these words", and no bytes of ours.

What a person approves is the whole action, with everyone it will reach; its frozen form stands in the outbox where the
bytes of a composed mail stand, and is covered by the same digest.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from postroom.model.address import Address
from postroom.model.draft import Importance

NativeKind = Literal["send", "reply", "reply_all", "forward"]


@dataclass(frozen=True, slots=True)
class Recipients:
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()

    @property
    def keys(self) -> tuple[frozenset[str], ...]:
        """Who, and in which field; names and order say nothing."""
        return tuple(frozenset(address.key for address in field) for field in (self.to, self.cc, self.bcc))


@dataclass(frozen=True, slots=True)
class NativeAction:
    """`named` are the recipients that the caller names and the provider is told; `everyone` is who will get it, those
    included whom the provider adds by itself (`NativeActions.recipients_of`).

    `subject` is the one that the mail will have, set only where the provider lets it be set. `original_sha256` covers
    what the original said when it was shown: its content goes along, quoted or forwarded.
    """

    kind: NativeKind
    original_ref: str = ""
    named: Recipients = Recipients()
    everyone: Recipients = Recipients()
    subject: str = ""
    text: str = ""
    html: str = ""
    importance: Importance = Importance.NORMAL
    original_sha256: str = ""


def freeze(action: NativeAction) -> bytes:
    """One spelling for one action. ASCII without line breaks, whatever the words are."""
    return json.dumps(asdict(action), sort_keys=True, separators=(",", ":")).encode("ascii")


def thaw(frozen: bytes) -> NativeAction:
    """ValueError for anything that `freeze` would not have written."""
    try:
        fields: dict[str, Any] = json.loads(frozen)
        named, everyone = (_recipients(fields.pop(name)) for name in ("named", "everyone"))
        importance = Importance(fields.pop("importance"))
        action = NativeAction(named=named, everyone=everyone, importance=importance, **fields)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError("no frozen action") from error
    if freeze(action) != frozen:
        raise ValueError("no frozen action")
    return action


def _recipients(fields: dict[str, Any]) -> Recipients:
    return Recipients(**{name: tuple(Address(**one) for one in values) for name, values in fields.items()})
