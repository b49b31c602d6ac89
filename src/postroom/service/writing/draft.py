"""Drafts: written, listed, changed, thrown away. Nothing here can send."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from postroom.mime.clean import clean_line
from postroom.mime.read import parse
from postroom.mime.write import compose, reply
from postroom.model.draft import CHANGED_MEANWHILE, Draft, File, SavedDraft
from postroom.model.errors import Conflict, NotFound, PermissionDenied, PostroomError, ProviderError
from postroom.model.folder import Role
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.service.accounts.folders import folders_of
from postroom.service.draft_locks import check_unlocked, unchanging
from postroom.service.gateway import Account, Gateway
from postroom.service.ids.handles import BY_HANDLE
from postroom.service.organising import organise
from postroom.service.organising.places import Places
from postroom.service.presenting import first_of, locate, shown_addresses, shown_date
from postroom.service.reading.search import check_page
from postroom.service.views import DraftPage, DraftView, ErrorView
from postroom.service.writing import composing
from postroom.service.writing.composing import DraftRequest, ForwardRequest, ReplyRequest
from postroom.service.writing.files import attached_files
from postroom.service.writing.signatures import signed
from postroom.service.writing.wholeness import check_whole

if TYPE_CHECKING:
    from postroom.providers.protocol import RawAccess

_PEOPLE = ("to", "cc", "bcc")


@dataclass(frozen=True, slots=True)
class DraftChanges:
    """What update_draft may change; None keeps what is there."""

    to: tuple[str, ...] | None = None
    cc: tuple[str, ...] | None = None
    bcc: tuple[str, ...] | None = None
    subject: str | None = None
    body: str | None = None
    body_html: str | None = None
    attachments: tuple[str, ...] | None = None  # replaces the files
    importance: str | None = None
    identity: str | None = None


async def list_drafts(gateway: Gateway, *, account: str | None = None, limit: int = 20, offset: int = 0) -> DraftPage:
    check_page(limit, offset)
    opened = await gateway.accounts.open(account)
    page = await opened.drafts.list_drafts(limit=limit, offset=offset)
    results = [await _view(gateway, opened, saved, envelope) for saved, envelope in page.items]
    return DraftPage(tuple(results), page.total, limit, offset, page.has_more)


async def create_draft(gateway: Gateway, request: DraftRequest, *, account: str | None = None) -> DraftView:
    checked = composing.checked(request)
    if _is_logged_only(gateway):  # before the account is opened: the provider hears nothing of it
        return _unsaved(gateway, gateway.accounts.named(account).name, checked)
    opened = await gateway.accounts.open(account)
    return await _save(gateway, opened, await composing.new_mail(gateway, opened, request))


async def draft_reply(
    gateway: Gateway, email_id: str, request: ReplyRequest, *, account: str | None = None
) -> DraftView:
    opened, ref = await locate(gateway, email_id, account)
    original = await composing.fetch_original(opened, ref, email_id)
    return await _save(gateway, opened, await composing.reply_to(gateway, opened, original, request))


async def draft_forward(
    gateway: Gateway, email_id: str, request: ForwardRequest, *, account: str | None = None
) -> DraftView:
    opened, ref = await locate(gateway, email_id, account)
    original = await composing.fetch_original(opened, ref, email_id)
    return await _save(gateway, opened, await composing.forward_of(gateway, opened, original, request))


async def update_draft(
    gateway: Gateway, draft_id: str, changes: DraftChanges, *, account: str | None = None
) -> DraftView:
    """Only what `changes` names; recipients, thread, files and the rest stay as they are. Of two calls at once the
    second changes what the first has made."""
    async with gateway.one_at_a_time(f"draft {draft_id.casefold()}"):
        opened, saved = await find_draft(gateway, draft_id, account)
        await check_unlocked(gateway, opened.name, saved.ref, f"The draft {draft_id}")
        replaced = [field for field in _PEOPLE if getattr(changes, field) is not None]
        draft = await _changed(gateway, opened, await load_draft(opened, saved, replaced), changes)
        if _is_logged_only(gateway):
            return _unsaved(gateway, opened.name, draft)
        return await _put_in_place(gateway, opened, draft_id, saved, draft)


async def replace_draft(
    gateway: Gateway, draft_id: str, request: DraftRequest, *, account: str | None = None
) -> DraftView:
    """A new message in place of an old draft. It stays in the same thread, unless it answers another message, and keeps
    the files that somebody attached, unless it has its own. Of two calls at once the second comes after the first."""
    async with gateway.one_at_a_time(f"draft {draft_id.casefold()}"):
        opened, saved = await find_draft(gateway, draft_id, account)
        await check_unlocked(gateway, opened.name, saved.ref, f"The draft {draft_id}")
        draft = await composing.new_mail(gateway, opened, request)
        old = await load_draft(opened, saved, _PEOPLE)
        if not request.in_reply_to:
            draft = replace(draft, threading=old.threading)
        if not draft.files:
            draft = replace(draft, files=old.files, forwarded=old.forwarded)
        if _is_logged_only(gateway):
            return _unsaved(gateway, opened.name, draft)
        return await _put_in_place(gateway, opened, draft_id, saved, draft)


async def _put_in_place(
    gateway: Gateway, account: Account, draft_id: str, saved: SavedDraft, draft: Draft
) -> DraftView:
    raw = await gateway.in_thread(compose.compose, draft, date=gateway.now(), keep_bcc=True)
    thread_ref = draft.threading.thread_ref or saved.thread_ref
    async with unchanging(gateway, account.name, saved.ref, f"The draft {draft_id}"):
        await check_unlocked(gateway, account.name, saved.ref, f"The draft {draft_id}")  # again: it may be sent by now
        await _require_unchanged(account, saved)
        with anyio.CancelScope(shield=True):  # a caller who hangs up leaves neither both versions nor the old one's id
            new = await account.drafts.update_draft(saved.ref, raw, thread_ref=thread_ref, version=saved.version)
            await gateway.in_thread(_follow, gateway, account.name, saved, new)
    return await _view_saved(gateway, account, new)


async def _require_unchanged(account: Account, saved: SavedDraft) -> None:
    """Where a changed draft keeps its ref, what another program saved since it was read would be overwritten."""
    if saved.version and (await account.drafts.find_draft(saved.ref)).version != saved.version:
        raise Conflict(CHANGED_MEANWHILE)


async def delete_draft(gateway: Gateway, draft_id: str, *, account: str | None = None) -> str:
    """To the trash; returns the operation that `undo` takes. Where there is no trash it is gone, and that is empty."""
    opened, saved = await find_draft(gateway, draft_id, account)
    named = f"The draft {draft_id}"
    await check_unlocked(gateway, opened.name, saved.ref, named)
    if Places(await folders_of(opened)).with_role(Role.TRASH) is not None:
        return await _moved_to_trash(gateway, opened, draft_id, saved)
    async with unchanging(gateway, opened.name, saved.ref, named):
        await check_unlocked(gateway, opened.name, saved.ref, named)  # again: it may be sent by now
        await opened.drafts.delete_draft(saved.ref)
    return ""


async def _moved_to_trash(gateway: Gateway, opened: Account, draft_id: str, saved: SavedDraft) -> str:
    (email_id,) = await gateway.in_thread(gateway.store.handles.issue, Kind.EMAIL, opened.name, [saved.message_ref])
    view = await organise.delete(gateway, [email_id], ids=BY_HANDLE)
    if (error := view.results[0].error) is not None:
        await check_unlocked(gateway, opened.name, saved.ref, f"The draft {draft_id}")
        raise _not_deleted(draft_id, error)
    return view.operation_id


async def try_draft(gateway: Gateway, request: DraftRequest, *, account: str | None = None) -> bool:
    """Saved as by `create_draft` and deleted for good, also where it gets no id: nobody wrote it. False: none is saved
    here."""
    if _is_logged_only(gateway):
        return False
    opened = await gateway.accounts.open(account)
    saved = await _saved(gateway, opened, await composing.new_mail(gateway, opened, request))
    try:
        await _view_saved(gateway, opened, saved)
    finally:
        await opened.drafts.delete_draft(saved.ref)
    return True


async def find_draft(gateway: Gateway, draft_id: str, account: str | None) -> tuple[Account, SavedDraft]:
    opened, ref = await locate(gateway, draft_id, account, Kind.DRAFT)
    try:
        return opened, await opened.drafts.find_draft(ref)
    except NotFound:
        raise draft_gone(draft_id) from None


def draft_gone(draft_id: str) -> NotFound:
    return NotFound(
        f"The draft {draft_id} is gone: it was sent or deleted. Call list_drafts.",
        reason="draft_gone",
        details={"draft_id": draft_id, "id": draft_id},
    )


def _not_deleted(draft_id: str, error: ErrorView) -> PostroomError:
    if error.code == NotFound.code:
        return draft_gone(draft_id)
    if error.code == Conflict.code:
        return Conflict(error.message, details=error.details, retry_after=error.retry_after)
    if error.code == PermissionDenied.code:
        needed = "Moving it to the trash needs the rights of the toolset organise, which this login may lack."
        return PermissionDenied(f"The draft {draft_id} is still there. {needed} {error.message}")
    return ProviderError(f"The draft {draft_id} could not be moved to the trash. {error.message}")


async def load_draft(account: Account, saved: SavedDraft, replaced: Collection[str] = ()) -> Draft:
    """Read a saved draft back, files and threading included: from the server, since it may be sent as it is read.
    InvalidRequest where something would be lost, other than the recipients that are `replaced`."""
    if not account.capabilities.has_raw:
        message = await account.at_server.fetch(saved.message_ref)
        check_whole(message, replaced)
        return reply.draft_from(message, await attached_files(account, message))
    raw = await cast("RawAccess", account.at_server).fetch_raw(saved.message_ref)
    return await anyio.to_thread.run_sync(_read_back, raw, replaced)


async def load_own_draft(account: Account, saved: SavedDraft) -> Draft:
    """As it would be sent: only as one of the account's identities."""
    draft = await load_draft(account, saved)
    identity = await composing.find_identity(account, draft.sender.email)
    return draft if draft.sender.email else replace(draft, sender=identity.address)


