"""Parses server responses: FETCH data, UID sets, the codes that report new UIDs.

The parser takes imaplib's raw responses. It is an order of magnitude faster than IMAPClient's, and it never turns a
string of digits into a number implicitly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from postroom.model.errors import ProviderError

Raw = bytes | tuple[bytes, bytes]
Item = dict[str, Any]  # the data of one message: upper-case names to bytes, None or nested lists

_TOKEN = re.compile(
    rb"[()]"
    rb'|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
    rb"|(?:BODY|BINARY)(?:\.PEEK)?\[[^\]]{0,1000}+\](?:<[\d.]+>)?"
    rb'|[^\s()"]+',
    re.IGNORECASE,
)
# What most responses look like: a message's bytes alone, or only numbers, strings and flat lists.
_WHOLE = re.compile(rb"\d+ \(UID (\d+) BODY\[\](?:<0>)? \{\d+\}")
_PAIR = rb'[A-Z0-9.]{1,60} (?:\d+|"[^"\\]+"|\([^()"\[]*\))'
_FLAT = re.compile(rb"\d+ \((?:%s )*+%s\)" % (_PAIR, _PAIR))
_PAIRS = re.compile(rb'(?<![A-Z0-9.])([A-Z0-9.]++) (?:(\d+)|"([^"]+)"|\(([^()]*)\))')
_LITERAL_MARK = re.compile(rb"~?\{\d+\+?\}\Z")
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_UID_PAIR = re.compile(rb"(?<!\d)(\d{1,19}) ([\d:,]++) ([\d:,]++)")
_APPENDED = re.compile(rb"\[APPENDUID (\d{1,19}) (\d{1,19})\]", re.IGNORECASE)
_INTERNAL_DATE = re.compile(rb" ?(\d{1,2})-([A-Za-z]{3})-(\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
_MONTHS = (b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec")

_NOT_PLAIN = frozenset(b'"Nn')  # how strings and NIL begin
_MAX_NESTING = 200
_MAX_NUMBER = 2**63 - 1  # RFC 9051 and 7162 have none above it, and neither has SQLite
_MAX_DIGITS = len(str(_MAX_NUMBER))
_MAX_UID = 2**32 - 1
_SHORT = 60  # characters of a name that is worth caching


def read_fetches(answers: Sequence[Raw | None]) -> dict[int, Item]:
    """By UID. Announcements without a UID (flags another client changed) are skipped."""
    items: dict[int, Item] = {}
    for group in responses(answers):
        item = _read_flat(group[0]) if len(group) == 1 else _read_whole(group)
        if item is None:
            tokens = read_tokens(group)
            content = tokens[1] if len(tokens) > 1 and isinstance(tokens[1], list) else []
            item = {_name(content[i]): content[i + 1] for i in range(0, len(content) - 1, 2)}
        if uid := _uid(item.pop("UID", None)):
            items.setdefault(uid, {}).update(item)
    return items


def is_hollow(item: Item) -> bool:
    """As Dovecot answers for a message that another connection has removed, before it reports that to this one: NIL or
    0 for whatever its cache does not have."""
    if any(name in item and item[name] is None for name in ("HEADERS", "BODY[]", "BODY[HEADER]")):
        return True
    return item.get("RFC822.SIZE") == b"0" and bool((item.get("HEADERS") or b"").strip())


def _read_whole(group: Sequence[Raw]) -> Item | None:
    """What `read_tokens` reads, in a fraction of the time. None where it is not of that form."""
    first, end = group[0], group[-1]
    if len(group) != 2 or not isinstance(first, tuple) or end != b")":
        return None
    found = _WHOLE.fullmatch(first[0])
    return {"UID": found[1], "BODY[]": first[1]} if found else None


def _read_flat(line: Raw) -> Item | None:
    """The same."""
    if not isinstance(line, bytes) or not _FLAT.fullmatch(line):
        return None
    return {
        _usual_name(name): digits or text or list(map(_value, words.split()))
        for name, digits, text, words in _PAIRS.findall(line, line.index(b"("))
    }


def responses(answers: Sequence[Raw | None]) -> Iterator[list[Raw]]:
    """imaplib returns a response with literals as tuples followed by its closing line."""
    group: list[Raw] = []
    for answer in answers:
        if answer is None:
            continue
        group.append(answer)
        if isinstance(answer, bytes):
            yield group
            group = []


def count(answers: Sequence[Raw | None]) -> int:
    """How many responses these are."""
    return [type(answer) for answer in answers].count(bytes)


def read_tokens(pieces: Iterable[Raw]) -> list[Any]:
    """Atoms and strings as bytes, NIL as None, parentheses as lists. Lists nested too deeply are left out."""
    here: list[Any] = []
    outer = [here]
    for piece in pieces:
        text, literal = piece if isinstance(piece, tuple) else (piece, None)
        if literal is not None:
            text = _LITERAL_MARK.sub(b"", text)
        for token in _TOKEN.findall(text):
            if token == b"(":
                inner: list[Any] = []
                if len(outer) < _MAX_NESTING:
                    here.append(inner)
                outer.append(inner)
                here = inner
            elif token != b")":
                here.append(_value(token) if token[0] in _NOT_PLAIN else token)
            elif len(outer) > 1:
                outer.pop()
                here = outer[-1]
        if literal is not None:
            here.append(literal)
    return outer[0]


def read_status(values: Sequence[Any]) -> dict[str, str]:
    """``MESSAGES 3 UIDNEXT 5``, as the server wrote it."""
    pairs = ((values[i], values[i + 1]) for i in range(0, len(values) - 1, 2))
    return {
        name.decode("ascii", "replace").upper(): value.decode("ascii", "replace")
        for name, value in pairs
        if isinstance(name, bytes) and isinstance(value, bytes)
    }


def number(value: Any) -> int:
    """0 where it is not a number, or larger than any that mail servers use: Python refuses some of those."""
    if not isinstance(value, bytes) or len(value) > _MAX_DIGITS or not value.isdigit():
        return 0
    read = int(value)
    return read if read <= _MAX_NUMBER else 0


def _uid(value: Any) -> int:
    """0 where it is none."""
    read = number(value)
    return read if read <= _MAX_UID else 0


def _value(token: bytes) -> bytes | None:
    if token[:1] == b'"':
        inner = token[1:].removesuffix(b'"')
        return _ESCAPE.sub(rb"\1", inner) if b"\\" in inner else inner
    return None if token in (b"NIL", b"nil", b"Nil") else token


def _name(token: Any) -> str:
    return _usual_name(token) if isinstance(token, bytes) and len(token) <= _SHORT else _read_name(token)


def _read_name(token: Any) -> str:
    """``BODY[HEADER.FIELDS (DATE FROM)]`` is called HEADERS, whatever order the server repeats the fields in."""
    name = token.decode("ascii", "replace").upper() if isinstance(token, bytes) else ""
    return "HEADERS" if name.startswith("BODY[HEADER.FIELDS") else name.partition("<")[0]


_usual_name = lru_cache(maxsize=256)(_read_name)  # every message has the same few


def is_deleted(item: Item) -> bool:
    return any(isinstance(flag, bytes) and flag.lower() == b"\\deleted" for flag in item.get("FLAGS") or ())


def as_set(uids: Iterable[int]) -> bytes:
    """``1:3,7``: the shortest notation."""
    runs: list[list[int]] = []
    for uid in sorted(set(uids)):
        if runs and uid == runs[-1][1] + 1:
            runs[-1][1] = uid
        else:
            runs.append([uid, uid])
    return b",".join(b"%d" % low if low == high else b"%d:%d" % (low, high) for low, high in runs)


def read_set(text: bytes, limit: int = 5_000_000) -> list[int]:
    """In the order written; ``5:3`` counts like ``3:5``. What is no UID is left out, and so is what exceeds the limit:
    no folder is that large, but a few bytes can say that one is."""
    uids: list[int] = []
    for part in filter(None, text.split(b",")):
        low, _, high = part.partition(b":")
        first, last = sorted((_uid(low), _uid(high or low)))
        if first:
            uids.extend(range(first, min(last, first + limit - len(uids) - 1) + 1))
    return uids


def read_found(line: Raw) -> list[int]:
    """The set behind ALL in ``(TAG "x") UID ALL 1:5``; no ALL means no message."""
    words = _text(line).split()
    return read_set(words[words.index(b"ALL") + 1]) if b"ALL" in words[:-1] else []


def read_numbers(lines: Iterable[Raw]) -> list[int]:
    """UIDs; what is none is left out."""
    return [uid for line in lines for word in _text(line).split() if (uid := _uid(word))]


def _text(line: Raw) -> bytes:
    return line if isinstance(line, bytes) else line[0]


def read_copied(codes: Iterable[bytes]) -> tuple[int, dict[int, int]]:
    """COPYUID: the target's UIDVALIDITY and old UID -> new UID."""
    validity, pairs = 0, dict[int, int]()
    for code in codes:
        if found := _UID_PAIR.search(code):
            validity = int(found[1])
            pairs.update(zip(read_set(found[2]), read_set(found[3]), strict=False))
    return validity, pairs


