"""The account's mailboxes as folders: listed once, cached for a minute, listed again when one is missing."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postroom.model.errors import Conflict, InvalidRequest, NotFound
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
from postroom.model.query.tree import In, Query
from postroom.model.role_names import role_by_name
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import is_id, set_error

_KEPT = 60.0  # seconds
_LISTED = ["id", "name", "parentId", "role", "totalEmails", "unreadEmails"]
_DEEPEST = 50
_MOST = 20_000  # folders
_ROLES = {role.value: role for role in Role}


class Directory:
    def __init__(self, client: JmapClient) -> None:
        self._client = client
        self._folders: list[Folder] = []
        self._listed_at: float | None = None

    async def counted(self) -> list[Folder]:
        """Fresh from the server."""
        try:
            rows = await self._got(None)
        except InvalidRequest as error:
            if error.details.get("type") != "requestTooLarge":
                raise
            rows = await self._got_in_parts()
        self._folders, self._listed_at = read_folders(rows), time.monotonic()
        return self._folders

    async def _got(self, ids: list[str] | None) -> Any:
        return (await self._client.read(("Mailbox/get", {"ids": ids, "properties": _LISTED})))[0].get("list")

    async def _got_in_parts(self) -> list[Any]:
        """A server may refuse to list more at once than it gives by id (RFC 8620, 5.1)."""
        ids: dict[str, None] = {}
        while len(ids) < _MOST:
            reply = (await self._client.read(("Mailbox/query", {"position": len(ids)})))[0]
            more = [ref for ref in reply.get("ids") or () if isinstance(ref, str) and ref not in ids]
            if not more:
                break
            ids.update(dict.fromkeys(more))
        size, wanted = (await self._client.session()).limits["maxObjectsInGet"], list(ids)
        parts = [await self._got(wanted[start : start + size]) for start in range(0, len(wanted), size)]
        return [row for part in parts for row in part or ()]

    async def known(self, *, having: set[str] | frozenset[str] = frozenset()) -> list[Folder]:
        """Listed again when it is old, or lacks one of these."""
        is_fresh = self._listed_at is not None and time.monotonic() - self._listed_at <= _KEPT
        if is_fresh and having <= {folder.ref for folder in self._folders}:
            return self._folders
        return await self.counted()

    def forget(self) -> None:
        self._listed_at = None

    async def with_role(self, role: Role) -> Folder:
        found = await self.role(role)
        if found is None:
            raise NotFound(
                f"This account has no {role.value.title()} folder. Call list_folders to see the folders.",
                reason="folder_role_missing",
                details={"role": role.value},
            )
        return found

    async def role(self, role: Role) -> Folder | None:
        for folders in (self.known, self.counted):
            found = next((folder for folder in await folders() if folder.role == role), None)
            if found is not None:
                return found
        return None

    async def require(self, refs: Sequence[str]) -> None:
        known = {folder.ref for folder in await self.known(having=set(refs))}
        for ref in refs:
            if ref not in known:
                raise _unknown(ref)

    async def named(self, query: Query) -> dict[str, Folder]:
        """The folders that a query names."""
        names = {leaf.folder for leaf in query.leaves() if isinstance(leaf, In)}
        known = await self.known()
        if any(match_folder(known, name) is None for name in names):
            known = await self.counted()
        found = {name: match_folder(known, name) for name in names}
        for name, folder in found.items():
            if folder is None:
                raise _unknown(name)
        return {name: folder for name, folder in found.items() if folder is not None}

    async def create(self, name: str) -> Folder:
        """With the parents that are missing, in one request."""
        levels = [unicodedata.normalize("NFC", level.strip()) for level in name.split("/")]
        check_folder_name("/".join(levels))
        there = {folder.name: folder for folder in await self.counted()}
        if _at(there, levels) is not None:
            raise _exists(name)
        wanted: dict[str, dict[str, Any]] = {}
        parent: str | None = None
        for depth, level in enumerate(levels, 1):
            found = _at(there, levels[:depth])
            if found is None:
                wanted[f"n{depth}"] = {"name": level, "parentId": parent, "isSubscribed": True}
            parent = found.ref if found else f"#n{depth}"
        return await self._created(wanted, "/".join(levels), f"n{len(levels)}")

    async def _created(self, wanted: dict[str, dict[str, Any]], name: str, last: str) -> Folder:
        self.forget()
        reply = (await self._client.write(("Mailbox/set", {"create": wanted})))[0]
        made = (reply.get("created") or {}).get(last)
        if isinstance(made, dict) and isinstance(made.get("id"), str):
            return Folder(made["id"], name, None, 0, 0)
        if name in {folder.name for folder in await self.counted()}:
            raise _exists(name)  # made by somebody else in the same moment
        refusals = (reply.get("notCreated") or {}).values()
        raise set_error(next(iter(refusals), None))

    async def delete(self, ref: str) -> None:
        """Only an empty one: the server itself keeps one with messages or folders in it."""
        folder = next((folder for folder in await self.counted() if folder.ref == ref), None)
        if folder is None:
            raise _gone()
        if folder.role is not None:
            raise Conflict("The folder is not empty or is a system folder. Only empty folders can be removed.")
        self.forget()
        destroy = {"destroy": [ref], "onDestroyRemoveEmails": False}
        reply = (await self._client.write(("Mailbox/set", destroy)))[0]
        if ref not in (reply.get("destroyed") or ()):
            error = set_error((reply.get("notDestroyed") or {}).get(ref))
            raise _gone() if isinstance(error, NotFound) else error

    async def rename(self, ref: str, level: str) -> RenamedFolder:
        level = check_level(level)
        folders = await self.counted()
        folder = next((folder for folder in folders if folder.ref == ref), None)
        if folder is None:
            raise _gone()
        check_renaming(folders, folder, level)
        self.forget()
        reply = (await self._client.write(("Mailbox/set", {"update": {ref: {"name": level}}})))[0]
        if ref not in (reply.get("updated") or ()):
            error = set_error((reply.get("notUpdated") or {}).get(ref))
            raise _gone() if isinstance(error, NotFound) else error
        return RenamedFolder(replace(folder, name=renamed_path(folder.name, level)))


def read_folders(listed: Any) -> list[Folder]:
    rows = {row["id"]: row for row in listed or () if isinstance(row, dict) and is_id(str(row.get("id", "")))}
    folders = [_folder(row, rows) for row in rows.values()]
    folders = _with_named_roles(told_apart(folders))
    return sorted(folders, key=lambda folder: (folder.role != Role.INBOX, folder.name.casefold()))


def _folder(row: dict[str, Any], rows: dict[str, dict[str, Any]]) -> Folder:
    role = _ROLES.get(str(row.get("role") or "").lower())
    return Folder(row["id"], _path(row, rows), role, _count(row, "totalEmails"), _count(row, "unreadEmails"))


def _path(row: dict[str, Any], rows: dict[str, dict[str, Any]]) -> str:
    levels: list[str] = []
    current: dict[str, Any] | None = row
    while current is not None and len(levels) < _DEEPEST:
        levels.append(str(current.get("name") or current["id"]))
        current = rows.get(current.get("parentId") or "")
    return "/".join(reversed(levels))


def _count(row: dict[str, Any], name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) else None


def _with_named_roles(folders: list[Folder]) -> list[Folder]:
    """A name gives a role only where the server gave it to no folder, and to the topmost folder of that name."""
    taken = {folder.role for folder in folders if folder.role}
    for folder in sorted(folders, key=lambda folder: (folder.name.count("/"), folder.name.casefold())):
        role = role_by_name(folder.name)
        if role and role not in taken and folder.role is None:
            taken.add(role)
            folders[folders.index(folder)] = replace(folder, role=role, is_guess=True)
    return folders


def _at(there: dict[str, Folder], levels: list[str]) -> Folder | None:
    return there.get("/".join(levels))


def _exists(name: str) -> Conflict:
    return Conflict("A folder with that name already exists.", reason="already_exists", details={"name": name})


def _gone() -> NotFound:
    return NotFound("This folder no longer exists. Call list_folders to see the folders.")


def _unknown(name: str) -> NotFound:
    return NotFound(
        "There is no such folder. Call list_folders to see the folders.",
        reason="folder_unknown",
        details={"folder": name[:100]},
    )
