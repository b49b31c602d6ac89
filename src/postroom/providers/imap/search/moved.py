"""The mailbox's verbs for finding a moved message again: what came into a folder since its next UID was noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.model.folder import Folder
from postroom.model.message import Envelope
from postroom.providers.imap.mail.refs import MailRef, read_ref
from postroom.providers.imap.search import threads
from postroom.providers.imap.session.client import Session

if TYPE_CHECKING:
    from postroom.providers.imap.folders.directory import Directory
    from postroom.providers.imap.session.pool import Pool


class MovedVerbs:
    """MovedLookup. A mark is the ref that the folder's next message gets."""

    _pool: Pool
    _directory: Directory

    async def folder_mark(self, folder_ref: str) -> str:
        return await self._pool.run("", _next_ref, folder_ref)

    async def came_since(self, folder_ref: str, mark: str, message_ids: Sequence[str]) -> list[Envelope]:
        known = await self._directory.known()
        folder = next((one for one in known if one.ref == folder_ref), None)
        if folder is None or not message_ids:
            return []
        return await self._pool.run(folder_ref, _came_since, folder, read_ref(mark), message_ids)


def _next_ref(session: Session, folder: str) -> str:
    if session.opened is not None and session.opened.folder == folder:
        session.deselect()  # servers tell of an open folder what this connection has seen of it
    status = session.status(folder, "UIDVALIDITY", "UIDNEXT")
    validity, number = status.get("UIDVALIDITY", 0), status.get("UIDNEXT", 0)
    return str(MailRef(folder, validity, number)) if validity and number else ""


def _came_since(session: Session, folder: Folder, first: MailRef, message_ids: Sequence[str]) -> list[Envelope]:
    found: list[Envelope] = []
    for start in range(0, len(message_ids), threads.MAX_IDS):
        found += threads.with_ids(session, folder, message_ids[start : start + threads.MAX_IDS], first.uid)
    return [row for row in found if read_ref(row.ref).validity == first.validity]
