"""A body for reading: compact Markdown, plain text or safe HTML; its first words; its words for the index."""

from __future__ import annotations

import html as html_module
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from postroom.mime.clean import clean_line, clean_text, hidden_runs
from postroom.mime.html import reversals
from postroom.mime.html.document import OpenedHtml, open_html
from postroom.mime.html.doubts import DOUBT_CLOSES, DOUBT_OPENS, with_even_marks
from postroom.mime.html.hidden_words import HiddenText, is_negligible, reads_like_an_order, warnings
from postroom.mime.html.links import LINK_IN_TEXT, shorten_in_text
from postroom.mime.html.markdown import (
    compact,
    has_more_links,
    is_pixel,
    to_links,
    to_markdown,
    to_plain_text,
    to_text_with_links,
)
from postroom.mime.html.stubs import without_stub
from postroom.mime.html.together import open_together
from postroom.mime.limits import MAX_LINKS, MAX_RENDERED, MAX_TEXT
from postroom.mime.quotes.folding import (
    UNKNOWN,
    Folded,
    ThreadContext,
    ThreadHeaders,
    context_of,
    fold_lines,
    fold_text,
    new_words,
)
from postroom.mime.quotes.html import drop_quotes, flag_quotes, may_be_history, may_quote, read_flags, without_flags
from postroom.mime.quotes.regions import MAX_JOINED, plain_lines
from postroom.model.message import Body

if TYPE_CHECKING:
    from turbohtml import Document

    from postroom.mime.read.parse import Parsed

Format = Literal["markdown", "text", "words", "html", "links"]
Documents = tuple[str, ...]  # the HTML parts of a message
Words = tuple[str, bool]  # a message's words, and whether they come from HTML, in which case its quotes are flagged

_CUT = ("The HTML is too large or too deeply nested; the rest was omitted.",)
_LINKS_CUT = (f"The message has more than {MAX_LINKS} links; the others are shown without their addresses.",)
_TEXT_CUT = ("The text is too long; the rest was omitted.",)
_ONLY_PLAIN = (
    "The plain-text part of this message contains text that the shown part lacks. Use body_format=text to see it."
)
_PLAIN_SHOWN = "This is the plain-text part; a mail client shows the HTML part, which lacks some of this text."
_NOT_JUDGED = "Its style sheet is too large to be read in full: some of this text may be invisible to a reader."
_DOUBTFUL = f"Text in {DOUBT_OPENS}…{DOUBT_CLOSES} may be invisible to a reader."
_CUT_NOTE = "\n\n[The rest of this email is too long to show.]"
_COMPARED = 300_000  # characters of the plain version
_LENGTH = 140  # characters of a snippet
_SNIPPET_WITHIN = 20_000  # characters in which its words are looked for
_FEW_LINES = 40  # in which most messages say enough for a snippet
_MANY_MISSING = 12  # words: a footer, a greeting, a link's address written out
_WORD = re.compile(r"\w+")
_WITHOUT_LINKS = re.compile(r"https?://\S++|(?<!\S)[^\s@]++@\S++|\[[^\[\]]*+\]")
_BROWSER = re.compile(r"\b(?:view|read|open|trouble|can't see|online|browser ansehen|im browser)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rendered:
    text: str
    quoted_folded: int = 0  # characters of quoted history omitted
    hidden_removed: int = 0  # pieces of text a reader could not have seen
    defects: tuple[str, ...] = ()  # what was omitted, and why
    may_quote: bool = field(default=False, compare=False)  # whether earlier messages could prove more of it history
    whole: str = field(default="", compare=False)  # with quoted history; empty in HTML
    warnings: tuple[str, ...] = ()  # what a reader should know about text that is not shown, or maybe should not be


def render(body: Body, *, fmt: Format, keep_quoted: bool, context: ThreadContext = UNKNOWN) -> Rendered:
    """Markdown and HTML come from the HTML version, text from the plain one; from the other if one is absent.

    Text made from HTML includes the addresses of its links; `words` does not.
    """
    wanted = None if keep_quoted else context
    if fmt == "html":
        return _safe_html(body, wanted)
    if fmt == "links":
        return _links(body)
    if not body.html:
        return _from_text(body.text, fmt, wanted)
    if fmt in ("text", "words") and body.text.strip():
        rendered = _from_text(body.text, fmt, wanted)
        return _with(rendered, (_PLAIN_SHOWN,)) if says_more(body) else rendered
    rendered = _from_html(body.documents, fmt, wanted)
    if not rendered.text and body.text.strip():
        return _from_text(body.text, fmt, wanted)
    return _with(rendered, (_ONLY_PLAIN,)) if says_more(body, but_a_stub=True) else rendered


def _with(rendered: Rendered, more: tuple[str, ...]) -> Rendered:
    return replace(rendered, warnings=rendered.warnings + more)


def says_more(body: Body, *, but_a_stub: bool = False) -> bool:
    """Whether the plain version contains much that the shown one lacks: the two are meant to say the same.
    `but_a_stub`: more than that the message is HTML."""
    source = _WITHOUT_LINKS.sub(" ", clean_text(body.text[:_COMPARED])).lower()
    words = _long_words(source)
    if len(words) < _MANY_MISSING:
        return False
    text = without_flags(_words_of_html(body.documents)).lower()
    if _missing(words, text.split()) < _MANY_MISSING:  # most words stand between blanks: that takes half the time
        return False
    shown = set(_WORD.findall(text))
    missing = _missing(words, shown)
    if not shown or missing < _MANY_MISSING:
        return False
    if reads_like_an_order(body.text):
        return True
    if 4 * missing < len(words):
        return False
    return not but_a_stub or _missing(_long_words(without_stub(source)), shown) >= _MANY_MISSING


def _long_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if len(word) > 2]


