"""A body as it is read: compact Markdown, plain text or safe HTML; its first words; its words for the index."""

from __future__ import annotations

import html as html_module
import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from postroom.mime.clean import clean_line, clean_text, hidden_runs
from postroom.mime.html_document import OpenedHtml, open_html
from postroom.mime.html_quotes import fold_quotes
from postroom.mime.html_to_markdown import compact, is_pixel, to_markdown, to_plain_text
from postroom.mime.limits import MAX_RENDERED, MAX_TEXT
from postroom.mime.links import shorten_in_text
from postroom.mime.quotes import fold_text
from postroom.model.message import Body

if TYPE_CHECKING:
    from turbohtml import Document

Format = Literal["markdown", "text", "html"]

_CUT = ("The HTML is too large or too deeply nested; the rest of it was left out.",)
_TEXT_CUT = ("The text is too long; the rest of it was left out.",)
_CUT_NOTE = "\n\n[The rest of this email is too long to show.]"
_BROWSER = re.compile(r"\b(?:view|read|open|trouble|can't see|online|browser ansehen|im browser)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rendered:
    text: str
    quoted_folded: int = 0  # characters of quoted history left out
    hidden_removed: int = 0  # pieces of text a reader could not have seen
    defects: tuple[str, ...] = ()  # what was left out, and why


def render(body: Body, *, fmt: Format, keep_quoted: bool) -> Rendered:
    """Markdown and HTML come from the richer reading, text from the plain one; from the other where one is absent."""
    if fmt == "html":
        return _safe_html(body, keep_quoted=keep_quoted)
    plain_first = fmt == "text" and body.text.strip()
    if body.html and not plain_first:
        rendered = _from_html(body.html, fmt, keep_quoted=keep_quoted)
        if rendered.text or not body.text.strip():
            return rendered
    return _from_text(body.text, fmt, keep_quoted=keep_quoted)


def snippet(body: Body, length: int = 140) -> str:
    """The first words a reader sees, on one line: no preheader, no quotes, no bare links."""
    visible = fold_text(_words(body)).text
    line = ""
    for candidate in visible.split("\n"):
        if not _is_worthless(candidate.strip()[:300]):
            line = f"{line} {candidate[:1_000]}" if line else candidate[:1_000]
        if len(line) > 2 * length:
            break
    line = clean_line(line) or clean_line(visible[:1_000])
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _is_worthless(line: str) -> bool:
    """A bare link, an ornament, or the plea to open the mail somewhere else."""
    if not any(map(str.isalnum, line)):
        return True
    if " " not in line and line.strip("<>()[]").lower().startswith(("http://", "https://", "www.", "cid:")):
        return True
    return len(line) < 120 and "browser" in line.lower() and bool(_BROWSER.search(line))


def search_text(body: Body) -> str:
    """The visible words, quoted ones too: people search for what they remember having read."""
    return _words(body)


def _words(body: Body) -> str:
    # A text reading that is a fair part of the HTML says the same; parsing HTML is the dearest step there is.
    if body.text and len(body.text) * 20 >= len(body.html):
        return clean_text(body.text[:MAX_TEXT])
    return _words_of_html(body.html) or clean_text(body.text[:MAX_TEXT])


@lru_cache(maxsize=2)  # the index asks for the words and the snippet of the same mail
def _words_of_html(html: str) -> str:
    return to_plain_text(open_html(html).document) if html else ""


def _from_text(text: str, fmt: Format, *, keep_quoted: bool) -> Rendered:
    source = text[:MAX_TEXT]
    cleaned = clean_text(source)
    folded, count = cleaned, 0
    if not keep_quoted:
        result = fold_text(cleaned)
        folded, count = result.text, result.folded
    shown = compact(shorten_in_text(folded)) if fmt == "markdown" else folded.strip()
    return Rendered(shown, count, hidden_runs(source), _TEXT_CUT if len(text) > MAX_TEXT else ())


def _from_html(html: str, fmt: Format, *, keep_quoted: bool) -> Rendered:
    opened, folded = _opened(html, keep_quoted=keep_quoted)
    shown = to_markdown(opened.document) if fmt == "markdown" else to_plain_text(opened.document)
    if not keep_quoted:
        result = fold_text(shown, fold_marked=False)
        shown, folded = result.text, folded + result.folded
    was_cut = opened.was_cut or len(shown) >= MAX_RENDERED
    if was_cut:
        shown += _CUT_NOTE
    return Rendered(shown, folded, opened.hidden_removed, _CUT if was_cut else ())


def _opened(html: str, *, keep_quoted: bool) -> tuple[OpenedHtml, int]:
    """The document without its history, unless it is nothing else."""
    opened = open_html(html)
    if keep_quoted:
        return opened, 0
    folded = fold_quotes(opened.document)
    if folded and not _has_words(opened.document):
        return open_html(html), 0
    return opened, folded


def _has_words(document: Document) -> bool:
    return bool(clean_text(document.text).strip()) or document.select_one("img[alt]") is not None


def _safe_html(body: Body, *, keep_quoted: bool) -> Rendered:
    if not body.html:
        plain = _from_text(body.text, "text", keep_quoted=keep_quoted)
        paragraphs = html_module.escape(plain.text).replace("\n", "<br>\n")
        return replace(plain, text=f"<p>{paragraphs}</p>" if plain.text else "")
    opened, folded = _opened(body.html, keep_quoted=keep_quoted)
    for image in opened.document.select("img"):
        if is_pixel(image):
            image.decompose()
    node = opened.document.select_one("body") or opened.document
    shown = clean_text(str(_sanitizer().sanitize(node))).strip()
    was_cut = opened.was_cut or len(shown) > 2 * MAX_RENDERED
    shown = shown[: 2 * MAX_RENDERED] + (f"<p>{_CUT_NOTE.strip()}</p>" if was_cut else "")
    return Rendered(shown, folded, opened.hidden_removed, _CUT if was_cut else ())


@cache
def _sanitizer() -> Any:
    """Layout, links and pictures stay; scripts, forms, styles and every other scheme go."""
    from turbohtml.clean import OnDisallowed, Policy, Sanitizer

    schemes = frozenset({"http", "https", "mailto", "tel", "cid"})
    policy = replace(Policy.relaxed(), on_disallowed_tag=OnDisallowed.STRIP, url_schemes=schemes)
    return Sanitizer(policy)
