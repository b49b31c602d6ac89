"""Quoted history in HTML, found by the marks that mail programs leave in their markup."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from postroom.mime.attribution import is_attribution, is_forward

if TYPE_CHECKING:
    from turbohtml import Document, Element, Node

# Elements that hold a quote and nothing else.
_QUOTES: Final = (
    'blockquote[type="cite" i],blockquote.gmail_quote,blockquote.protonmail_quote,blockquote.tutanota_quote,'
    "blockquote#isReplyContent,.gmail_quote > blockquote,div.yahoo_quoted,div.protonmail_quote,div.zmail_extra,"
    "#isReplyContent,div.moz-cite-prefix,div.gmail_attr,.ms-outlook-mobile-reference-message,"
    "#mail-editor-reference-message-container,#OLK_SRC_BODY_SECTION,div.OutlookMessageHeader + blockquote,"
    "div.mailmate-quote,blockquote.mailmate-quote,div.apple-mail-quote,blockquote.crm-quote"
)
# Elements after which all is history. Outlook draws a line above its header block.
_FROM_HERE: Final = (
    "#divRplyFwdMsg,#appendonsend,#x_divRplyFwdMsg,hr#stopSpelling,div.OutlookMessageHeader,"
    'div[style*="border-top:solid #e1e1e1" i],div[style*="border-top: solid #e1e1e1" i],'
    'div[style*="border-top:solid #b5c4df" i],div[style*="border-top: solid #b5c4df" i],'
    'div[style*="border-top:1pt solid #e1e1e1" i],div[style*="border-top: 1pt solid rgb(225, 225, 225)" i],'
    'div[style*="border-top:1pt solid rgb(225,225,225)" i],div[style*="border-top:1.0pt solid #e1e1e1" i]'
)


_MAX_BACK: Final = 8  # siblings looked at above a quote
_MAX_LINE: Final = 1_000  # characters: no attribution is longer
_LINE: Final = frozenset({"br", "div", "p", "blockquote", "table", "hr", "ul", "ol"})


def fold_quotes(document: Document) -> int:
    """Take the history out of the document; answers how many characters it had.

    May leave nothing at all: the caller opens the mail again then, for a mail of history alone is shown whole.
    """
    folded = 0
    mark = document.select_one(_FROM_HERE)
    if mark is not None:
        for node in [mark, *mark.ancestors]:
            folded += sum(_dropped(later) for later in list(node.next_siblings))
        folded += _dropped(mark)
    texts: dict[Node, str] = {}  # one long line may stand above thousands of quotes
    for quote in _outermost(document):
        above = _line_above(quote, texts)
        line = " ".join("".join(texts[node] for node in above).split())
        if _is_forwarded(quote, line):
            continue
        if is_attribution(line):
            folded += sum(map(_dropped, above))
        folded += _dropped(quote)
    return folded


def _outermost(document: Document) -> list[Element]:
    """Quotes that are in no other quote. Parents come before their children."""
    quotes = set(document.select(_QUOTES))
    if not quotes:
        return []
    found: list[Element] = []
    within: set[Node | None] = set()
    for element in document.iter_elements():
        if element.parent in within:
            within.add(element)
        elif element in quotes:
            within.add(element)
            found.append(element)
    return found


def _dropped(node: Node) -> int:
    length = len(node.text.strip())
    node.decompose()
    return length


def _is_forwarded(quote: Element, above: str) -> bool:
    """A forwarded mail is what was sent, even where the program wraps it like a quote."""
    start = "".join(islice(quote.stripped_strings, 1))
    return is_forward(start[:200]) or is_forward(above[:200])


def _line_above(quote: Element, texts: dict[Node, str]) -> list[Node]:
    """The nodes of the last line of words before a quote, in order: an attribution stands there if anywhere."""
    from turbohtml import Element as ElementType

    line: list[Node] = []
    sibling = quote.previous_sibling
    for _ in range(_MAX_BACK):
        if sibling is None:
            break
        ends_line = isinstance(sibling, ElementType) and sibling.tag in _LINE
        if ends_line and line:
            break
        if sibling not in texts:
            texts[sibling] = sibling.text[:_MAX_LINE]
        if texts[sibling].strip():
            line.insert(0, sibling)
            if ends_line:
                break
        sibling = sibling.previous_sibling
    return line
