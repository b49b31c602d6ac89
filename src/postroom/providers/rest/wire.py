"""The names of the API: its paths, its fields, its flags. A field of the wrong type counts as missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from postroom.model.errors import NotFound, ProviderError
from postroom.model.query.tree import Flag
from postroom.providers.http.answer import Answer
from postroom.providers.http.problems import Problem

LOGIN = "/api/auth/login"
REFRESH = "/api/auth/refresh"
MAILBOXES = "/api/mailboxes"
SEND = "/api/message/send"
SEARCH = "/api/search"
INBOX = "INBOX"
PAGE = 100  # messages in one request; the contract of its clients names no larger number

SEEN, FLAGGED, ANSWERED, FORWARDED, DRAFT = "\\Seen", "\\Flagged", "\\Answered", "$Forwarded", "\\Draft"
# What to add and what to remove.
FLAGS: Mapping[Flag, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "read": ((SEEN,), ()),
    "unread": ((), (SEEN,)),
    "starred": ((FLAGGED,), ()),
    "unstarred": ((), (FLAGGED,)),
    "answered": ((ANSWERED,), ()),
    "forwarded": ((FORWARDED,), ()),
}
MENTIONED = "mentioned"
_ADDRESS = re.compile(r"[^\s<>\"'(),;:]{1,100}@[^\s<>\"'(),;:]{1,200}")
_FAILED_STATES = frozenset({"failed", "failure", "error", "rejected", "refused", "denied"})
SENT_STATES = frozenset({"", "sent", "queued", "accepted", "ok", "success", "delivered", "pending"})


def mailbox_path(name: str) -> str:
    return f"{MAILBOXES}/{_segment(name)}"


def messages_path(mailbox: str) -> str:
    return f"/api/mailbox/{_segment(mailbox)}/messages"


def message_path(ref: str, verb: str = "") -> str:
    return f"/api/message/{_segment(ref)}{verb}"


def _segment(text: str) -> str:
    """One segment of a path. Dots alone would be taken for a step to another path."""
    try:
        quoted = quote(text, safe="")
    except UnicodeEncodeError:
        quoted = ""
    if not quoted.strip("."):
        raise NotFound("There is no such item at the mail service. List or search again.")
    return quoted


def read_problem(answer: Answer) -> Problem | None:
    """Some services report a failure in the body of a success; of a message that was sent the transport judges that.
    How they word an error is not shown, only searched for the recipients of a message that was refused."""
    is_of_send = answer.url.endswith(SEND)
    if answer.is_success:
        return Problem() if not is_of_send and _is_no_success(answer) else None
    if is_of_send:
        return Problem(details={MENTIONED: _ADDRESS.findall(answer.body[:100_000].decode("utf-8", "replace"))})
    return None


def _is_no_success(answer: Answer) -> bool:
    """A read is judged by what it was to return. A change may be answered with nothing at all, or with any text, but
    neither with half an object nor with one that says that it failed."""
    found = answer.parsed()
    if not answer.of_write:
        return isinstance(found, dict) and bool(found.get("error"))
    is_cut = answer.is_json and found is None and answer.body.strip() not in (b"", b"null")
    return is_cut or (isinstance(found, dict) and _says_failed(found))


def _says_failed(found: Mapping[str, Any]) -> bool:
    is_denied = found.get("success") is False or found.get("ok") is False
    return is_denied or bool(found.get("error") or found.get("errors")) or _status(found) in _FAILED_STATES


def _status(found: Mapping[str, Any]) -> str:
    return text(found, "status").casefold()


@dataclass(frozen=True, slots=True)
class Row:
    """A message as a listing shows it."""

    id: str
    subject: str = ""
    sender: str = ""
    to: tuple[str, ...] = ()
    date: str = ""
    flags: frozenset[str] = frozenset()
    preview: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class MailboxRow:
    name: str
    total: int | None = None
    unread: int | None = None


def mailboxes(answer: Answer) -> list[MailboxRow]:
    return [MailboxRow(_id(one, "name"), _number(one, "total"), _number(one, "unread")) for one in _list(answer)]


def rows(answer: Answer) -> list[Row]:
    return [_row(one) for one in _list(answer)]


def _row(one: Mapping[str, Any]) -> Row:
    return Row(
        id=_id(one, "id"),
        subject=text(one, "subject"),
        sender=text(one, "from"),
        to=texts(one, "to"),
        date=text(one, "date"),
        flags=frozenset(flag.casefold() for flag in texts(one, "flags")),
        preview=text(one, "preview"),
        size=_number(one, "size") or 0,
    )


def has(row: Row, flag: str) -> bool:
    return flag.casefold() in row.flags


def says_sent(answer: Answer) -> bool:
    """It names the message or says so in its status, and nothing in it says the opposite."""
    found = answer.object()
    status = _status(found)
    return not _says_failed(found) and status in SENT_STATES and bool(status or sent_id(answer))


def sent_id(answer: Answer) -> str:
    """The id of a message that was sent: the API calls it by either name."""
    found = answer.object()
    return text(found, "message_id") or text(found, "id")


def text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def texts(found: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = found.get(key)
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def objects(found: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = found.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _list(answer: Answer) -> list[dict[str, Any]]:
    found = answer.parsed()
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    if isinstance(found, dict):
        raise _malformed(answer, "an object where a list belongs")
    answer.object()  # raises, and says whether it is a web page
    raise _malformed(answer, "no list of objects")


def _id(one: Mapping[str, Any], key: str) -> str:
    """An entry that cannot be named cannot be shown either; leaving it out would hide a message."""
    if found := text(one, key):
        return found
    raise ProviderError(f"The mail service lists an entry without {key}. It does not follow the API.")


def _number(one: Mapping[str, Any], key: str) -> int | None:
    value = one.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _malformed(answer: Answer, what: str) -> ProviderError:
    return ProviderError(f"{answer.host} answered {answer.status} with {what}.", details={"status": answer.status})
