"""The folders of a mailbox: listed once, cached for a minute, listed again when something is missing."""

from __future__ import annotations

import time

from postroom.model.errors import NotFound
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.query.tree import In, Node, Query
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.folders.listing import folder_with, list_folders
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.pool import Pool
from postroom.providers.querying.bounds import FALSE, TRUE, within

_KEPT = 60.0  # seconds: a folder created elsewhere is searched after a minute, and at once when it is named


class Directory:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._folders: list[Folder] = []
        self._collections = frozenset[Role]()
        self._listed_at: float | None = None

    async def counted(self) -> list[Folder]:
        """Fresh from the server, with the number of messages in each."""
        return self._kept(*await self._pool.run("", _listed, counted=True))

    async def known(self) -> list[Folder]:
        if self._listed_at is None or time.monotonic() - self._listed_at > _KEPT:
            return self._kept(*await self._pool.run("", _listed, counted=False))
        return self._folders

    async def sources(self) -> list[Folder]:
        """Where messages are filed. One that contains all comes last: a message is found elsewhere first."""
        at_home = [folder for folder in await self.known() if folder.role not in self._collections]
        return sorted(at_home, key=lambda folder: folder.role == Role.ALL)

    def forget(self) -> None:
        self._listed_at = None

    async def name_of(self, ref: str) -> str:
        return next((folder.name for folder in await self.known() if folder.ref == ref), ref)

    async def with_role(self, role: Role) -> Folder:
        try:
            return folder_with(await self.known(), role)
        except NotFound:
            self.forget()
            return folder_with(await self.known(), role)

    async def require(self, ref: str) -> None:
        """NotFound unless there is a folder with exactly this ref."""
        if not any(folder.ref == ref for folder in await self.known()):
            self.forget()
            if not any(folder.ref == ref for folder in await self.known()):
                raise _unknown(ref)

    async def places(self, query: Query) -> list[tuple[Folder, Node]]:
        """The folders that may have matches, each with what remains of the query there."""
        named = await self._named(query)
        folders = {folder.ref: folder for folder in [*await self.sources(), *named.values()]}
        places = []
        for folder in folders.values():
            here = {name: found.ref == folder.ref for name, found in named.items()}
            node = within(query.node or TRUE, here.__getitem__)
            if node != FALSE and _is_searched(folder, here, query.anywhere):
                places.append((folder, node))
        return places

    async def _named(self, query: Query) -> dict[str, Folder]:
        names = {leaf.folder for leaf in query.leaves() if isinstance(leaf, In)}
        known = await self.known()
        if any(match_folder(known, name) is None for name in names):
            self.forget()
            known = await self.known()
        return {name: _matched(known, name) for name in names}

    def _kept(self, folders: list[Folder], collections: frozenset[Role]) -> list[Folder]:
        self._folders, self._collections, self._listed_at = folders, collections, time.monotonic()
        return folders


def _listed(session: Session, *, counted: bool) -> tuple[list[Folder], frozenset[Role]]:
    return list_folders(session, counted=counted), flavour_of(session).collections


def _is_searched(folder: Folder, named_here: dict[str, bool], anywhere: bool) -> bool:
    """Trash and Junk only when asked for; a folder of all messages not where the query excludes some by folder."""
    if folder.role == Role.ALL and named_here:
        return any(named_here.values())
    return anywhere or bool(named_here) or folder.role not in (Role.TRASH, Role.JUNK)


def _matched(known: list[Folder], name: str) -> Folder:
    found = match_folder(known, name)
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: str) -> NotFound:
    return NotFound(
        "There is no such folder. Call list_folders to see the folders.",
        reason="folder_unknown",
        details={"folder": name[:100]},
    )
