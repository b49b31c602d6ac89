"""From JMAP's Email objects to the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from postroom.mime.read.bodies import joined
from postroom.mime.read.parse import Parsed, parse_headers
from postroom.model.folder import Folder, Role
from postroom.model.message import Body, Envelope
from postroom.providers.jmap.wire import ANSWERED, DRAFT, FLAGGED, FORWARDED, SEEN
from postroom.providers.keywords import labels_of

_HEADERS = ("From", "Sender", "To", "Cc", "Bcc", "Reply-To", "Subject", "Message-ID", "In-Reply-To", "References")
MARKS = ["id", "blobId", "threadId", "mailboxIds", "keywords", "size", "receivedAt", "hasAttachment"]
# Headers come raw: one way of reading addresses for all providers.
LISTED = [*MARKS, *(f"header:{name}" for name in _HEADERS), "textBody", "htmlBody", "bodyValues"]
BODIES = {"bodyProperties": ["partId", "type"], "fetchTextBodyValues": True, "fetchHTMLBodyValues": True}

_UNFOLDED = re.compile(r"\r?\n(?![ \t])")  # would begin another header

# Which of several folders shows the message: first where it counts as being, then where people look.
_FIRST = (Role.TRASH, Role.JUNK, Role.DRAFTS, Role.INBOX, Role.SENT)
_LAST = (Role.ARCHIVE, Role.ALL, Role.FLAGGED)

Email = Mapping[str, Any]


def headers_of(email: Email) -> Parsed:
    lines = [
        f"{name}:{_UNFOLDED.sub(' ', value)}\r\n"
        for name in _HEADERS
        if isinstance(value := email.get(f"header:{name}"), str)
    ]
    return parse_headers("".join([*lines, "\r\n"]).encode("utf-8", "replace"))


def envelope_of(email: Email, parsed: Parsed, folders: Iterable[Folder], snippet: str) -> Envelope:
    """The date is that of arrival: JMAP sorts and searches by no other."""
    places = in_order(email, folders)
    keywords = {name.lower() for name in keywords_of(email)}
    return Envelope(
        ref=str(email["id"]),
        thread_ref=str(email.get("threadId") or email["id"]),
        folder=places[0].name if places else "",
        sender=parsed.sender,
        to=parsed.to,
        cc=parsed.cc,
        bcc=parsed.bcc,
        reply_to=parsed.reply_to,
        subject=parsed.subject,
        date=read_moment(email.get("receivedAt")),
        snippet=snippet,
        unread=SEEN not in keywords,
        starred=FLAGGED in keywords,
        answered=ANSWERED in keywords,
        forwarded=FORWARDED in keywords,
        draft=DRAFT in keywords,
        has_attachments=email.get("hasAttachment") is True,
        labels=labels_of(keywords_of(email)),
        size=size_of(email),
        message_id=parsed.message_id,
        in_reply_to=parsed.in_reply_to,
        references=parsed.references,
        other_folders=tuple(folder.name for folder in places[1:]),
    )


def in_order(email: Email, folders: Iterable[Folder]) -> list[Folder]:
    """The folders a message is in, the one it is shown in first."""
    there = set(_true(email.get("mailboxIds")))
    return sorted((folder for folder in folders if folder.ref in there), key=_rank)


def mailboxes_of(email: Email) -> set[str]:
    return set(_true(email.get("mailboxIds")))


def keywords_of(email: Email) -> list[str]:
    return _true(email.get("keywords"))


def has_keyword(email: Email, keyword: str) -> bool:
    return keyword in {name.lower() for name in keywords_of(email)}


def body_of(email: Email) -> Body:
    """The text that came with the listing: of alternatives the one that mail programs show. `textBody` has an HTML part
    where there is no other, and the reverse."""
    html, starts = joined(list(_texts(email, "htmlBody", "text/html")))
    return Body("" if html else "\n".join(_texts(email, "textBody", "text/plain")), html, starts)


def size_of(email: Email) -> int:
    return email["size"] if isinstance(email.get("size"), int) else 0


def is_cut(email: Email) -> bool:
    """Whether a text is longer than what was asked for."""
    values = email.get("bodyValues")
    return isinstance(values, dict) and any(
        isinstance(value, dict) and value.get("isTruncated") is True for value in values.values()
    )


def part_numbers(structure: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The number of each part (``2.1``) and its blob's id, from `bodyStructure`; without messages, which Cyrus 3.6 does
    not decode."""
    if not isinstance(structure, dict):
        return
    inner = structure.get("subParts")
    if not isinstance(inner, list) or not inner:
        if isinstance(structure.get("blobId"), str) and structure.get("type") != "message/rfc822":
            yield prefix or "1", structure["blobId"]
        return
    for index, part in enumerate(inner, 1):
        yield from part_numbers(part, f"{prefix}.{index}" if prefix else str(index))


def filenames_of(email: Email) -> list[str]:
    parts = email.get("attachments")
    names = [part.get("name") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return [name for name in names if isinstance(name, str)]


def read_moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _texts(email: Email, name: str, kind: str) -> Iterator[str]:
    parts, values = email.get(name), email.get("bodyValues")
    if not isinstance(parts, list) or not isinstance(values, dict):
        return
    for part in parts:
        if isinstance(part, dict) and part.get("type") == kind:
            value = values.get(part.get("partId"))
            if isinstance(value, dict) and isinstance(value.get("value"), str):
                yield value["value"]


def _true(marks: Any) -> list[str]:
    return [str(name) for name, value in marks.items() if value is True] if isinstance(marks, dict) else []


def _rank(folder: Folder) -> tuple[int, str]:
    if folder.role in _FIRST:
        return _FIRST.index(folder.role), folder.name
    return (len(_FIRST) + 1 if folder.role in _LAST else len(_FIRST)), folder.name
