"""An attachment's text, or why there is none. For threads, not for the event loop."""

from __future__ import annotations

import atexit
from dataclasses import replace
from functools import partial

from postroom.mime.clean import clean_line, cleaned
from postroom.mime.documents import images, kinds
from postroom.mime.documents.archive import SHEETS, SLIDES, WORD, Archive
from postroom.mime.documents.document import Document, NotReadable, Reading
from postroom.mime.documents.limits import MAX_BYTES, MAX_CHARS, MEMORY, SECONDS
from postroom.mime.documents.paragraphs import read_slides, read_word
from postroom.mime.documents.pdf import read_pdf
from postroom.mime.documents.sheets import read_sheets
from postroom.mime.limits import MAX_INLINE_HTML
from postroom.mime.processes.workers import BROKEN, Unreadable, Workers
from postroom.mime.read.charsets import charset_in_html, decode_text
from postroom.model.message import Body

_UNKNOWN = "This kind of file cannot be read as text. Save it with download_attachment."
_OLD = (
    "This is an old or encrypted Office document and cannot be read as text. Ask for it as docx, xlsx, pptx or PDF, "
    "without a password, or save it with download_attachment."
)
_CUT = "It has more parts, cells or markup than are read here: some text is missing. download_attachment saves it."
TOO_LARGE = Document(
    "file",
    notes=(f"It is larger than {MAX_BYTES // 10**6} MB and is not read here. Save it with download_attachment.",),
)
# Apart from those that read messages: an attachment that keeps one busy keeps nobody from reading mail.
workers = Workers(count=2, seconds=SECONDS, memory=MEMORY)
atexit.register(workers.close)


def is_readable(size: int) -> bool:
    return size <= MAX_BYTES


def read_document(content: bytes, filename: str, claimed: str, enough: int = MAX_CHARS) -> Document:
    """At least the first `enough` characters of its text, if it has that many. Small plain texts are read here,
    everything else by a process that is stopped when it takes too long."""
    if not is_readable(len(content)):
        return TOO_LARGE
    if len(content) <= MAX_INLINE_HTML and kinds.kind_of(content, filename, claimed) in (kinds.TEXT, kinds.CALENDAR):
        return _or_unreadable(partial(read, content, filename, claimed, enough))
    return _or_unreadable(partial(workers.call, read, content, filename, claimed, enough))


def _or_unreadable(call: partial[Document]) -> Document:
    try:
        return call()
    except Unreadable as reason:
        return Document("file", notes=(f"{reason} It can be saved with download_attachment.",))
    except Exception:  # noqa: BLE001 - whatever a stranger's file breaks
        return Document("file", notes=(f"{BROKEN} It can be saved with download_attachment.",))


def read(content: bytes, filename: str, claimed: str, enough: int) -> Document:
    """In a worker; every reason not to read it is part of the result."""
    kind = kinds.kind_of(content, filename, claimed)
    try:
        if images.type_of(content):
            return _image(content, kind)
        reading = _read_as(kind, content, min(enough, MAX_CHARS))
    except NotReadable as reason:
        return Document("file", kind, notes=(str(reason),))
    text, removed = cleaned(reading.text[: MAX_CHARS + 1])
    notes = (*reading.notes, *((f"Invisible characters removed: {removed}.",) if removed > 20 else ()))
    return Document("text", kind, text, tuple(map(clean_line, notes)), reading.is_whole and len(text) <= MAX_CHARS)


def _image(content: bytes, kind: str) -> Document:
    objection = images.objection_to(content)
    return Document("file", kind, notes=(objection,)) if objection else Document("image", kind)


def _read_as(kind: str, content: bytes, enough: int) -> Reading:
    if kind == kinds.OLD_OFFICE:
        raise NotReadable(_OLD)
    if kind == kinds.PDF:
        return read_pdf(content, enough)
    if kind in _OFFICE:
        return _office(kind, Archive(content), enough)
    if kind in _TEXTS:
        return _TEXTS[kind](content, enough)
    raise NotReadable(_UNKNOWN)


def _office(kind: str, archive: Archive, enough: int) -> Reading:
    reading = _OFFICE[kind](archive, enough)
    return replace(reading, notes=(*reading.notes, _CUT), is_whole=False) if archive.is_cut else reading


def _text(content: bytes, enough: int) -> Reading:
    """A character has at most four bytes; a cut in the middle of one costs that one only."""
    taken = content[: 4 * enough + 4]
    text = decode_text(taken, "utf-16" if taken.startswith((b"\xff\xfe", b"\xfe\xff")) else "")
    return Reading(text.removeprefix("\ufeff"), is_whole=len(taken) == len(content))


def _html(content: bytes, _enough: int) -> Reading:
    from postroom.mime.render import render

    source = decode_text(content[:MAX_CHARS], charset_in_html(content))
    shown = render(Body(html=source), fmt="markdown", keep_quoted=True)
    return Reading(shown.text, (*shown.warnings, *shown.defects), len(content) <= MAX_CHARS)


def _message(content: bytes, _enough: int) -> Reading:
    from postroom.mime.read.parse import parse
    from postroom.mime.render import render
    from postroom.mime.visible import named, visible_name

    mail = parse(content)
    shown = render(mail.body, fmt="markdown", keep_quoted=True)
    to = ", ".join(named(visible_name(address.name), address.email) for address in mail.to[:20])
    head = {
        "From": named(visible_name(mail.sender.name), mail.sender.email),
        "To": to,
        "Date": mail.date.isoformat(timespec="seconds") if mail.date else "",
        "Subject": mail.subject,
        "Attachments": ", ".join(f"{file.filename} ({file.size} bytes)" for file in mail.attachments[:50]),
    }
    lines = [f"{name}: {clean_line(value)}" for name, value in head.items() if value]
    return Reading("\n".join([*lines, "", shown.text]), (*mail.defects, *shown.warnings, *shown.defects))


def _calendar(content: bytes, _enough: int) -> Reading:
    from postroom.mime.calendar.summary import summary

    text, notes = summary(content)
    if not text:
        raise NotReadable(notes[0])
    return Reading(text, notes)


_OFFICE = {WORD: read_word, SHEETS: read_sheets, SLIDES: read_slides}
_TEXTS = {kinds.TEXT: _text, kinds.HTML: _html, kinds.MESSAGE: _message, kinds.CALENDAR: _calendar}
