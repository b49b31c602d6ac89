"""Conditions of a search that come as arguments of their own, beside the query text. All of them must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from postroom.model.address import refuse_line_breaks
from postroom.model.errors import InvalidRequest
from postroom.model.query.tree import (
    After,
    Before,
    Correspondent,
    HasAttachment,
    Is,
    Label,
    Node,
    Not,
    Query,
    Subject,
)
from postroom.model.query.values import read_moment

MAX_CHARS, MAX_LABELS = 200, 20


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty, or None, asks for nothing. A moment is a day or ISO 8601; `before` is left out, `after` is included."""

    sender: str = ""
    to: str = ""
    subject: str = ""
    labels: tuple[str, ...] = ()
    has_attachment: bool | None = None
    unread: bool | None = None
    after: str = ""
    before: str = ""

    def narrow(self, query: Query, zone: tzinfo | None) -> Query:
        """The query with these conditions added to it. Their values are taken literally: nothing in them is an
        operator, a wildcard or a quote."""
        return query.narrowed(*self._nodes(zone))

    def _nodes(self, zone: tzinfo | None) -> Iterator[Node]:
        if sender := _text("from", self.sender):
            yield Correspondent("from", sender)
        if to := _text("to", self.to):
            yield Correspondent("to", to)
        if subject := _text("subject", self.subject):
            yield Subject(subject, phrase=" " in subject)
        if len(self.labels) > MAX_LABELS:
            raise _refused("labels", f"has more than {MAX_LABELS} labels")
        yield from (Label(label) for name in self.labels if (label := _text("labels", name)))
        if self.has_attachment is not None:
            yield HasAttachment() if self.has_attachment else Not(HasAttachment())
        if self.unread is not None:
            yield Is("unread" if self.unread else "read")
        if self.after:
            yield After(_moment("after", self.after, zone))
        if self.before:
            yield Before(_moment("before", self.before, zone))


NO_FILTERS = Filters()


def _text(field: str, value: str) -> str:
    refuse_line_breaks(value, field)
    if len(value) > MAX_CHARS:
        raise _refused(field, f"is longer than {MAX_CHARS} characters")
    return value.strip()


def _moment(field: str, value: str, zone: tzinfo | None) -> datetime:
    try:
        return read_moment(field, value.strip(), zone)
    except InvalidRequest:
        raise InvalidRequest(
            f"The date {field} which messages are wanted must be ISO 8601, like 2026-01-31 or "
            "2026-01-31T09:00:00+01:00.",
            details={"field": field},
        ) from None


def _refused(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"The filter {field} {why}. Use less.", details={"field": field})
