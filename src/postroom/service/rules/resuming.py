"""The messages of a run that was cut short, as they were before it: with neither its labels nor its moves.

What somebody else did to them since stays, so that a message that was taken out of the rule's reach is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from postroom.model.folder import Folder
from postroom.model.message import Envelope
from postroom.service.organising.changes import has_label
from postroom.service.organising.places import Places, folder_refs
from postroom.store import JournalItem, Operation


def before_run(
    envelopes: Mapping[str, Envelope], parts: Sequence[Operation], folders: Sequence[Folder]
) -> list[Envelope]:
    """By handle, in their order; `parts` are what the journal knows of the run."""
    found = dict(envelopes)
    for item in (item for part in reversed(parts) for item in part.items):
        if item.handle in found:
            found[item.handle] = _before(found[item.handle], item, list(folders))
    return list(found.values())


def _before(envelope: Envelope, item: JournalItem, folders: list[Folder]) -> Envelope:
    if "label" in item.before:
        return _labelled(envelope, item.before)
    if "folder_ref" not in item.before or Places(folders).named(*envelope.folders) != item.after:
        return envelope
    refs = folder_refs(item.before)
    names = [folder.name for folder in folders if folder.ref in refs]
    return replace(envelope, folder=names[0], other_folders=tuple(names[1:])) if names else envelope


def _labelled(envelope: Envelope, before: Mapping[str, Any]) -> Envelope:
    label = str(before["label"])
    if has_label(envelope, label) == before["on"]:
        return envelope
    others = tuple(one for one in envelope.labels if one.casefold() != label.casefold())
    return replace(envelope, labels=(*others, label) if before["on"] else others)
