"""Step one of the gate: is this a message that may be sent at all? Refuses, changes nothing."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, datetime, timedelta

from postroom.model.address import parse_address, refuse_line_breaks
from postroom.model.draft import Draft
from postroom.model.errors import InvalidRequest

MAX_RECIPIENTS = 500  # of each kind
MAX_SUBJECT = 255
MAX_BODY = 100_000
MAX_DELAY = timedelta(days=365)
_TOO_EARLY_OR_LATE = "send_at must be in the future, within one year."


def check(draft: Draft, *, max_bytes: int, needs_subject: bool = True) -> None:
    """Raise InvalidRequest naming the field that is wrong."""
    check_content(draft, needs_subject=needs_subject)
    _address(draft.sender.email, draft.sender.name, "identity")
    size = sum(len(file.content) for file in draft.files) + len(draft.forwarded or b"")
    if size > max_bytes:
        raise InvalidRequest(
            f"The attachments are larger than the {max_bytes // 2**20} MB this account accepts.",
            reason="attachment_too_large",
            details={"field": "attachments"},
        )


def check_content(draft: Draft, *, needs_subject: bool = True) -> None:
    """What can be said of it before the account is opened, which names the sender."""
    _recipients(draft)
    _headers(draft, needs_subject=needs_subject)
    check_body(draft.text, draft.html, has_original=bool(draft.forwarded))


def check_schedule(send_at: datetime | None, now: datetime) -> None:
    if send_at is not None and not now < send_at <= now + MAX_DELAY:
        raise _invalid("send_at", _TOO_EARLY_OR_LATE)


def check_calendar(send_at: datetime) -> None:
    """Before it is read on another clock, which a moment at either end of the calendar is not on."""
    if not MINYEAR < send_at.year < MAXYEAR:
        raise _invalid("send_at", _TOO_EARLY_OR_LATE)


def _recipients(draft: Draft) -> None:
    if not draft.recipients:
        raise InvalidRequest(
            "There is no recipient. Give at least one address in `to`.",
            reason="recipient_missing",
            details={"field": "to"},
        )
    for field in ("to", "cc", "bcc"):
        addresses = getattr(draft, field)
        if len(addresses) > MAX_RECIPIENTS:
            raise _invalid(field, f"{field} has {len(addresses)} recipients; at most {MAX_RECIPIENTS} are allowed.")
        for address in addresses:
            _address(address.email, address.name, field)


def _address(email: str, name: str, field: str) -> None:
    refuse_line_breaks(name, field)
    parse_address(email)


def _headers(draft: Draft, *, needs_subject: bool) -> None:
    if needs_subject and not draft.subject.strip():
        raise _invalid("subject", "The subject is empty. Write one.")
    if len(draft.subject) > MAX_SUBJECT:
        raise _invalid("subject", f"The subject is longer than {MAX_SUBJECT} characters.")
    values = (draft.subject, draft.threading.in_reply_to, *draft.threading.references)
    for value in (*values, *(file.filename for file in draft.files)):
        refuse_line_breaks(value, "header value")


def check_body(text: str, html: str, *, has_original: bool = False) -> None:
    if not (text.strip() or html.strip() or has_original):
        raise _invalid("body", "The body is empty. Write something.")
    if len(text) > 2 * MAX_BODY or len(html) > 3 * MAX_BODY:
        raise _invalid("body", f"The body is longer than {MAX_BODY} characters.")
    if "\0" in text or "\0" in html:
        raise _invalid("body", "The body contains a NUL character. Remove it.")


def _invalid(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, details={"field": field})
