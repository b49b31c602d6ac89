"""Mail addresses: one strict reading for what we write, one lenient value for what we received.

Python's own `parseaddr` answers alice for ``alice@example.org]<bob@example.com>``; an address that is about to
receive mail is therefore read by the grammar below and by nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from postroom.model.errors import InvalidRequest

# dot-atom of RFC 5322 plus the letters of RFC 6531; quoted local parts and IP literals are refused on purpose.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u00a1-\ud7ff\uf900-\ufdcf\ufdf0-\uffef]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*\Z")
_LABEL = re.compile(r"[^\W_](?:[\w\-]*[^\W_])?\Z")
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^<>]*)>\Z")

MAX_LOCAL, MAX_EMAIL = 64, 254


@dataclass(frozen=True, slots=True)
class Address:
    """One correspondent. `email` keeps its spelling; compare with `key`."""

    email: str
    name: str = ""

    @property
    def key(self) -> str:
        """The form two spellings of one mailbox share."""
        return self.email.casefold()

    @property
    def domain(self) -> str:
        return self.email.rpartition("@")[2].casefold()

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.name else self.email


def parse_address(text: str) -> Address:
    """Read ``alice@example.com`` or ``Alice <alice@example.com>``; anything else is an InvalidRequest."""
    text = text.strip(" \t")
    refuse_line_breaks(text, "address")
    named = _NAMED.match(text)
    if named is None:
        return Address(_checked(text, text))
    name = named["name"].strip(" \t")
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name = name[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if "@" in name:
        raise _invalid(text)  # a name that looks like another address is how mail reaches the wrong person
    return Address(_checked(named["email"].strip(" \t"), text), name)


def refuse_line_breaks(value: str, what: str) -> None:
    """CR, LF, NUL, other controls and Unicode line breaks never enter a header value."""
    for char in value:
        if char in "\u2028\u2029\u0085" or (unicodedata.category(char) == "Cc" and char != "\t"):
            raise InvalidRequest(
                f"The {what} contains a line break or control character (U+{ord(char):04X}). Remove it and try again.",
                details={"field": what},
            )


def masked(email: str) -> str:
    """``john@example.com`` -> ``j***@example.com``: enough for a person, nothing for a log reader."""
    local, at, domain = email.rpartition("@")
    return f"{local[:1]}***@{domain}" if at else "***"


def _checked(email: str, shown: str) -> str:
    local, at, domain = email.rpartition("@")
    labels = domain.split(".")
    if (
        not at
        or len(local) > MAX_LOCAL
        or len(email) > MAX_EMAIL
        or not _LOCAL.match(local)
        or len(labels) < 2
        or not all(len(label) <= 63 and _LABEL.match(label) for label in labels)
    ):
        raise _invalid(shown)
    return email


def _invalid(shown: str) -> InvalidRequest:
    return InvalidRequest(
        f"Invalid email address format: {shown[:100]}. Write one address like alice@example.com.",
        details={"field": "address"},
    )
