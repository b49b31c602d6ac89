"""Lines of lists, whole mails, single parts. Everything by PEEK: reading leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from postroom.mime.decode import decode_transfer
from postroom.mime.parse import parse
from postroom.model.errors import NotFound
from postroom.model.message import Attachment, Body, Envelope, Message
from postroom.providers.imap import structure
from postroom.providers.imap.client import Session
from postroom.providers.imap.convert import LINE, Line, as_bytes, envelope_of, read_line
from postroom.providers.imap.refs import MailRef, gone, read_ref, uids_of
from postroom.providers.imap.wire import Item

if TYPE_CHECKING:
    from postroom.mime.structure import Part

_SNIPPET_BYTES = {"text/plain": 2048}
_SNIPPET_BYTES_HTML = 12_288  # style elements come before the first visible word
_WHOLE = 256 * 1024  # up to here one fetch of everything is cheaper than two of parts


def envelopes(session: Session, folder: str, name: str, refs: Sequence[MailRef]) -> dict[str, Envelope]:
    """By ref; mails that are gone are absent. `name` is what a person calls the folder."""
    try:
        opened = session.open(folder)
    except NotFound:
        return {}
    lines = read_lines(session, folder, opened.validity, uids_of(refs, opened.validity))
    snippets = _snippets(session, lines)
    return {str(line.ref): envelope_of(line, name, snippets.get(line.ref.uid, "")) for line in lines}


def read_lines(session: Session, folder: str, validity: int, uids: Iterable[int]) -> list[Line]:
    items = session.fetch(uids, LINE)
    lines = (read_line(MailRef(folder, validity, uid), item) for uid, item in items.items())
    return [line for line in lines if not line.is_deleted]


def _snippets(session: Session, lines: Sequence[Line]) -> dict[int, str]:
    """The first words of each, by one fetch per kind of place where they stand."""
    from postroom.mime.render import snippet

    places: dict[tuple[str, int], list[tuple[int, Part]]] = {}
    for line in lines:
        part = structure.first_text(line.structure)
        if part is not None:
            length = _SNIPPET_BYTES.get(part.content.value, _SNIPPET_BYTES_HTML)
            places.setdefault((part.number, length), []).append((line.ref.uid, part))
    found: dict[int, str] = {}
    for (number, length), parts in places.items():
        items = session.fetch([uid for uid, _ in parts], f"UID BODY.PEEK[{number}]<0.{length}>")
        for uid, part in parts:
            found[uid] = snippet(_decoded(part, as_bytes(items.get(uid, {}).get(f"BODY[{number}]"))))
    return found


def _decoded(part: Part, content: bytes) -> Body:
    """A beginning of a part, read as a mail of its own."""
    charset, flowed = part.content.get("charset"), part.content.get("format")
    parameters = "".join(f'; {name}="{value}"' for name, value in (("charset", charset), ("format", flowed)) if value)
    head = f"Content-Type: {part.content.value}{parameters}\r\nContent-Transfer-Encoding: {part.encoding}\r\n\r\n"
    return parse(head.encode("utf-8", "replace") + content).body


def fetch(session: Session, ref: str, name: str) -> Message:
    line = _line(session, ref)
    raw = _raw(session, line.ref.uid) if line.size <= _WHOLE else _without_attachments(session, line)
    parsed = parse(raw)
    from postroom.mime.render import snippet

    envelope = envelope_of(replace(line, parsed=parsed), name, snippet(parsed.body))
    listed = parsed.attachments if line.size <= _WHOLE else _sized(parsed.attachments, line.structure)
    return Message(envelope, parsed.body, listed, parsed.headers, parsed.defects)


def _without_attachments(session: Session, line: Line) -> bytes:
    uid, root = line.ref.uid, line.structure
    item = _one(session, uid, "UID " + " ".join(structure.skeleton_items(root)))
    return structure.assemble(root, lambda section: as_bytes(item.get(f"BODY[{section}]")))


def _sized(listed: Sequence[Attachment], root: Part) -> tuple[Attachment, ...]:
    sizes = {attachment.part: attachment.size for attachment in structure.attachments(root)}
    return tuple(replace(attachment, size=sizes.get(attachment.part, attachment.size)) for attachment in listed)


def fetch_raw(session: Session, ref: str) -> bytes:
    return _raw(session, _there(session, ref).uid)


def fetch_part(session: Session, ref: str, number: str) -> bytes:
    """Only that part travels."""
    uid = _there(session, ref).uid
    root = structure.read_structure(_one(session, uid, "UID BODYSTRUCTURE").get("BODYSTRUCTURE"))
    part = structure.find_part(root, number)
    if part is None:
        raise NotFound(
            "This email has no such attachment. Call list_attachments to see the ids of its attachments.",
            details={"attachment_id": number[:50]},
        )
    content = as_bytes(_one(session, uid, f"UID BODY.PEEK[{number}]").get(f"BODY[{number}]"))
    return decode_transfer(content, part.encoding)


def _line(session: Session, ref: str) -> Line:
    found = _there(session, ref)
    lines = read_lines(session, found.folder, found.validity, [found.uid])
    if not lines:
        raise gone()
    return lines[0]


def _there(session: Session, ref: str) -> MailRef:
    """The ref, its folder open and its UIDVALIDITY the present one."""
    found = read_ref(ref)
    try:
        opened = session.open(found.folder)
    except NotFound:
        raise gone() from None
    if opened.validity != found.validity:
        raise gone()
    return found


def _raw(session: Session, uid: int) -> bytes:
    return as_bytes(_one(session, uid, "UID BODY.PEEK[]").get("BODY[]"))


def _one(session: Session, uid: int, items: str) -> Item:
    found = session.fetch([uid], items).get(uid)
    if found is None:
        raise gone()
    return found
