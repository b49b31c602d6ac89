"""A template with its values: a subject, a text version and, of Markdown and HTML, an HTML version.

A value is text in every format: in HTML it is escaped, and in Markdown it takes no part in the markup, because the
markup is rendered before the values are inserted.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from postroom.model.address import refuse_line_breaks
from postroom.model.errors import InvalidRequest
from postroom.service.templates.attributes import check_attributes
from postroom.service.templates.engine import MAX_CHARS, render, variables_in
from postroom.service.templates.template import Template, Variable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_HTML_TAG = re.compile(r"(<[^<>]*+>)")


@dataclass(frozen=True, slots=True)
class Rendered:
    template: str
    subject: str
    text: str
    html: str = ""


def fill(template: Template, given: Mapping[str, Any]) -> Rendered:
    """InvalidRequest names every variable that is missing, and every one that the template does not have."""
    values = _values(template, given)
    subject = _subject(template, values)
    if template.format == "html":
        _worded(template, values, str)
        return Rendered(template.name, subject, "", _render(template, values, escape))
    text = _render(template, values, str)
    html = _from_markdown(template, values) if template.format == "markdown" else ""
    return Rendered(template.name, subject, text, html)


def _values(template: Template, given: Mapping[str, Any]) -> dict[str, str]:
    known = {variable.name: variable for variable in template.variables}
    _refuse_unknown(template, [name for name in given if name not in known])
    missing = [name for name, variable in known.items() if variable.required and not _is_given(given, name)]
    if missing:
        raise InvalidRequest(
            f"The template {template.name} needs {_described(known, missing)}. Give a value for each variable.",
            reason="template_variables",
            details={"field": "variables", "missing": missing},
        )
    return {name: _as_text(given[name], name) if name in given else one.default for name, one in known.items()}


def _refuse_unknown(template: Template, unknown: list[str]) -> None:
    if unknown:
        takes = ", ".join(variable.name for variable in template.variables) or "no variables"
        raise InvalidRequest(
            f"The template {template.name} has no {', '.join(name[:60] for name in unknown[:5])}. It takes: {takes}.",
            reason="template_variables",
            details={"field": "variables", "unknown": [name[:60] for name in unknown[:5]]},
        )


def _is_given(given: Mapping[str, Any], name: str) -> bool:
    return name in given and given[name] is not None and str(given[name]).strip() != ""


def _described(known: Mapping[str, Variable], names: list[str]) -> str:
    return ", ".join(f"{name} ({known[name].description})" if known[name].description else name for name in names)


def _as_text(value: Any, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else ""
    if isinstance(value, (str, int, float)):
        return str(value).replace("\r\n", "\n")
    raise InvalidRequest(
        f"The variable {name} must be text or a number.",
        reason="template_variables",
        details={"field": "variables", "variable": name},
    )


def _subject(template: Template, values: Mapping[str, str]) -> str:
    for name in variables_in(template.subject_pieces):
        refuse_line_breaks(values[name], f"variable {name}, which stands in the subject,")
    return render(template.subject_pieces, values.__getitem__, lambda name: bool(values[name])).strip()


def _render(template: Template, values: Mapping[str, str], shown: Callable[[str], str]) -> str:
    return render(template.body_pieces, lambda name: shown(values[name]), lambda name: bool(values[name]))


def _from_markdown(template: Template, values: Mapping[str, str]) -> str:
    worded, placed, value_of = _worded(template, values, _markdown().render)
    segments = _HTML_TAG.split(worded)  # what is odd is a tag, in which a line break stays one
    html = "".join(
        placed.sub(lambda word, is_tag=number % 2: _in_html(value_of(word[0]), is_tag), segment)
        for number, segment in enumerate(segments)
    )
    if len(html) > MAX_CHARS:
        raise InvalidRequest("The rendered template is too long. Use shorter values.", details={"field": "variables"})
    return html


def _worded(
    template: Template, values: Mapping[str, str], as_html: Callable[[str], str]
) -> tuple[str, re.Pattern[str], Callable[[str], str]]:
    """The HTML with a word of its own in place of each value, what matches such a word, and the value of one.
    InvalidRequest where a value would be more than text or the address of a link."""
    nonce = secrets.token_hex(8)
    words = {f"v{nonce}n{number}v": name for number, name in enumerate(values)}
    word_of = {name: word for word, name in words.items()}
    worded = as_html(render(template.body_pieces, word_of.__getitem__, lambda name: bool(values[name])))
    placed = re.compile(f"v{nonce}n[0-9]+v")

    def value_of(word: str) -> str:
        return values[words[word]]

    check_attributes(worded, placed, value_of)
    return worded, placed, value_of


def _in_html(value: str, is_tag: int) -> str:
    escaped = escape(value)
    return escaped if is_tag else escaped.replace("\n", "<br />\n")


@cache
def _markdown() -> MarkdownIt:
    """CommonMark with tables; raw HTML is shown as text, and a line break is one, as in the text version."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
