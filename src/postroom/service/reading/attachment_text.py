"""Read an attachment: its text page by page, a picture as a picture, or why neither is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.mime.html.doubts import page
from postroom.model.errors import InvalidRequest
from postroom.service.gateway import Gateway
from postroom.service.reading.read import attachment_uri, find_attachment
from postroom.service.reading.rendering import MAX_CHARS, Reading
from postroom.service.views import AttachmentText, AttachmentView

if TYPE_CHECKING:
    from postroom.mime.documents.document import Document

_AHEAD = 10_000  # characters that are read beyond the page, to know whether it is the last
_VAGUE = (
    "application/octet-stream",
    "application/x-ole-storage",
    "application/zip",
    "text/plain",
)  # contradict nothing


async def read_attachment(
    gateway: Gateway,
    email_id: str,
    attachment_id: str,
    *,
    account: str | None = None,
    max_chars: int = MAX_CHARS,
    offset: int = 0,
) -> AttachmentText:
    """What is too large to be read is not even fetched."""
    from postroom.mime.documents.reading import TOO_LARGE, is_readable, read_document

    reading = Reading(max_chars=max_chars, offset=offset)
    opened, ref, view = await find_attachment(gateway, email_id, attachment_id, account)
    content, document = b"", TOO_LARGE
    if is_readable(view.size):
        content = await opened.mailbox.fetch_part(ref, attachment_id)
        enough = 2 * (offset + max_chars) + _AHEAD
        document = await gateway.read(read_document, content, view.filename, view.mime_type, enough)
    uri = attachment_uri(opened.name, email_id, view.attachment_id)
    return _shown(email_id, view, uri, reading, document, content)


def _shown(
    email_id: str, view: AttachmentView, uri: str, reading: Reading, document: Document, content: bytes
) -> AttachmentText:
    if document.kind == "text" and document.is_whole and reading.offset > len(document.text):
        raise InvalidRequest(
            f"offset {reading.offset} is past the end: the text has {len(document.text)} characters.",
            details={"field": "offset"},
        )
    start, end = page(document.text, reading.offset, reading.max_chars)
    text = document.text[start:end]
    return AttachmentText(
        email_id=email_id,
        attachment_id=view.attachment_id,
        filename=view.filename,
        mime_type=document.mime_type or view.mime_type,
        size=view.size,
        kind=document.kind,
        offset=start,
        total_chars=len(document.text) if document.is_whole else None,
        truncated=len(document.text) > end or (bool(text) and not document.is_whole),
        notes=(*document.notes, *_disguise(view, document.mime_type)),
        uri=uri,
        text=text,
        image=content if document.kind == "image" else b"",
    )


def _disguise(view: AttachmentView, found: str) -> tuple[str, ...]:
    """What is said of a file that is not what it claims to be."""
    if not found or found == view.mime_type or found in _VAGUE or view.mime_type in _VAGUE:
        return ()
    return (f"Its content is {found}, although it claims to be {view.mime_type}.",)
