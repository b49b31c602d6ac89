"""Quoted history in HTML, found by the markup that mail programs produce.

The quotes are marked in the document and found again in the text that is made of it, so that one set of rules handles
the lines of both.
"""

from __future__ import annotations

import re
import secrets
from itertools import islice
from typing import TYPE_CHECKING, Final

from postroom.mime.quotes.attribution import field_of, is_attribution
from postroom.mime.quotes.regions import Lines, Region, has_signs, plain_lines

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

# Elements that contain a quote and nothing else.
_QUOTES: Final = (
    'blockquote[type="cite" i],blockquote.gmail_quote,blockquote.protonmail_quote,blockquote.tutanota_quote,'
    "blockquote#isReplyContent,.gmail_quote > blockquote,div.yahoo_quoted,div.protonmail_quote,div.zmail_extra,"
    "#isReplyContent,.ms-outlook-mobile-reference-message,#mail-editor-reference-message-container,"
    "#OLK_SRC_BODY_SECTION,div.OutlookMessageHeader + blockquote,div.mailmate-quote,blockquote.mailmate-quote,"
    "div.apple-mail-quote,blockquote.crm-quote"
)
# Elements below which Outlook puts what it replies to or forwards.
_BLOCKS: Final = "#divRplyFwdMsg,#appendonsend,#x_divRplyFwdMsg,hr#stopSpelling,div.OutlookMessageHeader"
# The line that Outlook draws above its header block; others draw such lines too.
_RULES: Final = (
    'div[style*="border-top:solid #e1e1e1" i],div[style*="border-top: solid #e1e1e1" i],'
    'div[style*="border-top:solid #b5c4df" i],div[style*="border-top: solid #b5c4df" i],'
    'div[style*="border-top:1pt solid #e1e1e1" i],div[style*="border-top: 1pt solid rgb(225, 225, 225)" i],'
    'div[style*="border-top:1pt solid rgb(225,225,225)" i],div[style*="border-top:1.0pt solid #e1e1e1" i]'
)
# Every document with a quote has one of these, and most others have none: looking for few takes a quarter of the time.
_SIGNS: Final = 'blockquote,[id],[class*="quote" i],[class*="outlook" i],.zmail_extra,div[style*="border-top:" i]'
_MAX_QUOTES: Final = 2_000  # of one document; the rest is shown

# Has one of several parts of a message in it: what is quoted in a part ends with it. No sender can guess the name.
PART: Final = f"part-{secrets.token_hex(16)}"
_IN_PART: Final = f"[{PART}]"
_TOKEN: Final = secrets.token_hex(16)  # a word that no sender can guess
_FLAG = re.compile(rf"{_TOKEN}([mbe])")
_QUOTE = re.compile(rf"{_TOKEN}[mb].*?(?:{_TOKEN}e|\Z)", re.DOTALL)
_STARTS: Final = {"m": Region.MARKED, "b": Region.BLOCK}


def may_quote(document: Document) -> bool:
    """Whether it is worth searching for quotes."""
    return document.select_one(_SIGNS) is not None


def quotes_in(document: Document) -> list[tuple[Element, str]]:
    """Each element that contains a quote (m), and the one below which all may be history (b), in document order."""
    quotes = set(document.select(_QUOTES))
    blocks = {*document.select(_BLOCKS), *filter(_has_header, document.select(_RULES))}
    found: list[tuple[Element, str]] = []
    within: set[Node | None] = set()
    for element in islice(document.iter_elements(), 1, None):  # parents first; nothing can be put beside the root
        if element.parent in within:
            within.add(element)
        elif element in blocks:
            found.append((element, "b"))
            part = element.closest(_IN_PART)
            if part is None:
                break
            within.update(part.iter_elements(include_self=True))
        elif element in quotes:
            within.add(element)
            found.append((element, "m"))
            if len(found) >= _MAX_QUOTES:
                break
    return found


def _has_header(rule: Element) -> bool:
    return field_of("".join(islice(rule.stripped_strings, 1))) == "from"


def flag_quotes(document: Document) -> None:
    """Put a line that nobody else can write before and after each quote."""
    for element, kind in quotes_in(document):
        element.insert_before(_flag(kind))
        if kind == "m":
            element.insert_after(_flag("e"))
        elif (part := element.closest(_IN_PART)) is not None:
            part.append(_flag("e"))


def _flag(kind: str) -> Element:
    from turbohtml import Element as NewElement

    flag = NewElement("p")
    flag.set_text(_TOKEN + kind)
    return flag


def without_flags(text: str) -> str:
    return "\n".join(read_flags(text).lines) if _TOKEN in text else text


def may_be_history(text: str, *, is_flagged: bool) -> bool:
    """Whether any of these lines may be quoted, or introduce a quote, among themselves. `is_flagged`: made of HTML."""
    return has_signs(text) or (is_flagged and _TOKEN in text)


def outside_quotes(document: Document) -> tuple[list[Element], str]:
    """(the pictures, and the text) outside flagged quotes; an attribution line does not count."""
    pictures, text = document.select("img"), document.text
    if _TOKEN not in text:
        return pictures, text
    pictures.clear()
    region = Region.NONE
    for element in document.select("img,p"):
        if element.tag == "img":
            pictures += [] if region else [element]
        elif flags := _FLAG.findall(element.text):
            region = _STARTS.get(flags[-1], Region.NONE)
    lines = _QUOTE.sub("\n", text).split("\n")
    return pictures, " ".join(
        line for line in lines if line.rstrip()[-1:] not in (":", "：") or not is_attribution(line)
    )


def read_flags(text: str) -> Lines:
    """The lines between the flags, each with the number of its quote. Other lines with ``>`` are a page's own
    quotations or plain text within HTML: only a comparison can tell."""
    if _TOKEN not in text and ">" not in text:
        return plain_lines(text)
    found = Lines([], [], [], [])
    region, number = Region.NONE, 0
    for line in text.split("\n"):
        flags = _FLAG.findall(line) if _TOKEN in line else ()
        for flag in flags:
            number += flag in _STARTS
            region = _STARTS.get(flag, Region.NONE)
        line = _FLAG.sub("", line) if flags else line
        if flags and not line.strip(" >"):
            continue
        is_loose = not region and line.lstrip(" ")[:1] == ">"
        found.lines.append(line)
        found.regions.append(Region.LOOSE if is_loose else region)
        found.heads.append(False)
        found.numbers.append(number if region else 0)
    return found


def drop_quotes(document: Document, numbers: frozenset[int]) -> None:
    """Remove these quotes from the document, numbered as they were flagged."""
    for number, (element, kind) in enumerate(quotes_in(document), 1):
        if number not in numbers:
            continue
        if kind == "b":
            around, part = [element, *element.ancestors], element.closest(_IN_PART)
            for node in around if part is None else around[: around.index(part)]:
                for later in list(node.next_siblings):
                    later.decompose()
        element.decompose()
