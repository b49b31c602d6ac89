"""The demo's other people: who in the sample receives messages, and the short answer that comes back.

An answer is a delivery into the writer's own mailbox, made together with the writer's message; nothing is sent for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

from postroom.mime.read.parse import Parsed, parse_headers
from postroom.mime.write.compose import compose
from postroom.mime.write.reply import reply_subject
from postroom.model.address import Address
from postroom.model.draft import Draft, Threading
from postroom.providers.local.sample.filling import world
from postroom.providers.local.sample.people import OWNERS

UNWANTED = ("Junk", "Trash")
# RFC 3834: says that no person wrote it, and that nothing should answer it.
_AUTOMATIC = b"Auto-Submitted: auto-replied\r\n"
_TEXT = (
    "Thank you, I have got your mail.\n\n{name}\n\n"
    "(Automatic answer of the Postroom demo: nobody wrote this, and nothing has left this machine.)"
)


@cache
def correspondents() -> Mapping[str, Address]:
    """Everyone the two owners exchange messages with, by key; senders found only in Junk and Trash are left out."""
    letters = [letter for letter in world(datetime.now(UTC)) if letter.folder not in UNWANTED]
    people = [person for letter in letters for person in (*letter.to, *letter.cc, letter.sender)]
    return {person.key: person for person in people if person not in OWNERS}


def answer_to(raw: bytes, recipients: Sequence[str]) -> bytes | None:
    """One answer, by the first of the recipients who is part of the sample; None where none is due."""
    mail = parse_headers(raw)
    known = correspondents()
    author = next((known[key] for key in (Address(email).key for email in recipients) if key in known), None)
    if author is None or _is_automatic(mail):
        return None
    ids = tuple(filter(None, (*mail.references, mail.message_id)))
    draft = Draft(
        sender=author,
        to=(mail.sender,),
        subject=reply_subject(mail.subject),
        text=_TEXT.format(name=author.name or author.email),
        threading=Threading(mail.message_id, ids),
    )
    return _AUTOMATIC + compose(draft)


def _is_automatic(mail: Parsed) -> bool:
    said = "".join(mail.headers.get("auto-submitted", ())[:1]).strip().lower()
    return said not in ("", "no")