def read_appended(answer: bytes) -> tuple[int, int] | None:
    """APPENDUID: UIDVALIDITY and UID of the new message."""
    found = _APPENDED.search(answer)
    return (int(found[1]), int(found[2])) if found else None


def read_internal_date(value: Any) -> datetime | None:
    found = _INTERNAL_DATE.match(value) if isinstance(value, bytes) else None
    if found is None:
        return None
    day, month, year, hour, minute, second, *zone = found.groups()
    try:
        number = _MONTHS.index(month.lower()) + 1
        clock = int(hour), int(minute), int(second)
        moment = datetime(int(year), number, int(day), *clock, tzinfo=_zone(*zone))
    except ValueError:
        return None
    return moment


@lru_cache(maxsize=256)
def _zone(sign: bytes, hours: bytes, minutes: bytes) -> timezone:
    return timezone(timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == b"-" else 1))


def changed_folders(news: Iterable[Sequence[Any]]) -> set[bytes]:
    """What responses during IDLE tell of: another folder by its name (STATUS), the open one, empty here, without.
    ProviderError where the server stops telling (RFC 5465, 5.8): only a new connection helps."""
    items = [item for item in news if item]
    if any(item[0] == b"OK" and b"[NOTIFICATIONOVERFLOW]" in item[1] for item in items):
        raise ProviderError("The server no longer reports changes.")
    told = [item for item in items if item[0] not in (b"OK", b"NO", b"BYE")]
    return {_folder_name(item[1]) if item[0] == b"STATUS" and len(item) > 1 else b"" for item in told}


def _folder_name(token: Any) -> bytes:
    """IMAPClient reads a folder called 2026 as a number."""
    return token if isinstance(token, bytes) else str(token).encode()
