"""Drafts are in Drafts and flagged as such; only those can be changed or deleted here."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from postroom.index import writing
from postroom.index.folders import find_folder, list_folders
from postroom.index.rows import envelopes
from postroom.index.search import search
from postroom.index.threads import current
from postroom.model.draft import CHANGED_MEANWHILE, SavedDraft
from postroom.model.errors import Conflict, NotFound, PermissionDenied
from postroom.model.folder import Role
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import And, In, Is, Query
from postroom.providers.local import contents
from postroom.providers.local.adding import add_one
from postroom.providers.local.convert import NewMail, Prepared, envelope_of, filed, prepare

_DRAFTS = Query(And((In(Role.DRAFTS), Is("draft"))))


def list_drafts(connection: sqlite3.Connection, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]:
    page = search(connection, _DRAFTS, limit=limit, offset=offset)
    items = tuple((_saved(envelope), envelope) for envelope in page.items)
    return Page(items, page.total, page.limit, page.offset, page.has_more)


def as_draft(raw: bytes) -> Prepared:
    return prepare(NewMail(raw, folder=Role.DRAFTS, flags=("read", "draft")))


def create_draft(connection: sqlite3.Connection, draft: Prepared, thread_ref: str) -> SavedDraft:
    ref = add_one(connection, draft, thread_ref=known_thread(connection, thread_ref))
    return _saved(envelope_of(connection, ref))


def update_draft(
    connection: sqlite3.Connection, ref: str, draft: Prepared, thread_ref: str, version: str = ""
) -> SavedDraft:
    """Old and new are swapped in one transaction; the ref stays, and so do thread, labels and star."""
    old = draft_envelope(connection, ref)
    if version not in ("", _saved(old).version):
        raise Conflict(CHANGED_MEANWHILE)
    place = find_folder(list_folders(connection), old.folder)
    thread = known_thread(connection, thread_ref) or old.thread_ref
    entry = filed(draft, ref, place, thread_ref=thread)
    kept = replace(entry.envelope, labels=old.labels, starred=old.starred)
    contents.exchange(connection, ref, draft.packed)
    writing.replace(connection, replace(entry, envelope=kept))
    return _saved(envelope_of(connection, ref))


def delete_draft(connection: sqlite3.Connection, ref: str) -> None:
    draft_envelope(connection, ref)
    writing.remove(connection, [ref])
    contents.discard(connection, ref)


def find_draft(connection: sqlite3.Connection, ref: str) -> SavedDraft:
    return _saved(draft_envelope(connection, ref))


def draft_envelope(connection: sqlite3.Connection, ref: str) -> Envelope:
    envelope = envelopes(connection, [ref])[0]
    if envelope is None:
        raise NotFound("This draft no longer exists: it was sent or deleted. Call list_drafts.", reason="draft_gone")
    if not envelope.draft:
        raise PermissionDenied(
            "This message is not a draft and cannot be changed or sent as one. Call list_drafts.", reason="not_a_draft"
        )
    if find_folder(list_folders(connection), envelope.folder).role is not Role.DRAFTS:
        raise NotFound(
            "This draft was moved out of Drafts. Move it back first. Call list_drafts to see what is there.",
            reason="not_a_draft",
        )
    return envelope


def known_thread(connection: sqlite3.Connection, thread_ref: str) -> str:
    """The thread, if there is one; else none, and the message's own headers decide."""
    found = connection.execute("SELECT 1 FROM mail WHERE thread = ?", (current(connection, thread_ref),)).fetchone()
    return thread_ref if found else ""


def _saved(envelope: Envelope) -> SavedDraft:
    return SavedDraft(envelope.ref, envelope.ref, envelope.thread_ref, version=envelope.message_id)