def _missing(words: list[str], shown: Iterable[str]) -> int:
    """How many words are not among the shown ones, which are many more."""
    missing = set(words).difference(shown)
    return sum([word in missing for word in words])


def snippet(body: Body, length: int = _LENGTH, context: ThreadContext = UNKNOWN) -> str:
    """The first words a reader sees, on one line: no preheader, no quotes, no bare links."""
    return first_words(_words(body), length, context)


def first_words_of(words: Words, mail: ThreadHeaders) -> str:
    """As `first_words`, of a message whose place in its thread is rarely needed for them."""
    text, is_html = words
    return _beginning(text, is_html, _LENGTH) or _first_words(text, is_html, _LENGTH, context_of(mail))


def first_words(words: Words, length: int = _LENGTH, context: ThreadContext = UNKNOWN) -> str:
    """As `snippet`."""
    text, is_html = words
    return _beginning(text, is_html, length) or _first_words(text, is_html, length, context)


def _beginning(text: str, is_html: bool, length: int) -> str:
    """The first words, if no rule about quotes can concern them; empty if it takes more to know them. What introduces a
    quote below has a sign of it in its last line: the lines above which that may be are without signs too."""
    lines = text.lstrip().split("\n", _FEW_LINES)
    line, used = _joined(lines[:_FEW_LINES], length)
    if len(line) <= 2 * length:
        head = text if len(lines) <= _FEW_LINES else ""
    else:
        head = "\n".join(lines[: used + MAX_JOINED - 1]) if used + MAX_JOINED <= _FEW_LINES else ""
    if not 0 < len(head) <= _SNIPPET_WITHIN or may_be_history(head, is_flagged=is_html):
        return ""
    return _shortened(clean_line(line), length)


def _first_words(text: str, is_html: bool, length: int, context: ThreadContext) -> str:
    visible = new_words(read_flags(text) if is_html else plain_lines(text), context)
    line, _ = _joined(visible.lstrip()[:_SNIPPET_WITHIN].split("\n"), length)
    return _shortened(clean_line(line) or clean_line(visible[:1_000]), length)


def _joined(lines: list[str], length: int) -> tuple[str, int]:
    """The lines that are worth reading, until that is more than enough; and how many lines were looked at."""
    line = ""
    for number, candidate in enumerate(lines, 1):
        if not _is_worthless(candidate.strip()[:300]):
            line = f"{line} {candidate[:1_000]}" if line else candidate[:1_000]
        if len(line) > 2 * length:
            return line, number
    return line, len(lines)


