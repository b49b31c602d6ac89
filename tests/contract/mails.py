"""Mails for the suite, and the few questions its tests ask again and again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime

from postroom.model.folder import Folder, match_folder
from postroom.model.message import Envelope, Page
from postroom.model.query.text import parse_query
from postroom.model.query.tree import In, Query

from .rigs import RigAccount

NOW = datetime(2026, 6, 15, 12, 0, tzinfo=UTC)
PDF = b"%PDF-1.4\n" + bytes(range(256)) * 8 + b"\n%%EOF\n"


def mail(
    key: str,
    *,
    subject: str = "",
    text: str = "Hello.",
    html: str = "",
    sender: str = "Ada Byron <ada@friends.example>",
    to: str = "me@demo.example",
    cc: str = "",
    bcc: str = "",
    days_ago: float = 1,
    answers: Sequence[str] = (),
    files: Sequence[tuple[str, bytes]] = (),
    charset: str = "utf-8",
) -> bytes:
    """One mail as it would come from outside. `answers` are the keys of its ancestors, oldest first."""
    message = EmailMessage()
    message["From"], message["To"] = sender, to
    for name, value in (("Cc", cc), ("Bcc", bcc)):
        if value:
            message[name] = value
    message["Subject"] = subject or f"Subject of {key}"
    message["Date"] = format_datetime(NOW - timedelta(days=days_ago))
    message["Message-ID"] = message_id(key)
    if answers:
        message["In-Reply-To"] = message_id(answers[-1])
        message["References"] = " ".join(message_id(ancestor) for ancestor in answers)
    message.set_content(text, charset=charset)
    if html:
        message.add_alternative(html, subtype="html")
    for filename, content in files:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=filename)
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def message_id(key: str) -> str:
    return f"<{key}@seed.example>"


async def folder_named(account: RigAccount, wanted: str) -> Folder:
    folder = match_folder(await account.mailbox.folders(), wanted)
    assert folder is not None, f"no folder {wanted}"
    return folder


async def listed(account: RigAccount, folder: str, *, limit: int = 100, offset: int = 0) -> Page[Envelope]:
    return await account.mailbox.search(Query(In(folder)), limit=limit, offset=offset)


async def searched(account: RigAccount, text: str, *, limit: int = 100, offset: int = 0) -> Page[Envelope]:
    return await account.mailbox.search(parse_query(text, now=NOW), limit=limit, offset=offset)


async def envelope_of(account: RigAccount, ref: str) -> Envelope:
    (envelope,) = await account.mailbox.envelopes([ref])
    assert envelope is not None, "the mail is gone"
    return envelope
