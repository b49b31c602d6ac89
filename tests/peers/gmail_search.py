"""SEARCH as Gmail understands it, in keys that any other server understands.

Gmail's index knows whole words only, so every key with text (FROM, SUBJECT, BODY, ...) is answered by it, as is
X-GM-RAW; what is left of such a key is the set of UIDs it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from tests.peers.gmail_labels import read_name
from tests.peers.gmail_query import Test, holding, parse_query
from tests.peers.imap_wire import Atom, Malformed, Value

Find = Callable[[Test], Awaitable[list[Value]]]

_BARE = re.compile(r"(?:ALL|NEW|OLD|RECENT|(?:UN)?(?:ANSWERED|DELETED|DRAFT|FLAGGED|SEEN))\Z")
_DATED = re.compile(r"(?:SENT)?(?:BEFORE|ON|SINCE)\Z")
_TEXTS = {
    "FROM": ("from",),
    "TO": ("to",),
    "CC": ("cc",),
    "BCC": ("bcc",),
    "SUBJECT": ("subject",),
    "BODY": ("body",),
    "TEXT": ("from", "to", "cc", "bcc", "subject", "body"),
}
_DATE = re.compile(rb"\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-\d{4}\Z")
_SET = re.compile(rb"(?:\d+|\*)(?::(?:\d+|\*))?(?:,(?:\d+|\*)(?::(?:\d+|\*))?)*\Z")
_UNPARSED = "Could not parse command"


class Translation:
    """One SEARCH. `find` turns a test into keys that name the mails it holds for; `heard` gets every raw query."""

    def __init__(self, keys: list[Value], find: Find, heard: list[str], *, utf8: bool) -> None:
        self._keys = list(keys)
        self._find = find
        self._heard = heard
        self._utf8 = utf8

    async def result(self) -> list[Value]:
        if not self._keys:
            raise Malformed(_UNPARSED)
        found: list[Value] = []
        while self._keys:
            found += await self._key()
        return found

    async def _key(self) -> list[Value]:
        key = self._take()
        if isinstance(key, list):
            return [await Translation(key, self._find, self._heard, utf8=self._utf8).result()]
        name = key.decode("ascii", "replace").upper() if isinstance(key, Atom) else ""
        if _BARE.match(name) or (isinstance(key, Atom) and _SET.match(key)):
            return [key]
        if name == "NOT":
            return [key, await self._key()]
        if name == "OR":
            return [key, await self._key(), await self._key()]
        return await self._with_argument(name, Atom(name.encode()))

    async def _with_argument(self, name: str, key: Atom) -> list[Value]:
        if name in _TEXTS:
            return [await self._find(holding(self._text(), *_TEXTS[name]))]
        if _DATED.match(name):
            return [key, self._word(_DATE)]
        match name:
            case "X-GM-RAW":
                query = self._text()
                self._heard.append(query)
                return [await self._find(parse_query(query))]
            case "X-GM-MSGID":
                number = int(self._word())
                return [await self._find(lambda mail: mail.msgid == number)]
            case "X-GM-THRID":
                number = int(self._word())
                return [await self._find(lambda mail: mail.thrid == number)]
            case "X-GM-LABELS":
                label = read_name(self._take(), utf8=self._utf8)
                return [await self._find(lambda mail: label in mail.labels)]
            case "HEADER":
                return [key, self._take(), self._take()]
            case "KEYWORD" | "UNKEYWORD":
                return [key, self._word(re.compile(rb"[^\\]+\Z"))]
            case "LARGER" | "SMALLER":
                return [key, self._word()]
            case "UID":
                return [key, self._word(_SET)]
        raise Malformed(_UNPARSED)

    def _take(self) -> Value:
        if not self._keys:
            raise Malformed(_UNPARSED)
        return self._keys.pop(0)

    def _text(self) -> str:
        value = self._take()
        if isinstance(value, list):
            raise Malformed(_UNPARSED)
        try:
            return value.decode()
        except UnicodeError:
            raise Malformed(_UNPARSED) from None

    def _word(self, form: re.Pattern[bytes] = re.compile(rb"\d+\Z")) -> Atom:
        value = self._take()
        if isinstance(value, list) or not form.match(value):
            raise Malformed(_UNPARSED)
        return Atom(value)


def has_eight_bit(values: list[Value]) -> bool:
    return any(has_eight_bit(value) if isinstance(value, list) else not value.isascii() for value in values)