def _read_back(raw: bytes, replaced: Collection[str]) -> Draft:
    parsed = parse.parse(raw)
    check_whole(parsed, replaced)
    files = tuple(
        File(part.filename, part.mime_type, parse.extract_part(raw, part.part), part.inline, part.content_id)
        for part in parsed.attachments
    )
    return reply.draft_from(parsed, files)


async def _changed(gateway: Gateway, account: Account, draft: Draft, changes: DraftChanges) -> Draft:
    """Through the same door as a new message, so that the same checks hold."""
    request = DraftRequest(
        to=_texts(changes.to),
        cc=_texts(changes.cc),
        bcc=_texts(changes.bcc),
        subject=changes.subject or "",
        body=changes.body or "",
        body_html=changes.body_html or "",
        attachments=_texts(changes.attachments),
        importance=changes.importance or "normal",
        identity=changes.identity or "",
    )
    kept = draft.files if changes.attachments is None else ()
    fresh = await composing.new_mail(gateway, account, replace(request, signature=False), kept)
    taken = {
        "to": changes.to,
        "cc": changes.cc,
        "bcc": changes.bcc,
        "subject": changes.subject,
        "text": changes.body,
        "html": changes.body_html,
        "files": changes.body_html if changes.attachments is None else changes.attachments,  # it may show them
        "importance": changes.importance,
        "sender": changes.identity if draft.sender.email else "",  # one without a sender gets the usual one
    }
    changed = replace(draft, **{name: getattr(fresh, name) for name, value in taken.items() if value is not None})
    if changes.body is not None and changes.body_html is None:
        changed = replace(changed, html="")  # an old HTML version beside a new text would contradict it
    elif changes.body_html is not None and changes.body is None:
        changed = replace(changed, text=await _text_beside(gateway, draft, changes.body_html))
    return await _signed_where_new(gateway, account, changed, changes)


