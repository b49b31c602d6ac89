"""Short handles: what a language model is given instead of a provider's 150-character ids."""

from __future__ import annotations

import secrets
from enum import StrEnum

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32, lower case: no i, l, o, u
_LENGTH = 10  # 50 bits: a mistyped handle practically never names another thing


class Kind(StrEnum):
    """The first letter of a handle is the kind of thing it names."""

    EMAIL = "e"
    THREAD = "t"
    DRAFT = "d"
    OPERATION = "o"
    SEND = "s"
    APPROVAL = "a"
    RULE = "r"
    PLAN = "p"


def new_handle(kind: Kind) -> str:
    # 32 letters divide the 256 values of a byte evenly: each is as likely as any other.
    return kind.value + "".join([_ALPHABET[byte % 32] for byte in secrets.token_bytes(_LENGTH)])


def is_handle(text: str, kind: Kind) -> bool:
    return len(text) == _LENGTH + 1 and text[0] == kind.value and all(char in _ALPHABET for char in text[1:])