def _shortened(line: str, length: int) -> str:
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _is_worthless(line: str) -> bool:
    """A bare link, an ornament, or a request to open the message elsewhere."""
    if not (line[:1].isalnum() or any(map(str.isalnum, line))):
        return True
    if " " not in line and line.strip("<>()[]").lower().startswith(("http://", "https://", "www.", "cid:")):
        return True
    return len(line) < 120 and "browser" in line.lower() and bool(_BROWSER.search(line))


def search_text(body: Body) -> str:
    """The visible words, including quoted ones: people search for what they remember having read."""
    return all_words(_words(body))


def all_words(words: Words) -> str:
    """As `search_text`."""
    text, is_html = words
    return without_flags(text) if is_html else text


def words_of(body: Body) -> Words:
    """For `first_words` and `all_words`. Nothing is remembered or copied for others, unlike for `snippet` and
    `search_text`."""
    return _words(body, _words_of_new_html, _words_of_text.__wrapped__)


def snippet_and_words(mail: Parsed) -> tuple[str, str]:
    """What an index has of it: `snippet` and `search_text`, in the time that one of them takes."""
    words = words_of(mail.body)
    return first_words_of(words, mail), all_words(words)


def _words_of_new_html(documents: Documents) -> str:
    opened = _opened.__wrapped__(documents)
    return to_plain_text(opened.document, opened.tags)


@lru_cache(maxsize=2)  # the index needs the words and the snippet of the same message
def _words_of_text(text: str) -> str:
    return clean_text(reversals.marked(text[:MAX_TEXT]))


@lru_cache(maxsize=2)
def _words_of_html(documents: Documents) -> str:
    return to_plain_text(_flagged(documents).document) if any(documents) else ""


def _words(
    body: Body, of_html: Callable[[Documents], str] = _words_of_html, of_text: Callable[[str], str] = _words_of_text
) -> Words:
    """What a message says is what a mail client shows: the HTML, if it shows anything. Reading, snippets and the index
    all use this, so that a search never finds what nobody can see."""
    words = of_html(body.documents) if body.html else ""
    return (words, True) if without_flags(words).strip() else (of_text(body.text), False)


def _from_text(text: str, fmt: Format, context: ThreadContext | None) -> Rendered:
    shown, spelt, notes = _plain(text, fmt)
    result = fold_text(shown, context) if context else Folded(shown)
    folded = compact(result.text) if fmt == "markdown" else with_even_marks(result.text).strip()
    defects = _TEXT_CUT if len(text) > MAX_TEXT else ()
    return Rendered(folded, result.folded, spelt, defects, result.may_quote, shown, notes)


@lru_cache(maxsize=2)  # as of `_written`
def _plain(text: str, fmt: Format) -> tuple[str, int, tuple[str, ...]]:
    """The text as it is shown, how many pieces of it a reader could not have seen, and what to know about it."""
    within = text[:MAX_TEXT]
    source = reversals.marked(within)
    cleaned = clean_text(source)
    shown = shorten_in_text(cleaned) if fmt == "markdown" else cleaned
    spelt = [HiddenText("characters", run) for run in hidden_runs(source, cleaned)]
    return shown, len(spelt), warnings(spelt, shown) + ((_DOUBTFUL,) if source != within else ())


def _from_html(documents: Documents, fmt: Format, context: ThreadContext | None) -> Rendered:
    opened, shown, defects = _written(documents, fmt)
    lines = read_flags(shown)
    whole = "\n".join(lines.lines)
    result = fold_lines(lines, context) if context else Folded(whole)
    folded = compact(result.text)
    notes = _notes(opened, whole, folded)
    was_cut = opened.was_cut or len(shown) >= MAX_RENDERED
    if was_cut:
        folded += _CUT_NOTE
    defects += _CUT if was_cut else ()
    return Rendered(folded, result.folded, opened.hidden_removed, defects, result.may_quote, whole, notes)


