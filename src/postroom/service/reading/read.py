"""Open a message, a whole thread, or attachments."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from postroom.mime.clean import clean_line, clean_text
from postroom.mime.html.doubts import page
from postroom.model.by_fields import with_fields
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.ids import Kind
from postroom.model.message import Attachment, Envelope, Message
from postroom.service.attachment_files import safe_filename, save
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import (
    MAX_SHOWN,
    MAX_SUBJECT,
    first_of,
    gone,
    locate,
    rows,
    shown_addresses,
)
from postroom.service.reading.fetching import fetch_content
from postroom.service.reading.history import nearest_of_each
from postroom.service.reading.rendering import (
    MAX_BODY_CHARS,
    MAX_CHARS,
    Answer,
    Reading,
    render_one,
    render_thread,
)
from postroom.service.reading.whole_threads import open_thread
from postroom.service.views import AttachmentView, EmailRow, OpenEmail, SavedFile, SenderFacts, ThreadView, WholeEmail

if TYPE_CHECKING:
    from postroom.mime.render import Rendered

MAX_THREAD = 500  # messages of a thread in one call
MAX_BASE64_BYTES = 64 * 1024
MAX_BASE64_TOTAL = 1024 * 1024
MAX_HTML_CHARS, MAX_HEADERS, MAX_HEADER_CHARS = 50_000, 60, 500


async def read_email(
    gateway: Gateway,
    email_id: str,
    *,
    account: str | None = None,
    body_format: str = "markdown",
    include_quoted: bool = False,
    max_chars: int = MAX_CHARS,
    offset: int = 0,
    content_only: bool = False,
) -> OpenEmail:
    """With `content_only` for a caller that shows neither its folder nor its flags: the row may lack them."""
    reading = Reading(body_format, include_quoted, max_chars, offset)
    opened, ref = await locate(gateway, email_id, account)
    message = await _fetch(opened, ref, email_id, content_only=content_only)
    return await open_message(gateway, opened, message, reading)


async def read_whole(gateway: Gateway, email_id: str, *, account: str | None = None) -> WholeEmail:
    """Both versions and the headers, within bounds; quoted history included."""
    opened, ref = await locate(gateway, email_id, account)
    message = await _fetch(opened, ref, email_id)
    email = await open_message(gateway, opened, message, Reading("text", True, MAX_BODY_CHARS))
    reading = Reading("html", True, MAX_HTML_CHARS)
    html = await open_message(gateway, opened, message, reading) if message.body.html else None
    headers = {
        clean_line(name)[:100]: clean_line(", ".join(values)[: 2 * MAX_HEADER_CHARS])[:MAX_HEADER_CHARS]
        for name, values in list(message.headers.items())[:MAX_HEADERS]
    }
    return WholeEmail(email, html.body if html else "", bool(html and html.truncated), headers)


async def download_all(
    gateway: Gateway, email_id: str, views: Sequence[AttachmentView], *, account: str | None = None
) -> dict[str, SavedFile]:
    """By attachment id: small ones as base64 until a megabyte is full, the others as files."""
    room, files = MAX_BASE64_TOTAL, {}
    for view in views:
        is_small = view.size <= min(room, MAX_BASE64_BYTES // 2)  # a provider may state the size loosely
        file = await download_attachment(gateway, email_id, view.attachment_id, account=account, as_base64=is_small)
        room -= file.size if is_small else 0
        files[view.attachment_id] = file
    return files


async def get_thread(
    gateway: Gateway,
    thread_id: str,
    *,
    account: str | None = None,
    limit: int = 20,
    body_format: str = "markdown",
    max_chars: int = 2000,
) -> ThreadView:
    """The newest `limit` messages of a thread, oldest first. A message's id stands for its thread."""
    if not 1 <= limit <= MAX_THREAD:
        raise InvalidRequest(f"limit must be between 1 and {MAX_THREAD}.", details={"field": "limit"})
    reading = Reading(body_format, max_chars=max_chars)
    opened, thread_ref = await _locate_thread(gateway, thread_id, account)
    try:
        envelopes, messages = await open_thread(opened, thread_ref, limit)
    except NotFound:
        raise thread_gone(thread_id) from None
    shown = envelopes[-limit:]
    reading = replace(reading, max_chars=min(max_chars, MAX_BODY_CHARS // len(shown)))  # in all as much as one message
    answers = _answers(thread_id, shown, envelopes, messages)
    rendered = await render_thread(gateway, answers, reading)
    emails = await _opened_all(gateway, opened, [answer.message for answer in answers], reading, rendered)
    return ThreadView(
        thread_id=emails[-1].row.thread_id,
        account=opened.name,
        subject=clean_line(envelopes[0].subject)[:MAX_SUBJECT],
        total_count=len(envelopes),
        emails=tuple(emails),
        has_more=len(envelopes) > len(shown),
    )


async def list_attachments(
    gateway: Gateway, email_id: str, *, account: str | None = None
) -> tuple[AttachmentView, ...]:
    opened, ref = await locate(gateway, email_id, account)
    return _attachments((await _fetch(opened, ref, email_id, content_only=True)).attachments)


async def download_attachment(
    gateway: Gateway, email_id: str, attachment_id: str, *, account: str | None = None, as_base64: bool = False
) -> SavedFile:
    """Saved under the download folder, or handed out as base64 when asked for and small."""
    view, content = await attachment_bytes(gateway, email_id, attachment_id, account)
    owner = (await locate(gateway, email_id, account))[0].name
    saved = SavedFile(
        email_id=email_id,
        attachment_id=view.attachment_id,
        filename=view.filename,
        mime_type=view.mime_type,
        size=len(content),
        uri=attachment_uri(owner, email_id, view.attachment_id),
    )
    if as_base64:
        return replace(saved, content_base64=_small_base64(content))
    path = await gateway.in_thread(save, gateway.settings.safety.download_dir, view.filename, content)
    return replace(saved, path=str(path))


def _small_base64(content: bytes) -> str:
    if len(content) > MAX_BASE64_BYTES:
        raise InvalidRequest(
            f"{len(content)} bytes are too large for base64 (at most {MAX_BASE64_BYTES}). Download it to a file.",
            details={"field": "as_base64"},
        )
    return base64.b64encode(content).decode("ascii")


async def attachment_bytes(
    gateway: Gateway, email_id: str, attachment_id: str, account: str | None = None
) -> tuple[AttachmentView, bytes]:
    opened, ref, view = await find_attachment(gateway, email_id, attachment_id, account)
    return view, await opened.mailbox.fetch_part(ref, attachment_id)


async def find_attachment(
    gateway: Gateway, email_id: str, attachment_id: str, account: str | None = None
) -> tuple[Account, str, AttachmentView]:
    """Its account, the ref of its message, and what is known of it before it is fetched."""
    opened, ref = await locate(gateway, email_id, account)
    views = _attachments((await _fetch(opened, ref, email_id, content_only=True)).attachments)
    view = next((view for view in views if view.attachment_id == attachment_id), None)
    if view is None:
        raise NotFound(
            f"Message {email_id} has no attachment {attachment_id[:40]!r}. Call list_attachments to see what it has.",
            reason="attachment_unknown",
            details={"email_id": email_id},
        )
    return opened, ref, view


async def raw_email(gateway: Gateway, email_id: str, account: str | None = None) -> bytes:
    opened, ref = await locate(gateway, email_id, account)
    try:
        return await opened.raw_access.fetch_raw(ref)
    except NotFound:
        raise gone(email_id) from None


async def _locate_thread(gateway: Gateway, thread_id: str, account: str | None) -> tuple[Account, str]:
    if gateway.ids.names_mail(thread_id):
        opened, ref = await locate(gateway, thread_id, account)
        envelope = (await opened.mailbox.envelopes([ref]))[0]
        if envelope is None:
            raise gone(thread_id)
        return opened, envelope.thread_ref
    return await locate(gateway, thread_id, account, Kind.THREAD)


def thread_gone(thread_id: str) -> NotFound:
    return NotFound(
        f"Nothing is left of the conversation {thread_id}: its messages were deleted or moved, or it is a discarded "
        "draft. Search again, and read what you find by its own id.",
        reason="thread_gone",
        details={"thread_id": thread_id, "id": thread_id},
    )


async def _fetch(account: Account, ref: str, email_id: str, *, content_only: bool = False) -> Message:
    try:
        return await (fetch_content(account, ref) if content_only else account.mailbox.fetch(ref))
    except NotFound:
        raise gone(email_id) from None


def _answers(
    thread_id: str, shown: Sequence[Envelope], envelopes: Sequence[Envelope], messages: Mapping[str, Message]
) -> list[Answer]:
    answered = nearest_of_each(shown, envelopes)
    answers: list[Answer] = []
    for one in shown:
        message = messages.get(one.ref)
        if message is None:
            raise gone(thread_id)
        if message.envelope.thread_ref != one.thread_ref:
            message = replace(message, envelope=with_fields(message.envelope, thread_ref=one.thread_ref))
        answers.append(Answer(message, messages.get(answered[one.ref].ref) if one.ref in answered else None))
    return answers


async def open_message(gateway: Gateway, account: Account, message: Message, reading: Reading) -> OpenEmail:
    if reading.body_format == "raw":
        rendered = await _as_it_came(gateway, account, message)
    else:
        rendered = await render_one(gateway, account, message, reading)
    return (await _opened_all(gateway, account, [message], reading, [rendered]))[0]


async def _opened_all(
    gateway: Gateway, account: Account, messages: Sequence[Message], reading: Reading, rendered: Sequence[Rendered]
) -> list[OpenEmail]:
    listed = await rows(gateway, account, [message.envelope for message in messages])
    return [
        _opened(account, message, row, reading, body)
        for message, row, body in zip(messages, listed, rendered, strict=True)
    ]


def _opened(account: Account, message: Message, row: EmailRow, reading: Reading, rendered: Rendered) -> OpenEmail:
    text = rendered.text
    if reading.offset > len(text):
        raise InvalidRequest(
            f"offset {reading.offset} is past the end: the body has {len(text)} characters.",
            details={"field": "offset"},
        )
    start, end = page(text, reading.offset, reading.max_chars)
    envelope = message.envelope
    return OpenEmail(
        row=row if len(row.to) <= MAX_SHOWN else replace(row, to=first_of(row.to)),
        cc=first_of(shown_addresses(envelope.cc)),
        bcc=first_of(shown_addresses(envelope.bcc)),
        reply_to=first_of(shown_addresses(envelope.reply_to)),
        body=text[start:end],
        body_format=reading.body_format,
        body_offset=start,
        body_chars=len(text),
        truncated=len(text) > end,
        quoted_folded=rendered.quoted_folded,
        hidden_removed=rendered.hidden_removed,
        attachments=_attachments(message.attachments[:MAX_SHOWN]),
        facts=_facts(account, message, rendered.warnings),
        defects=tuple(clean_text(defect) for defect in dict.fromkeys((*message.defects, *rendered.defects))),
    )


async def _as_it_came(gateway: Gateway, account: Account, message: Message) -> Rendered:
    from postroom.mime.render import Rendered

    raw = await account.raw_access.fetch_raw(message.envelope.ref)
    return Rendered(await gateway.read(raw.decode, "utf-8", "replace"))


def _attachments(attachments: tuple[Attachment, ...]) -> tuple[AttachmentView, ...]:
    return tuple(
        AttachmentView(
            attachment_id=attachment.part,
            filename=safe_filename(attachment.filename, attachment.mime_type),
            mime_type=clean_line(attachment.mime_type),
            size=attachment.size,
            inline=attachment.inline,
        )
        for attachment in attachments
    )


def _facts(account: Account, message: Message, about_text: tuple[str, ...]) -> SenderFacts:
    from postroom.mime.sender_facts import judge

    envelope = message.envelope
    own = (account.settings.address.rpartition("@")[2],) if account.settings.address else ()
    trusted = getattr(account.settings, "authserv_id", "")
    facts = judge(message.headers, envelope.sender, envelope.reply_to, own, trusted=trusted)
    found = (clean_text(text) for text in facts.warnings)
    warnings = (*found, *about_text, *_too_many(len(message.attachments)))
    return SenderFacts(facts.spf, facts.dkim, facts.dmarc, warnings)


def _too_many(attachments: int) -> tuple[str, ...]:
    if attachments <= MAX_SHOWN:
        return ()
    return (f"It has {attachments} attachments; {MAX_SHOWN} are shown here. Call list_attachments to see all.",)


def attachment_uri(account: str, email_id: str, attachment_id: str) -> str:
    return "mail://{}/{}/attachments/{}".format(*(quote(part, safe="") for part in (account, email_id, attachment_id)))
