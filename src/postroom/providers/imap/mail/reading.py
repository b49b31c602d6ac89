"""Envelopes, whole messages, single parts. Everything by PEEK: reading leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from postroom.mime.read.decode import decode_transfer
from postroom.mime.read.parse import extract_part, parse
from postroom.model.errors import NotFound
from postroom.model.message import Attachment, Body, Envelope, Message
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.mail import structure
from postroom.providers.imap.mail.convert import LINE, Line, as_bytes, envelope_of, read_line
from postroom.providers.imap.mail.refs import MailRef, gone, read_ref, uids_of
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.wire import Item
from postroom.providers.imap.session.wire import number as as_number

if TYPE_CHECKING:
    from postroom.mime.read.structure import Part

_SNIPPET, _SNIPPET_HTML = 2048, 12_288  # bytes: style elements come before the first visible word
_SNIPPET_LATE = 98_304
_LISTED = f"{LINE} BODY.PEEK[1]<0.{_SNIPPET}>"  # usually has the first words: no second fetch
_AT_ONCE = 64 * 1024  # bytes of a message that come with its envelope: all of most messages
_WHOLE = 256 * 1024  # up to here one fetch of everything is cheaper than two of parts


def envelopes(session: Session, folder: str, name: str, refs: Sequence[MailRef]) -> dict[str, Envelope]:
    """By ref; messages that are gone are absent. `name` is the folder's display name."""
    try:
        opened = session.open(folder)
    except NotFound:
        return {}
    found = rows(session, folder, name, opened.validity, uids_of(refs, opened.validity))
    return {row.ref: row for row in found.values()}


def rows(session: Session, folder: str, name: str, validity: int, uids: Iterable[int]) -> dict[int, Envelope]:
    """By UID, of the open folder; messages that are gone are absent."""
    dialect = flavour_of(session)
    items = session.fetch(uids, f"{_LISTED} {dialect.label_item}".rstrip())
    lines = [
        read_line(MailRef(folder, validity, uid), item, dialect.read_labels(session, item, name))
        for uid, item in items.items()
    ]
    lines = [line for line in lines if not line.is_deleted]
    snippets = _snippets(session, lines, items)
    return {line.ref.uid: envelope_of(line, name, snippets.get(line.ref.uid, "")) for line in lines}


def _snippets(session: Session, lines: Sequence[Line], items: Mapping[int, Item]) -> dict[int, str]:
    """The first words of each: already fetched, or by one fetch for all messages with them in the same part."""
    from postroom.mime.guarded import snippet
    from postroom.mime.quotes.folding import context_of

    found: dict[int, str] = {}
    contexts = {line.ref.uid: context_of(line.parsed) for line in lines}
    places: dict[tuple[str, int], list[tuple[int, Part]]] = {}
    for line in lines:
        uid, part = line.ref.uid, structure.first_text(line.structure)
        if part is None:
            continue
        length = _SNIPPET if part.content.value == "text/plain" else _SNIPPET_HTML
        if (part.number, length) == ("1", _SNIPPET):
            found[uid] = snippet(_decoded(part, as_bytes(items[uid].get("BODY[1]"))), contexts[uid])
        else:
            places.setdefault((part.number, length), []).append((uid, part))
    for (number, length), parts in places.items():
        beginnings = _beginnings(session, number, length, parts)
        found.update({uid: snippet(_decoded(part, beginnings[uid]), contexts[uid]) for uid, part in parts})
        # A page whose style elements alone are longer than that: one more fetch, of more of it.
        late = [(uid, part) for uid, part in parts if not found[uid] and len(beginnings[uid]) >= _SNIPPET_HTML]
        if late:
            longer = _beginnings(session, number, _SNIPPET_LATE, late)
            found.update({uid: snippet(_decoded(part, longer[uid]), contexts[uid]) for uid, part in late})
    return found


def _beginnings(session: Session, number: str, length: int, parts: Sequence[tuple[int, Part]]) -> dict[int, bytes]:
    items = session.fetch([uid for uid, _ in parts], f"UID BODY.PEEK[{number}]<0.{length}>")
    return {uid: as_bytes(items.get(uid, {}).get(f"BODY[{number}]")) for uid, _ in parts}


def _decoded(part: Part, content: bytes) -> Body:
    """The beginning of a part, read as a message of its own."""
    named = {name: part.content.get(name) for name in ("charset", "format", "delsp")}
    parameters = "".join(f'; {name}="{value}"' for name, value in named.items() if value)
    head = f"Content-Type: {part.content.value}{parameters}\r\nContent-Transfer-Encoding: {part.encoding}\r\n\r\n"
    return parse(head.encode("utf-8", "replace") + content).body


