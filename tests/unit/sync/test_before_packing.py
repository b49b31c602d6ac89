"""What happens to messages between being found and being packed: their words are removed as they went in, and their
handles follow, though nobody has noted yet who they are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.checking import handles_lead_there, keeps_the_bytes, same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.filling import spool_everything
from tests.unit.sync.second_client import SecondClient

from postroom.index import state
from postroom.model.ids import Kind
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.following.syncing import Tools
from postroom.sync.tables.identity import PENDING

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    spool_everything(monkeypatch.setattr)


@pytest.fixture
def handles(tmp_path: Path) -> Handles:
    return Handles(Database(tmp_path / "state.db"))


def issued_by_subject(mirrored: Mirrored, handles: Handles) -> dict[str, str]:
    rows = list(mirrored.rows().values())
    issued = handles.issue(Kind.EMAIL, "mine", [row.ref for row in rows])
    return dict(zip([row.subject for row in rows], issued, strict=True))


def lead_to(mirrored: Mirrored, handles: Handles, issued: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The folder and the subject of what each leads to now."""
    rows = mirrored.rows()
    refs = {subject: handles.resolve(handle, Kind.EMAIL).ref for subject, handle in issued.items()}
    return {subject: (rows[ref].folder, rows[ref].subject) for subject, ref in refs.items() if ref in rows}


def pending(mirrored: Mirrored) -> int:
    with mirrored.mirror.snapshot() as connection:
        (count,) = connection.execute("SELECT count(*) FROM mirrored WHERE identity = ?", (PENDING,)).fetchone()
        return int(count)


def three_letters(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        client.create("Elsewhere")
        for number in (1, 2, 3):
            client.append("INBOX", "", None, letter(f"letter{number}"))  # type: ignore[arg-type]


def move(mirrored: Mirrored, numbers: str, source: str, target: str) -> None:
    with mirrored.client() as client:
        client.select(source)
        client._simple_command("MOVE", numbers, target)


@pytest.mark.parametrize("seed", range(4))
async def test_a_mirror_that_never_gets_to_packing_is_as_true_as_any(
    mirrored: Mirrored, handles: Handles, seed: int
) -> None:
    chance = random.Random(f"unpacked {seed}")
    second = SecondClient(mirrored, chance)
    shown: dict[str, str] = {}
    alone: set[str] = set()
    history: list[str] = []
    for _ in range(8):
        history += second.act(chance.randint(1, 8))
        if chance.random() < 0.25:
            mirrored.mirror.ask_for_rebuild("reset")
            history.append("reset")
        await mirrored.find(Tools(handles))
        there = second.everything()
        same(mirrored, there, history)
        handles_lead_there(handles, shown, there, alone, history)
    await mirrored.sync(Tools(handles))
    assert pending(mirrored) == 0
    same(mirrored, second.everything(), history)
    keeps_the_bytes(mirrored, second.everything(), history)
    handles_lead_there(handles, shown, second.everything(), alone, history)


@pytest.mark.parametrize("resets", [False, True])
async def test_a_handle_follows_a_message_that_another_program_moves_before_it_is_packed(
    mirrored: Mirrored, handles: Handles, resets: bool
) -> None:
    three_letters(mirrored)
    await mirrored.find(Tools(handles))
    assert pending(mirrored) == 3
    issued = issued_by_subject(mirrored, handles)
    move(mirrored, "2", "INBOX", "Elsewhere")
    if resets:
        mirrored.mirror.ask_for_rebuild("reset")
    await mirrored.find(Tools(handles))
    assert lead_to(mirrored, handles, issued) == {
        "letter1": ("INBOX", "letter1"),
        "letter2": ("Elsewhere", "letter2"),
        "letter3": ("INBOX", "letter3"),
    }


async def test_handles_follow_messages_out_of_a_folder_that_is_deleted_before_it_is_packed(
    mirrored: Mirrored, handles: Handles
) -> None:
    three_letters(mirrored)
    move(mirrored, "2:3", "INBOX", "Elsewhere")
    await mirrored.find(Tools(handles))
    issued = issued_by_subject(mirrored, handles)
    move(mirrored, "1:2", "Elsewhere", "INBOX")
    with mirrored.client() as client:
        client.delete("Elsewhere")
    await mirrored.find(Tools(handles))
    assert lead_to(mirrored, handles, issued) == {subject: ("INBOX", subject) for subject in issued}


async def test_a_handle_follows_a_message_that_is_missed_before_it_appears_again(
    mirrored: Mirrored, handles: Handles
) -> None:
    three_letters(mirrored)
    await mirrored.find(Tools(handles))
    issued = issued_by_subject(mirrored, handles)
    with mirrored.client() as client:
        client.select("INBOX")
        (data,) = client.fetch("2", "(RFC822)")[1][:1]
        client.store("2", "+FLAGS", "\\Deleted")
        client.expunge()
    await mirrored.find(Tools(handles))
    assert set(lead_to(mirrored, handles, issued)) == {"letter1", "letter3"}
    with mirrored.client() as client:
        client.append("Elsewhere", "", None, data[1])  # type: ignore[arg-type, index]
    await mirrored.find(Tools(handles))
    assert lead_to(mirrored, handles, issued)["letter2"] == ("Elsewhere", "letter2")
    assert mirrored.mirror.spool.exists()


async def test_messages_whose_bytes_are_lost_are_removed_with_all_their_words(
    mirrored: Mirrored, handles: Handles
) -> None:
    three_letters(mirrored)
    await mirrored.find(Tools(handles))
    mirrored.mirror.spool.unlink()
    with mirrored.client() as client:
        client.select("INBOX")
        client.store("1:3", "+FLAGS", "\\Deleted")
        client.expunge()
    await mirrored.find(Tools(handles))
    assert mirrored.rows() == {}
    with mirrored.mirror.snapshot() as connection:
        for word in ("letter2", "hello", state.ANY):
            found = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (f'"{word}"',)).fetchone()
            assert found == (0,), word
