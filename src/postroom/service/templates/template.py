"""A template as it is written: what it says, and the variables it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from postroom.model.address import refuse_line_breaks
from postroom.model.errors import InvalidRequest
from postroom.safety.limits import MAX_SUBJECT
from postroom.service.templates.engine import Pieces, parse, variables_in

Format = Literal["markdown", "text", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Variable:
    """One without a default is required, unless it is declared otherwise; then it is empty."""

    name: str
    required: bool = True
    default: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    format: Format
    subject: str
    body: str
    description: str = ""
    variables: tuple[Variable, ...] = ()
    subject_pieces: Pieces = ()
    body_pieces: Pieces = ()


def make(
    name: str,
    fmt: Format,
    *,
    subject: str,
    body: str,
    description: str = "",
    declared: tuple[Variable, ...] = (),
    first_line: int = 1,
) -> Template:
    """Checked as a whole. A variable that occurs without being declared is required; `first_line` is that of the body
    in its file."""
    try:
        refuse_line_breaks(subject, "subject")
    except InvalidRequest:
        raise InvalidRequest("The subject of a template is one line.", details={"field": "subject"}) from None
    if len(subject) > MAX_SUBJECT:
        raise InvalidRequest(f"The subject is longer than {MAX_SUBJECT} characters.", details={"field": "subject"})
    subject_pieces, body_pieces = parse(subject, "the subject"), parse(body, "the body", first_line)
    known = {variable.name for variable in declared}
    used = dict.fromkeys((*variables_in(subject_pieces), *variables_in(body_pieces)))
    variables = (*declared, *(Variable(each) for each in used if each not in known))
    return Template(name, fmt, subject, body, description, variables, subject_pieces, body_pieces)