@dataclass(frozen=True, slots=True)
class Fetched:
    """A message as received, not yet parsed."""

    line: Line
    raw: bytes
    is_whole: bool  # or without its attachments' content


def fetch(session: Session, ref: str, name: str) -> Fetched:
    found = _there(session, ref)
    fetched = _fetched(session, [found], name)
    if not fetched:
        raise gone()
    return fetched[0]


def fetch_all(session: Session, folder: str, refs: Sequence[MailRef], name: str) -> list[Fetched]:
    """Messages of one folder; those that are gone are left out."""
    try:
        validity = session.open(folder).validity
    except NotFound:
        return []
    return _fetched(session, [ref for ref in refs if ref.validity == validity], name)


def _fetched(session: Session, refs: Sequence[MailRef], name: str) -> list[Fetched]:
    """Each message's envelope and beginning, fetched with one command for all, in the open folder."""
    dialect = flavour_of(session)
    by_uid = {ref.uid: ref for ref in refs}
    items = session.fetch(sorted(by_uid), f"{LINE} BODY.PEEK[]<0.{_AT_ONCE}> {dialect.label_item}".rstrip())
    begun = [
        (read_line(by_uid[uid], item, dialect.read_labels(session, item, name)), as_bytes(item.get("BODY[]")))
        for uid, item in items.items()
    ]
    return [_completed(session, line, beginning) for line, beginning in begun if not line.is_deleted]


def _completed(session: Session, line: Line, beginning: bytes) -> Fetched:
    if len(beginning) < _AT_ONCE or line.size <= _WHOLE:
        return Fetched(line, _rest(session, line, beginning), is_whole=True)
    abridged = without_attachments(session, line.ref.uid, line.structure)
    if structure.is_told(line.structure, line.size, abridged):
        return Fetched(line, abridged, is_whole=False)
    return Fetched(line, _raw(session, line.ref.uid), is_whole=True)


def opened(fetched: Fetched, name: str) -> Message:
    """Parsing may take a while, and needs no connection."""
    from postroom.mime import guarded
    from postroom.mime.quotes.folding import context_of

    parsed, line = guarded.parse(fetched.raw), fetched.line
    snippet = guarded.snippet(parsed.body, context_of(parsed))
    envelope = envelope_of(replace(line, parsed=parsed), name, snippet)
    listed = parsed.attachments if fetched.is_whole else _sized(parsed.attachments, line.structure)
    return Message(envelope, parsed.body, listed, parsed.headers, parsed.defects)


def _rest(session: Session, line: Line, beginning: bytes) -> bytes:
    return beginning if len(beginning) < _AT_ONCE else _raw(session, line.ref.uid)


def without_attachments(session: Session, uid: int, root: Part) -> bytes:
    item = _one(session, uid, "UID " + " ".join(structure.skeleton_items(root)))
    return structure.assemble(root, lambda section: as_bytes(item.get(f"BODY[{section}]")))


def _sized(listed: Sequence[Attachment], root: Part) -> tuple[Attachment, ...]:
    sizes = {attachment.part: attachment.size for attachment in structure.attachments(root)}
    return tuple(replace(attachment, size=sizes.get(attachment.part, attachment.size)) for attachment in listed)


def fetch_raw(session: Session, ref: str) -> bytes:
    return _raw(session, _there(session, ref).uid)


def fetch_part(session: Session, ref: str, number: str) -> bytes:
    """Only that part is downloaded, of a message whose parts the server numbered. Those of others were numbered by
    `parse`: a server may take a damaged message apart in another way (Courier 5.0 takes `B2` for the boundary `B`)."""
    uid = _there(session, ref).uid
    item = _one(session, uid, "UID RFC822.SIZE BODYSTRUCTURE")
    if as_number(item.get("RFC822.SIZE")) <= _WHOLE:
        return extract_part(_raw(session, uid), number)
    part = structure.find_part(structure.read_structure(item.get("BODYSTRUCTURE")), number)
    if part is None:  # not known to the server
        return extract_part(_raw(session, uid), number)
    content = as_bytes(_one(session, uid, f"UID BODY.PEEK[{number}]").get(f"BODY[{number}]"))
    return decode_transfer(content, part.encoding)


def structure_of(session: Session, uid: int) -> Part:
    return structure.read_structure(_one(session, uid, "UID BODYSTRUCTURE").get("BODYSTRUCTURE"))


def _there(session: Session, ref: str) -> MailRef:
    """The ref, with its folder open and its UIDVALIDITY current."""
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
