"""Messages that are alike in everything a server tells about them, and are not the same: no handle goes from one to the
other, and no row shows one in the place of the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored

from postroom.model.ids import Kind
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file import contents
from postroom.sync.following.syncing import Tools
from postroom.sync.tables import noting

pytestmark = pytest.mark.anyio

MINE, FORGED = letter("invoice", text="Pay 100 to Ada."), letter("invoice", text="Pay 999 to Eve.")
EARLIER, LATER = '" 1-Jun-2026 10:00:00 +0000"', '" 1-Jun-2026 11:00:00 +0000"'


@pytest.fixture
def handles(tmp_path: Path) -> Handles:
    return Handles(Database(tmp_path / "state.db"))


async def handle_of_the_only_message(mirrored: Mirrored, handles: Handles) -> str:
    await mirrored.sync(Tools(handles))
    (handle,) = handles.issue(Kind.EMAIL, "mine", list(mirrored.rows()))
    return handle


def texts(mirrored: Mirrored) -> dict[str, bytes]:
    """The last line of each message in the mirror, by ref."""
    with mirrored.mirror.snapshot() as connection:
        return {ref: (contents.raw_of(connection, ref) or b"").splitlines()[-1] for ref in mirrored.rows()}


def put(mirrored: Mirrored, raw: bytes, folder: str = "INBOX", flags: str = "", when: str | None = None) -> None:
    with mirrored.client() as client:
        client.append(folder, flags, when, raw)  # type: ignore[arg-type]


def expunge(mirrored: Mirrored, uid: str = "1:*", folder: str = "INBOX") -> None:
    with mirrored.client() as client:
        client.select(folder)
        client.uid("STORE", uid, "+FLAGS.SILENT", "(\\Deleted)")
        client.uid("EXPUNGE", uid)


@pytest.mark.parametrize("mode", ["full", "headers"])
@pytest.mark.parametrize("when", [EARLIER, LATER], ids=["same second", "later"])
@pytest.mark.parametrize("is_between", [True, False], ids=["a run between", "at once"])
async def test_a_message_in_the_place_of_another_does_not_get_its_handle(
    mirrored: Mirrored, handles: Handles, mode: str, when: str, is_between: bool
) -> None:
    mirrored.changes["mirror"] = mode
    put(mirrored, MINE, when=EARLIER)
    handle = await handle_of_the_only_message(mirrored, handles)
    expunge(mirrored)
    if is_between:
        await mirrored.sync(Tools(handles))
    put(mirrored, FORGED, "Archive", when=when)
    await mirrored.sync(Tools(handles))
    (forged,) = mirrored.rows()
    assert handles.resolve(handle, Kind.EMAIL).ref != forged
    if mode == "full":
        assert texts(mirrored) == {forged: b"Pay 999 to Eve."}


async def test_a_draft_that_another_program_changed_is_another_draft(mirrored: Mirrored, handles: Handles) -> None:
    put(mirrored, MINE, "Drafts", "(\\Draft)", EARLIER)
    await mirrored.sync(Tools(handles))
    (old,) = mirrored.rows()
    (handle,) = handles.issue(Kind.DRAFT, "mine", [old])
    put(mirrored, FORGED, "Drafts", "(\\Draft)", EARLIER)
    expunge(mirrored, "1", "Drafts")
    await mirrored.sync(Tools(handles))
    assert handles.resolve(handle, Kind.DRAFT).ref == old
    assert list(texts(mirrored).values()) == [b"Pay 999 to Eve."]


async def test_of_two_that_are_alike_the_one_that_was_moved_is_shown(mirrored: Mirrored, handles: Handles) -> None:
    put(mirrored, MINE, when=EARLIER)
    put(mirrored, FORGED, when=EARLIER)
    await mirrored.sync(Tools(handles))
    by_text = {text: ref for ref, text in texts(mirrored).items()}
    mine, forged = handles.issue(Kind.EMAIL, "mine", [by_text[b"Pay 100 to Ada."], by_text[b"Pay 999 to Eve."]])
    with mirrored.client() as client:
        client.select("INBOX")
        client.uid("MOVE", "2", "Archive")
    expunge(mirrored)
    await mirrored.sync(Tools(handles))
    ((there, text),) = texts(mirrored).items()
    assert text == b"Pay 999 to Eve."
    assert handles.resolve(forged, Kind.EMAIL).ref == there
    assert handles.resolve(mine, Kind.EMAIL).ref != there


async def test_a_handle_follows_a_move_by_others_after_a_change_through_us_too(
    mirrored: Mirrored, handles: Handles
) -> None:
    put(mirrored, MINE)
    handle = await handle_of_the_only_message(mirrored, handles)
    with mirrored.mirror.transaction() as connection:
        noting.changed(connection, noting.stale)
    with mirrored.client() as client:
        client.select("INBOX")
        client.uid("MOVE", "1", "Archive")
    await mirrored.sync(Tools(handles))
    assert [handles.resolve(handle, Kind.EMAIL).ref] == list(mirrored.rows())


@pytest.mark.parametrize("is_reset", [False, True], ids=["followed", "reset"])
async def test_messages_with_the_same_bytes_that_are_moved_together_keep_an_id_each(
    mirrored: Mirrored, handles: Handles, is_reset: bool
) -> None:
    for folder in ("INBOX", "INBOX", "Sent"):
        put(mirrored, MINE, folder, when=EARLIER)
    await mirrored.sync(Tools(handles))
    issued = handles.issue(Kind.EMAIL, "mine", list(mirrored.rows()))
    with mirrored.client() as client:
        for folder in ("INBOX", "Sent"):
            client.select(folder)
            client.uid("MOVE", "1:*", "Archive")
    if is_reset:
        mirrored.mirror.ask_for_reset()
    await mirrored.sync(Tools(handles))
    assert sorted(one.ref for one in handles.resolve_many(issued, Kind.EMAIL)) == sorted(mirrored.rows())
    with mirrored.client() as client:
        client.select("Archive")
        client.uid("MOVE", "1", "Sent")
        client.uid("MOVE", "2", "Trash")
    await mirrored.sync(Tools(handles))
    assert sorted(one.ref for one in handles.resolve_many(issued, Kind.EMAIL)) == sorted(mirrored.rows())


async def test_of_lookalikes_whose_content_is_not_known_none_gets_an_id_of_another(
    mirrored: Mirrored, handles: Handles
) -> None:
    mirrored.changes["mirror"] = "headers"
    for end in ("100 to Ada.", "999 to Eve."):
        put(mirrored, letter("same", text=f"{'A long preface. ' * 500} Pay {end}"), when=EARLIER)
    await mirrored.sync(Tools(handles))
    rows = list(mirrored.rows())
    issued = handles.issue(Kind.EMAIL, "mine", rows)
    with mirrored.client() as client:
        client.select("INBOX")
        client.uid("MOVE", "2", "Archive")
        client.uid("MOVE", "1", "Archive")
    await mirrored.sync(Tools(handles))
    assert [one.ref for one in handles.resolve_many(issued, Kind.EMAIL)] == rows