async def _text_beside(gateway: Gateway, old: Draft, html: str) -> str:
    """None beside a new HTML version: it would contradict it, and one is made. The words stay where that is removed."""
    if html or old.text:
        return "" if html else old.text
    return await gateway.read(compose.plain_reading, old.html)


async def _signed_where_new(gateway: Gateway, account: Account, draft: Draft, changes: DraftChanges) -> Draft:
    """New words get the signature of whom the draft is from; words that stay were signed, or left unsigned, before."""
    own = {identity.address.key: identity for identity in await account.identities.get()}
    identity = own.get(draft.sender.key)
    if identity is None or (changes.body is None and changes.body_html is None):
        return draft
    text, html = await signed(gateway, account, identity, draft.text, draft.html)
    return replace(
        draft,
        text=draft.text if changes.body is None else text,
        html=draft.html if changes.body_html is None else html,
    )


def _texts(given: tuple[str, ...] | None) -> tuple[str, ...]:
    return given or ()


async def _save(gateway: Gateway, account: Account, draft: Draft) -> DraftView:
    if _is_logged_only(gateway):
        return _unsaved(gateway, account.name, draft)
    return await _view_saved(gateway, account, await _saved(gateway, account, draft))


async def _saved(gateway: Gateway, account: Account, draft: Draft) -> SavedDraft:
    raw = await gateway.in_thread(compose.compose, draft, date=gateway.now(), keep_bcc=True)
    return await account.drafts.create_draft(raw, thread_ref=draft.threading.thread_ref)


