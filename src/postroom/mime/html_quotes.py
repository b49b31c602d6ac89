"""Quoted history in HTML, found by the marks that mail programs leave in their markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from postroom.mime.attribution import is_attribution, is_forward

if TYPE_CHECKING:
    from turbohtml import Document, Node

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


def fold_quotes(document: Document) -> int:
    """Take the history out of the document; answers how many characters it had.

    May leave nothing at all: the caller opens the mail again then, for a mail of history alone is shown whole.
    """
    folded = 0
    for mark in document.select(_FROM_HERE)[:1]:
        for node in [mark, *mark.following]:
            folded += _dropped(node)
    for quote in document.select(_QUOTES):
        if quote.parent is None or _is_forwarded(quote):
            continue
        _drop_attribution(quote)
        folded += _dropped(quote)
    return folded


def _dropped(node: Node) -> int:
    length = len(node.text.strip())
    node.decompose()
    return length


def _is_forwarded(quote: Node) -> bool:
    """A forwarded mail is what was sent, even where the program wraps it like a quote."""
    head = [quote, *_before(quote, 3)]
    return any(is_forward(line) for node in head for line in node.text.strip()[:300].split("\n")[:1])


def _before(node: Node, count: int) -> list[Node]:
    found: list[Node] = []
    sibling = node.previous_sibling
    while sibling is not None and len(found) < count:
        if sibling.text.strip():
            found.append(sibling)
        sibling = sibling.previous_sibling
    return found


def _drop_attribution(quote: Node) -> None:
    for sibling in _before(quote, 1):
        if is_attribution(sibling.text.strip()[:600]):
            sibling.decompose()
