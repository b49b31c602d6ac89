"""Whether the mirror of a Gmail or Graph mailbox is true: compared with everything that the server has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.unit.sync.cloud import Cloud

from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.query.tree import In, Label, Node
from postroom.store.handles import Handles


async def same(cloud: Cloud, history: Sequence[str] = ()) -> None:
    """Message by message: flags, labels, folders, thread and text; what a folder or a label finds; and all counts."""
    async with cloud.mailbox() as mailbox:
        there, here = await cloud.there(mailbox), cloud.rows()
        assert (sorted(there.keys() - here.keys()), sorted(here.keys() - there.keys())) == ([], []), history
        assert set(there) == cloud.side.refs(), history
        for ref, row in there.items():
            assert unordered(here[ref]) == unordered(row), (ref, history)
        refs = [ref for ref, row in there.items() if not row.draft]
        for message in await mailbox.fetch_many(refs):
            assert cloud.text_of(message.envelope.ref) == message.body.text, (message.envelope, history)
        folders, labels = await mailbox.folders(), await mailbox.labels()
    _counted(cloud, folders, there, history)
    for folder in folders:
        _found(cloud, In(folder.name), [row.ref for row in there.values() if folder.name in row.folders], history)
    for name in labels:
        _found(cloud, Label(name), [row.ref for row in there.values() if name in row.labels], history)


def _counted(cloud: Cloud, folders: Sequence[Any], there: dict[str, Envelope], history: Sequence[str]) -> None:
    status = cloud.mirror.status()
    assert status.complete, history
    assert {one.name for one in status.folders} == {one.name for one in folders}, history
    for one in status.folders:
        assert one.messages == sum(one.name in row.folders for row in there.values()), (one.name, history)


def _found(cloud: Cloud, node: Node, refs: list[str], history: Sequence[str]) -> None:
    assert sorted(row.ref for row in cloud.found(node, limit=10_000)) == sorted(refs), (node, history)


def unordered(row: Envelope) -> Envelope:
    """The first folder is the one in which it is shown; of the others, and of labels, no order is promised."""
    return replace(row, other_folders=tuple(sorted(row.other_folders)), labels=tuple(sorted(row.labels)))


def handles_lead_there(cloud: Cloud, handles: Handles, shown: dict[str, str], history: Sequence[str] = ()) -> None:
    """No handle means another message than before. `shown`, which is brought up to date, has the Message-ID of the
    message that each was issued for."""
    here = cloud.rows()
    for handle, name in shown.items():
        row = here.get(handles.resolve(handle, Kind.EMAIL).ref)
        assert row is None or row.message_id == name, (handle, history)
    refs = sorted(here)
    for ref, handle in zip(refs, handles.issue(Kind.EMAIL, "mine", refs), strict=True):
        assert shown.setdefault(handle, here[ref].message_id) == here[ref].message_id, history
