"""A message that the provider composes itself ("reply to this one with this text"), without bytes of ours.

What a person approves is the whole action, with everyone it will reach; its frozen form takes the place of a composed
message's bytes in the outbox, and is covered by the same digest.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from postroom.model.address import Address
from postroom.model.draft import Importance

NativeKind = Literal["send", "reply", "reply_all", "forward", "unsubscribe", "vacation"]


@dataclass(frozen=True, slots=True)
class Recipients:
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()

    @property
    def keys(self) -> tuple[frozenset[str], ...]:
        """Who, and in which field; names and order do not matter."""
        return tuple(frozenset(address.key for address in field) for field in (self.to, self.cc, self.bcc))


@dataclass(frozen=True, slots=True)
class NativeAction:
    """`named` are the recipients that the caller names and the provider is given; `everyone` is who will receive it,
    including those whom the provider adds itself (`NativeActions.recipients_of`).

    `subject` is the one that the message will have, set only if the provider allows it. `original_sha256` covers
    what the original said when it was shown: its content is sent along, quoted or forwarded. An `unsubscribe` is no
    message: it is a request to the URL in `text`, which the original named. A `vacation` switches a vacation reply on,
    from `start` to `end` (ISO 8601; empty: at once, for ever).
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
    start: str = ""
    end: str = ""


def freeze(action: NativeAction) -> bytes:
    """One serialization per action. Always ASCII without line breaks. No period adds no entries: what was in an outbox
    before there were any stays readable."""
    fields = {name: value for name, value in asdict(action).items() if value or name not in ("start", "end")}
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")


def thaw(frozen: bytes) -> NativeAction:
    """ValueError for anything that `freeze` would not have written."""
    try:
        fields: dict[str, Any] = json.loads(frozen)
        named, everyone = (_recipients(fields.pop(name)) for name in ("named", "everyone"))
        importance = Importance(fields.pop("importance"))
        action = NativeAction(named=named, everyone=everyone, importance=importance, **fields)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError("not a frozen action") from error
    if freeze(action) != frozen:
        raise ValueError("not a frozen action")
    return action


def _recipients(fields: dict[str, Any]) -> Recipients:
    return Recipients(**{name: tuple(Address(**one) for one in values) for name, values in fields.items()})
