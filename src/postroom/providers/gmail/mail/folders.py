"""Making, renaming and removing a user's folders, which are labels."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.model.folder import (
    Folder,
    RenamedFolder,
    at_or_below,
    check_folder_name,
    check_level,
    check_renaming,
    renamed_path,
)
from postroom.providers.gmail.mail.labels import ARCHIVE, PLACES, Label, Labels
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import UNITS, Get, number_of


async def create(labels: Labels, name: str) -> Folder:
    name = unicodedata.normalize("NFC", name)
    check_folder_name(name)
    known = await labels.current()
    taken = {folder.name.casefold() for folder in known.folders()}
    if name.casefold() in taken:
        raise Conflict("A folder of this name exists already.", reason="already_exists")
    made: Label | None = None
    levels = name.split("/")
    for count in range(1, len(levels) + 1):
        path = "/".join(levels[:count])
        if path.casefold() not in taken:
            made = await _made(labels, path)
    assert made is not None
    return Folder(made.id, made.name)


async def _made(labels: Labels, path: str) -> Label:
    try:
        return await labels.make(path)
    except InvalidRequest:
        raise _reserved() from None


async def delete(client: Client, labels: Labels, folder_ref: str) -> None:
    known = await labels.current()
    ref = known.folder_of_ref(folder_ref)
    if ref in PLACES or ref == ARCHIVE:
        raise InvalidRequest("Gmail's own folders cannot be deleted.")
    counted = await client.get(Get(f"labels/{ref}", UNITS["labels"]))
    if number_of(counted.get("messagesTotal")):
        raise Conflict("The folder is not empty. Move its messages elsewhere first.")
    try:
        await labels.remove(ref)
    except NotFound:
        return  # somebody else was quicker


async def rename(labels: Labels, folder_ref: str, level: str) -> RenamedFolder:
    """Gmail knows no levels: each label below is renamed too, and the folder itself last, so that a second call
    finishes what a first one left."""
    level = check_level(level)
    known = await labels.current()
    ref = known.folder_of_ref(folder_ref)
    listed = known.folders()
    folder = next(one for one in listed if one.ref == ref)
    check_renaming(listed, folder, level)
    new = renamed_path(folder.name, level)
    for one in sorted(at_or_below(listed, folder), key=lambda one: one.name, reverse=True):
        await _renamed(labels, one.ref, new + one.name[len(folder.name) :])
    return RenamedFolder(replace(folder, name=new))


async def _renamed(labels: Labels, label_id: str, name: str) -> None:
    try:
        await labels.rename(label_id, name)
    except InvalidRequest:
        raise _reserved() from None


def _reserved() -> InvalidRequest:
    return InvalidRequest(
        "Gmail does not accept this folder name; some names (Inbox, Sent, Spam, ...) are reserved. Choose another one.",
        details={"field": "name"},
    )
