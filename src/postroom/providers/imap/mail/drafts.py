"""Drafts: messages in Drafts. An update appends the new version first and then removes only the old UID."""

from __future__ import annotations

from postroom.mime.read.parse import parse_headers
from postroom.model.draft import SavedDraft
from postroom.model.errors import NotFound, PermissionDenied, ProviderError
from postroom.model.message import Envelope
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.mail.convert import as_bytes, read_flags, thread_ref_of
from postroom.providers.imap.mail.organising import newest_with_id, remove
from postroom.providers.imap.mail.refs import MailRef, gone, read_ref
from postroom.providers.imap.session.client import Session

_FLAGS = ("\\Draft", "\\Seen")


def saved(envelope: Envelope) -> SavedDraft:
    return SavedDraft(envelope.ref, envelope.ref, envelope.thread_ref)


def append(session: Session, folder: str, raw: bytes, flags: tuple[str, ...] = _FLAGS) -> SavedDraft:
    """The new message, wherever the server put it."""
    parsed = parse_headers(raw)
    told = _appended(session, folder, raw, flags)
    if told is not None:
        ref: MailRef | None = MailRef(folder, *told)
    else:
        ref = newest_with_id(session, folder, parsed.message_id) if parsed.message_id else None
    if ref is None:
        raise ProviderError("The mail server saved the message but did not report where. List the folder to find it.")
    return SavedDraft(str(ref), str(ref), thread_ref_of(parsed, ref))


def _appended(session: Session, folder: str, raw: bytes, flags: tuple[str, ...]) -> tuple[int, int] | None:
    """Courier does not append to a folder that the connection has open for reading; a refused message is not stored."""
    try:
        return session.append(folder, raw, flags)
    except ProviderError:
        opened = session.opened
        if opened is None or opened.folder != folder or opened.writable:
            raise
    session.open(folder, write=True)
    return session.append(folder, raw, flags)


def find(session: Session, folder: str, draft_ref: str) -> SavedDraft:
    """NotFound when it is gone, PermissionDenied when it is elsewhere."""
    ref = _in_drafts(draft_ref, folder)
    opened = session.open(folder)
    fields = "UID FLAGS BODY.PEEK[HEADER.FIELDS (MESSAGE-ID IN-REPLY-TO REFERENCES)]"
    item = session.fetch([ref.uid], fields).get(ref.uid) if opened.validity == ref.validity else None
    if item is None or "\\deleted" in (flag.lower() for flag in read_flags(item)):
        raise gone()
    return SavedDraft(str(ref), str(ref), thread_ref_of(parse_headers(as_bytes(item.get("HEADERS"))), ref))


def discard(session: Session, folder: str, draft_ref: str, trash: str) -> None:
    """Removing what is already removed is fine: the caller has checked before."""
    ref = _in_drafts(draft_ref, folder)
    if session.open(folder, write=True).validity != ref.validity:
        return
    if trash and flavour_of(session).keeps_removed:
        session.move([ref.uid], trash)
    else:
        remove(session, [ref.uid])


def _in_drafts(draft_ref: str, folder: str) -> MailRef:
    try:
        ref = read_ref(draft_ref)
    except NotFound:
        raise gone() from None
    if ref.folder != folder:
        raise PermissionDenied(
            "This message is not a draft and cannot be changed or sent as one. Call list_drafts.", reason="not_a_draft"
        )
    return ref
