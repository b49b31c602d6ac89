"""The folders of a mailbox: listed with their levels, cached for a minute, listed again when something is missing.

Roles come from Graph's well-known names, which are the same in every language.
"""

from __future__ import annotations

import time
import unicodedata
from dataclasses import replace
from functools import partial

import anyio

from postroom.model.errors import Conflict, NotFound, PostroomError
from postroom.model.folder import (
    Folder,
    RenamedFolder,
    Role,
    check_folder_name,
    check_level,
    check_renaming,
    match_folder,
    renamed_path,
    told_apart,
)
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.batch import Step
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, text
from postroom.providers.http.concurrency import all_of

WELL_KNOWN = {
    Role.INBOX: "inbox",
    Role.SENT: "sentitems",
    Role.DRAFTS: "drafts",
    Role.TRASH: "deleteditems",
    Role.JUNK: "junkemail",
    Role.ARCHIVE: "archive",
}
_KEPT = 60.0  # seconds
_FIELDS = "id,displayName,parentFolderId,childFolderCount,totalItemCount,unreadItemCount"
_SEARCH_FOLDER = "#microsoft.graph.mailSearchFolder"
_SLASH = "\u2215"  # a slash within a name, where / separates levels


class Directory:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._folders: list[Folder] = []
        self._roles: dict[str, Role] = {}
        self._listed_at: float | None = None
        self._unlisted: set[str] = set()
        self._lock = anyio.Lock()

    async def listed(self) -> list[Folder]:
        """Fresh from the service, with counts."""
        if not self._roles:
            await self.read_roles()
        found: dict[str, Folder] = {}
        parents = await self._level("/mailFolders", "", found)
        while parents:
            levels = await all_of([partial(self._below, one, found) for one in parents])
            parents = [folder for level in levels for folder in level]
        self._folders = sorted(told_apart(list(found.values())), key=lambda folder: folder.name.casefold())
        self._listed_at = time.monotonic()
        return self._folders

    async def read_roles(self) -> None:
        """A mailbox may lack some of these folders, the archive for one."""
        steps = [Step("GET", f"/mailFolders/{name}", {"$select": "id"}) for name in WELL_KNOWN.values()]
        found = await self._client.present(steps)
        self._roles = {text(one.get("id")): role for role, one in zip(WELL_KNOWN, found, strict=True) if one}

    async def ref_of(self, role: Role) -> str:
        """Without a listing; empty where the mailbox has no such folder."""
        if not self._roles:
            await self.read_roles()
        return next((ref for ref, known in self._roles.items() if known == role), "")

    async def known(self) -> list[Folder]:
        """Many callers that find nothing cached wait for one listing."""
        async with self._lock:
            if self._listed_at is None or time.monotonic() - self._listed_at > _KEPT:
                return await self.listed()
            return self._folders

    def forget(self) -> None:
        self._listed_at = None

    async def names(self, ids: set[str]) -> dict[str, str]:
        """Of the folders with these ids. One that is not listed (a hidden one) is called by its id."""
        found = {folder.ref: folder.name for folder in await self.known()}
        if new := ids - set(found) - self._unlisted:
            self.forget()
            found = {folder.ref: folder.name for folder in await self.known()}
            self._unlisted |= new - set(found)
        return {one: found.get(one, one) for one in ids}

    async def with_role(self, role: Role) -> Folder:
        found = next((folder for folder in await self.known() if folder.role == role), None)
        if found is None:
            raise NotFound(
                f"This account has no {role.value.title()} folder. Call list_folders to see the folders.",
                reason="folder_role_missing",
                details={"role": role.value},
            )
        return found

    async def find(self, wanted: str) -> Folder:
        """By ref, name or role."""
        found = match_folder(await self.known(), wanted)
        if found is None:
            self.forget()
            found = match_folder(await self.known(), wanted)
        if found is None:
            raise _unknown(wanted)
        return found

    async def require(self, ref: str) -> None:
        if not any(folder.ref == ref for folder in await self.known()):
            self.forget()
            if not any(folder.ref == ref for folder in await self.known()):
                raise _unknown(ref)

    async def create(self, name: str) -> Folder:
        levels = [unicodedata.normalize("NFC", level.strip()) for level in name.split("/")]
        check_folder_name("/".join(levels))
        there = {folder.name.casefold(): folder for folder in await self.listed()}
        if "/".join(levels).casefold() in there:
            raise Conflict("A folder with that name already exists.", reason="already_exists")
        parent: Folder | None = None
        for depth in range(1, len(levels) + 1):
            path = "/".join(levels[:depth])
            parent = there.get(path.casefold()) or await self._made(levels[depth - 1], path, parent)
        self.forget()
        assert parent is not None
        return parent

    async def delete(self, ref: str) -> None:
        """Only an empty one, and for good: Graph's own DELETE would put it into the deleted items."""
        if not wire.is_ref(ref):
            raise _gone()
        try:
            found = await self._client.get(wire.folder(ref), {"$select": _FIELDS})
            if self._roles.get(ref) or found.get("childFolderCount") or found.get("totalItemCount"):
                raise Conflict("The folder is not empty or is a system folder. Only empty folders can be removed.")
            await self._client.write("POST", wire.folder(ref, "permanentDelete"))
        except NotFound:
            raise _gone() from None
        finally:
            self.forget()

    async def rename(self, ref: str, level: str) -> RenamedFolder:
        level = check_level(level)
        folders = await self.listed()
        folder = next((one for one in folders if one.ref == ref), None)
        if folder is None:
            raise _gone()
        check_renaming(folders, folder, level)
        try:
            await self._client.write("PATCH", wire.folder(ref), {"displayName": level})
        except NotFound:
            raise _gone() from None
        finally:
            self.forget()
        return RenamedFolder(replace(folder, name=renamed_path(folder.name, level)))

    async def _made(self, name: str, path: str, parent: Folder | None) -> Folder:
        place = wire.folder(parent.ref, "childFolders") if parent else "/mailFolders"
        made = await self._client.write("POST", place, {"displayName": name})
        return Folder(text(made.get("id")), path, None, 0, 0)

    async def _level(self, path: str, above: str, found: dict[str, Folder]) -> list[Folder]:
        """Adds one level to `found`, each folder once; those of it that have folders in them."""
        params = {"$top": str(wire.PER_PAGE), "$select": _FIELDS}
        parents: list[Folder] = []
        async for page in self._client.pages(path, params):
            for one in page:
                folder = self._folder(one, above)
                if one.get(wire.TYPE) == _SEARCH_FOLDER or folder.ref in found:
                    continue
                found[folder.ref] = folder
                parents += [folder] if one.get("childFolderCount") else []
        return parents

    async def _below(self, folder: Folder, found: dict[str, Folder]) -> list[Folder]:
        try:
            return await self._level(wire.folder(folder.ref, "childFolders"), folder.name, found)
        except NotFound:
            return []  # removed while it was being listed

    def _folder(self, one: JSON, above: str) -> Folder:
        ref, name = text(one.get("id")), text(one.get("displayName")).replace("/", _SLASH)
        plain = Folder(ref, f"{above}/{name}" if above else name, self._roles.get(ref))
        total, unread = one.get("totalItemCount"), one.get("unreadItemCount")
        counts = [count if isinstance(count, int) else None for count in (total, unread)]
        return replace(plain, total=counts[0], unread=counts[1])


def _unknown(name: str) -> PostroomError:
    return NotFound(
        "There is no such folder. Call list_folders to see the folders.",
        reason="folder_unknown",
        details={"folder": name[:100]},
    )


def _gone() -> NotFound:
    return NotFound("This folder no longer exists. Call list_folders to see the folders.", reason="folder_unknown")
