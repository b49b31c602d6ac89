"""Labels as keywords: IMAP's flags, JMAP's `keywords`. Keywords are ASCII atoms that ignore case; labels are any text,
so some are encoded.

A label of plain letters is its own keyword, readable in every other mail program. In others, characters that an atom
may not contain are written ``=20``, and non-ASCII text is put into punycode after ``xn--``: short (servers cut
keywords at 50 characters) and safe where case is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from postroom.model.errors import InvalidRequest

_UNSAFE = re.compile(r"[^A-Za-z0-9_.+/:,;!#&'`~|<>@?$^\-\u0080-\U0010ffff]")
_ESCAPED = re.compile(r"=([0-9A-Fa-f]{2})")
_PREFIX = "xn--"
_MAX_KEYWORD = 50

# Thunderbird's five tags are the only ``$`` keywords people set by hand; the rest are set by programs.
_TAG = re.compile(r"\$label[1-5]\Z", re.IGNORECASE)
_NOTES = frozenset({"junk", "nonjunk", "notjunk", "forwarded", "redirected", "oldlabel"})


def keyword_of(label: str) -> str:
    """The atom that stands for this label; InvalidRequest for one that no server could store."""
    spelled = _UNSAFE.sub(lambda char: f"={ord(char[0]):02X}", label)
    if spelled[:1] == "$" and not _TAG.match(spelled):
        spelled = f"=24{spelled[1:]}"
    if spelled.lower().startswith(_PREFIX) or spelled.lower() in _NOTES:
        spelled = f"={ord(spelled[0]):02X}{spelled[1:]}"
    if not spelled.isascii():
        spelled = _PREFIX + spelled.encode("punycode").decode("ascii")
    if not label or len(spelled) > _MAX_KEYWORD:
        raise InvalidRequest(
            "This mail server stores labels as keywords, and this one is too long. Choose a shorter label.",
            details={"field": "label"},
        )
    return spelled


def label_of(keyword: str) -> str | None:
    """The label of a keyword; None for a keyword that programs set for themselves."""
    if keyword.startswith("\\") or keyword.lower() in _NOTES:
        return None
    if keyword.startswith("$") and not _TAG.match(keyword):
        return None
    if keyword.lower().startswith(_PREFIX):
        try:
            keyword = keyword[len(_PREFIX) :].encode("ascii").decode("punycode")
        except (UnicodeError, ValueError):
            return keyword
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), keyword)


def labels_of(keywords: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({label for keyword in keywords if (label := label_of(keyword))}, key=str.casefold))
