"""Where messages are, as the journal records it, and where tools may put them.

Recipients found in Sent count as written to, and what is in Drafts can be sent. So nothing is moved to either from
outside, no new folder can be taken for one of them, and `undo` puts back there only what the journal saw there. A place
is noted by the refs of all folders a message is in: a name can come to mean another folder.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postroom.mime.clean import clean_line
from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope
from postroom.model.role_names import read_as, role_to_come

_OWN_WRITING = (Role.SENT, Role.DRAFTS)


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of an account as they are now."""

    folders: list[Folder]

    def of(self, *folders: Folder) -> dict[str, Any]:
        """What the journal keeps of a message that is in these, whichever of them it is shown in."""
        unique = {folder.ref: folder for folder in folders}
        first, *others = [self._noted(unique[ref]) for ref in sorted(unique)]
        return {**first, "others": others} if others else first

    def _noted(self, folder: Folder) -> dict[str, Any]:
        return {"folder_ref": folder.ref, "role": role_to_come(folder, self.folders) or ""}

    def named(self, *names: str) -> dict[str, Any]:
        """The place of a message whose folders have these very names."""
        found = [folder for folder in self.folders if folder.name in names]
        return self.of(*found) if found else {"folder_ref": "", "role": ""}

    def after_move(self, envelope: Envelope, target: Folder) -> dict[str, Any]:
        """Where a move to that folder leaves a message, as `Mailbox.move` promises it."""
        leaves_all = target.role in (Role.TRASH, Role.JUNK)
        stays = () if leaves_all else set(envelope.folders) - {envelope.folder}
        return self.of(target, *(folder for folder in self.folders if folder.name in stays))

    def with_role(self, role: Role) -> Folder | None:
        return next((folder for folder in self.folders if folder.role is role), None)

    def still(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """The noted place, if it is there and none of it is Sent or Drafts by now that was neither."""
        return self.of(*(self._still(noted) for noted in (place, *place.get("others", ()))))

    def _still(self, place: Mapping[str, Any]) -> Folder:
        folder = next((folder for folder in self.folders if folder.ref == place["folder_ref"]), None)
        if folder is None:
            raise NotFound("The folder the message was in is gone. Call move_email to move it to another one.")
        if self._noted(folder)["role"] != place["role"]:
            self.require_open_to_all(folder)
        return folder

    def require_open_to_all(self, folder: Folder) -> None:
        if role_to_come(folder, self.folders) in _OWN_WRITING:
            raise PermissionDenied(
                f"Messages cannot be moved to {clean_line(folder.name)}: it holds what was written here. Use another "
                "folder. Call create_draft to write a draft. Call undo to put back what was moved out."
            )


def folder_refs(place: Mapping[str, Any]) -> list[str]:
    """Of all folders that a noted place names."""
    return [noted["folder_ref"] for noted in (place, *place.get("others", ()))]


def check_new_folder(name: str, folders: Sequence[Folder]) -> None:
    """No level that would be created may have a name that means a role, in any language or spelling."""
    there = {folder.name for folder in folders}
    levels = [unicodedata.normalize("NFC", level.strip()) for level in name.split("/")]
    for depth, level in enumerate(levels, 1):
        path = "/".join(levels[:depth])
        is_there = path in there or (path.upper() == "INBOX" and depth < len(levels))
        role = None if is_there else read_as(level)
        if role is not None:
            raise _taken(level, role, folders)


def check_unlike(name: str, folders: Sequence[Folder]) -> None:
    """Conflict where one of the same letters is there: tools find folders in any case, so two would be mixed up."""
    like = unicodedata.normalize("NFC", name).casefold()
    found = next((folder for folder in folders if folder.name.casefold() == like), None)
    if found is not None:
        raise Conflict(
            f"There is a folder {clean_line(found.name)!r} already. Use it, or choose another name.",
            reason="already_exists",
            details={"field": "name"},
        )


def _taken(level: str, role: Role, folders: Sequence[Folder]) -> InvalidRequest:
    own = next((clean_line(folder.name) for folder in folders if folder.role is role), "")
    instead = f"use {own!r}, which exists, or " if own else ""
    return InvalidRequest(
        f"A folder cannot be named {clean_line(level)[:80]!r}: the name means the {role.value} folder, which the "
        f"mail server itself provides. Instead {instead}choose a name that cannot be mistaken for it.",
        details={"field": "name"},
    )
