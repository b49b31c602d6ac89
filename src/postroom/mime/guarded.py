"""Parsing and rendering untrusted messages: small ones directly, large ones in a process that can be stopped.

Every step is linear and bounded, so small messages take milliseconds at most. For large ones a bound is not enough:
HTML goes through a third-party library. If a message takes too long or crashes the parser, its text is shown as far as
a simple extraction gives it, together with the reason. For threads, not for the event loop.
"""

from __future__ import annotations

import html as html_module
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from postroom.mime.clean import clean_text
from postroom.mime.limits import MAX_INLINE_HTML, MAX_INLINE_MAIL, MAX_INLINE_TEXT, MAX_STRIPPED
from postroom.mime.processes.workers import BROKEN, Unreadable, shared
from postroom.mime.quotes.folding import UNKNOWN, ThreadContext
from postroom.mime.read.parse import Parsed, parse_headers
from postroom.mime.read.parse import parse as parse_mail
from postroom.model.message import Body

if TYPE_CHECKING:
    from postroom.mime.render import Format, Rendered

P = ParamSpec("P")
R = TypeVar("R")

_UNSHOWN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(style|script|title)\b.*?(?:</\1[^>]{0,99}+>?|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]*+(?:>|\Z)")


def parse(raw: bytes) -> Parsed:
    """As `mime.read.parse.parse`."""
    try:
        return run(len(raw) <= MAX_INLINE_MAIL, parse_mail, raw)
    except Unreadable as reason:
        return _beginning(raw, f"{reason} Only its beginning is shown.")


def render(body: Body, *, fmt: Format, keep_quoted: bool, context: ThreadContext = UNKNOWN) -> Rendered:
    """As `mime.render.render`. A message that could not be read does not count as earlier text of another."""
    from postroom.mime import render as rendering

    try:
        return run(is_small(body), rendering.render, body, fmt=fmt, keep_quoted=keep_quoted, context=context)
    except Unreadable as reason:
        text = stripped(body)
        said = f"{reason} Its text is shown without layout and may include words that a reader would not see."
        shown = f"<p>{html_module.escape(text)}</p>" if fmt == "html" else text
        return rendering.Rendered(shown, defects=(said,))


def snippet(body: Body, context: ThreadContext = UNKNOWN) -> str:
    """As `mime.render.snippet`."""
    from postroom.mime import render as rendering

    try:
        return run(is_small(body), rendering.snippet, body, context=context)
    except Unreadable:
        return ""


def search_text(body: Body) -> str:
    """As `mime.render.search_text`."""
    from postroom.mime import render as rendering

    try:
        return run(is_small(body), rendering.search_text, body)
    except Unreadable:
        return stripped(body)


def snippet_and_words(mail: Parsed) -> tuple[str, str]:
    """As `mime.render.snippet_and_words`."""
    from postroom.mime import render as rendering

    try:
        return run(is_small(mail.body), rendering.snippet_and_words, mail)
    except Unreadable:
        return "", stripped(mail.body)


def stripped(body: Body) -> str:
    """The plain text, or the HTML without its tags: cheap, and never an error."""
    if body.text.strip():
        return clean_text(body.text[:MAX_STRIPPED])
    within = replace(body, html=body.html[: 4 * MAX_STRIPPED])
    text = "\n".join(_TAG.sub(" ", _UNSHOWN.sub(" ", document)) for document in within.documents)
    lines = (" ".join(line.split()) for line in clean_text(html_module.unescape(text)).split("\n"))
    return "\n".join(filter(None, lines))[:MAX_STRIPPED]


def is_small(body: Body) -> bool:
    return len(body.html) <= MAX_INLINE_HTML and len(body.text) <= MAX_INLINE_TEXT


def run(here: bool, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """By the caller's own thread or by a worker. Raises Unreadable and nothing else."""
    if not here:
        return shared.call(function, *args, **kwargs)
    try:
        return function(*args, **kwargs)
    except Exception as error:  # whatever a hostile message breaks, it is still a message
        raise Unreadable(BROKEN) from error


def _beginning(raw: bytes, said: str) -> Parsed:
    for read, length in ((parse_mail, MAX_INLINE_MAIL // 8), (parse_headers, MAX_INLINE_MAIL // 8)):
        try:
            parsed = read(raw[:length])
        except Exception:  # noqa: BLE001, S112
            continue
        return replace(parsed, size=len(raw), defects=(*parsed.defects, said))
    return Parsed(size=len(raw), defects=(said,))