def _is_logged_only(gateway: Gateway) -> bool:
    return gateway.settings.safety.dev_mode and gateway.settings.traits.dev_mode_covers_drafts


def _unsaved(gateway: Gateway, account: str, draft: Draft) -> DraftView:
    """What would have been saved, without an id."""
    return DraftView(
        draft_id="",
        email_id="",
        thread_id="",
        account=account,
        to=first_of(shown_addresses(draft.to)),
        cc=first_of(shown_addresses(draft.cc)),
        bcc=first_of(shown_addresses(draft.bcc)),
        subject=clean_line(draft.subject),
        date=gateway.shown_time(gateway.now()),
        has_attachments=bool(draft.files),
    )


async def _view_saved(gateway: Gateway, account: Account, saved: SavedDraft) -> DraftView:
    envelope = (await account.mailbox.envelopes([saved.message_ref]))[0]
    if envelope is None:
        raise NotFound("The draft disappeared right after it was saved: another program removed it. Save it again.")
    return await _view(gateway, account, saved, envelope)


def _follow(gateway: Gateway, account: str, old: SavedDraft, new: SavedDraft) -> None:
    """Handles of a draft and of the message inside it survive an update."""
    if new.ref != old.ref:
        gateway.store.handles.rename(Kind.DRAFT, account, {old.ref: new.ref})
    if new.message_ref != old.message_ref:
        gateway.store.handles.rename(Kind.EMAIL, account, {old.message_ref: new.message_ref})


async def _view(gateway: Gateway, account: Account, saved: SavedDraft, envelope: Envelope) -> DraftView:
    draft_id, email_id, thread_id = await gateway.ids.show_draft(gateway, account.name, saved)
    return DraftView(
        draft_id=draft_id,
        email_id=email_id,
        thread_id=thread_id,
        account=account.name,
        to=first_of(shown_addresses(envelope.to)),
        cc=first_of(shown_addresses(envelope.cc)),
        bcc=first_of(shown_addresses(envelope.bcc)),
        subject=clean_line(envelope.subject),
        date=shown_date(gateway, envelope),
        snippet=clean_line(envelope.snippet),
        has_attachments=envelope.has_attachments,
    )