@lru_cache(maxsize=2)  # a message is rendered again when it is known what it answers
def _written(documents: Documents, fmt: Format) -> tuple[OpenedHtml, str, tuple[str, ...]]:
    """With its quotes flagged; and what was left out."""
    opened = _flagged(documents)
    defects = _LINKS_CUT if fmt == "markdown" and has_more_links(opened.document) else ()
    return opened, _WRITTEN[fmt](opened.document), defects


_WRITTEN: dict[str, Callable[[Document], str]] = {
    "markdown": to_markdown,
    "text": to_text_with_links,
    "words": to_plain_text,
}


def _notes(opened: OpenedHtml, whole: str, shown: str) -> tuple[str, ...]:
    doubt = (_DOUBTFUL,) if DOUBT_OPENS in shown and not is_negligible(opened.doubtful) else ()
    return warnings(opened.hidden, whole) + doubt + (() if opened.is_judged else (_NOT_JUDGED,))


def _links(body: Body) -> Rendered:
    """Including those of quoted history: each has its number in the whole message."""
    if not body.html:
        found = dict.fromkeys(LINK_IN_TEXT.findall(clean_text(body.text[:MAX_TEXT])))
        return Rendered("\n".join(f"{number}. {link}" for number, link in enumerate(found, 1)))
    document = _unflagged(body.documents).document
    return Rendered(clean_text(to_links(document)), defects=_LINKS_CUT if has_more_links(document) else ())


def _flagged(documents: Documents) -> OpenedHtml:
    """A document of the caller's own, with a flag before and after each quote."""
    opened = _opened(documents)
    return replace(opened, document=deepcopy(opened.document))


@lru_cache(maxsize=2)  # a version to read and its words are made of the same document; copying it takes a moment
def _opened(documents: Documents) -> OpenedHtml:
    opened = _unflagged(documents)
    if may_quote(opened.document):
        flag_quotes(opened.document)
    return opened


def _unflagged(documents: Documents) -> OpenedHtml:
    return open_html(documents[0]) if len(documents) == 1 else open_together(documents)


def _safe_html(body: Body, context: ThreadContext | None) -> Rendered:
    if not body.html:
        plain = _from_text(body.text, "text", context)
        paragraphs = html_module.escape(plain.text).replace("\n", "<br>\n")
        return replace(plain, whole="", text=f"<p>{paragraphs}</p>" if plain.text else "")
    opened, folded, undecided = _unflagged(body.documents), 0, False
    if context and may_quote(opened.document):
        flagged = deepcopy(opened.document)
        flag_quotes(flagged)
        decided = fold_lines(read_flags(to_markdown(flagged)), context)
        folded, undecided = _dropped(opened.document, decided.elements), decided.may_quote
    for image in opened.document.select("img"):
        if is_pixel(image):
            image.decompose()
    node = opened.document.select_one("body") or opened.document
    shown = with_even_marks(clean_text(str(_sanitizer().sanitize(node)))).strip()
    was_cut = opened.was_cut or len(shown) > 2 * MAX_RENDERED
    notes = _notes(opened, shown, shown)
    shown = shown[: 2 * MAX_RENDERED] + (f"<p>{_CUT_NOTE.strip()}</p>" if was_cut else "")
    return Rendered(shown, folded, opened.hidden_removed, _CUT if was_cut else (), may_quote=undecided, warnings=notes)


def _dropped(document: Document, elements: frozenset[int]) -> int:
    """Removes these quotes; a quote in HTML is removed entirely or kept entirely. Returns how many characters."""
    before = len(document.text)
    drop_quotes(document, elements)
    return before - len(document.text)


@cache
def _sanitizer() -> Any:
    """Layout, links and pictures stay; scripts, forms, styles and every other scheme are removed."""
    from turbohtml.clean import OnDisallowed, Policy, Sanitizer

    schemes = frozenset({"http", "https", "mailto", "tel", "cid"})
    policy = replace(Policy.relaxed(), on_disallowed_tag=OnDisallowed.STRIP, url_schemes=schemes)
    return Sanitizer(policy)
