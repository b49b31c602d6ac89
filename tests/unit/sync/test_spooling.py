"""The bytes of many messages are spooled while they are fetched, and packed when everything is found."""

from __future__ import annotations

import random
import resource
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.unit.sync.checking import keeps_the_bytes, same
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.filling import spool_everything
from tests.unit.sync.second_client import SecondClient

from postroom.model.errors import ProviderUnavailable
from postroom.model.ids import Kind
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.file import space, spool
from postroom.sync.file.contents import message_of, raw_of
from postroom.sync.following import packing, syncing
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    spool_everything(monkeypatch.setattr)


@pytest.fixture
def second(mirrored: Mirrored) -> SecondClient:
    found = SecondClient(mirrored, random.Random(3))
    found.act(40)
    return found


async def test_messages_are_found_and_read_before_they_are_packed(mirrored: Mirrored, second: SecondClient) -> None:
    await mirrored.find()
    server = second.everything()
    same(mirrored, server)
    assert stat.S_IMODE(mirrored.mirror.spool.stat().st_mode) == 0o600
    assert mirrored.mirror.status().bytes > mirrored.mirror.spool.stat().st_size > 0
    with mirrored.mirror.snapshot() as connection:
        assert connection.execute("SELECT count(*) FROM content").fetchone() == (0,)
        for ref, one in server.items():
            if "\\Deleted" not in one.flags:
                assert raw_of(connection, ref) == one.raw
                message = message_of(connection, ref)
                assert message is not None
                assert f"unique{one.key}word" in message.body.text


async def test_a_run_ends_with_everything_packed(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_STEP", 7)
    await mirrored.sync()
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


async def test_what_was_left_spooled_is_packed_by_the_next_run_with_what_changed_since(
    mirrored: Mirrored, second: SecondClient
) -> None:
    await mirrored.find()
    second.act(40)
    await mirrored.sync()
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


@pytest.mark.parametrize("left", [0, 1, 1_000])
async def test_bytes_that_a_power_cut_took_are_fetched_again(
    mirrored: Mirrored, second: SecondClient, left: int
) -> None:
    await mirrored.find()
    with mirrored.mirror.spool.open("r+b") as file:
        file.truncate(left)
        file.seek(max(left - 50, 0))
        file.write(b"\0" * min(left, 50))
    await mirrored.sync()  # notices when it packs
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


async def test_handles_of_copies_that_are_fetched_again_stay_where_they_were(
    mirrored: Mirrored, tmp_path: Path
) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("one"))
        client.select("INBOX")
        for folder in ("Archive", "Sent", "Junk"):
            client.copy("1", folder)
    await mirrored.find()
    handles, refs = Handles(Database(tmp_path / "state.db")), sorted(mirrored.rows())
    issued = handles.issue(Kind.EMAIL, "mine", refs)
    mirrored.mirror.spool.unlink()
    await mirrored.sync(Tools(handles))
    await mirrored.sync(Tools(handles))
    assert sorted(mirrored.rows()) == refs
    assert [handles.resolve(handle, Kind.EMAIL).ref for handle in issued] == refs


async def following_until_packed(mirrored: Mirrored) -> None:
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    async with (
        opened(account) as mailbox,
        Syncing(mirrored.mirror, mailbox, account) as ours,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ours.follow)
        with anyio.fail_after(30):
            while not mirrored.mirror.status().complete or mirrored.mirror.spool.exists():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


async def test_whoever_follows_packs_while_nothing_changes(mirrored: Mirrored, second: SecondClient) -> None:
    await following_until_packed(mirrored)
    keeps_the_bytes(mirrored, second.everything())


async def test_whoever_follows_survives_a_packing_that_fails_and_tries_again(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = [ProviderUnavailable("The disk is full."), ValueError("a defect")]
    monkeypatch.setattr(syncing, "POLL_SECONDS", 0.01)

    pack_some = packing.pack_some

    def failing(*given: Any) -> bool:
        if failures:
            raise failures.pop()
        return pack_some(*given)

    monkeypatch.setattr(packing, "pack_some", failing)
    await following_until_packed(mirrored)
    assert failures == []
    keeps_the_bytes(mirrored, second.everything())


async def test_new_messages_come_while_packing_fails_and_the_reason_is_told(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> bool:
        raise ProviderUnavailable("The disk is full.")

    monkeypatch.setattr(packing, "pack_some", full)
    monkeypatch.setattr(syncing, "_FIRST_PAUSE", 600.0)
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    async with (
        opened(account) as mailbox,
        Syncing(mirrored.mirror, mailbox, account) as ours,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ours.follow)
        with anyio.fail_after(30):
            while mirrored.mirror.status().last_error != "The disk is full.":
                await anyio.sleep(0.01)
            with mirrored.client() as client:
                client.append("INBOX", "", None, letter("latecomer"))
            while "latecomer" not in {row.subject for row in mirrored.rows().values()}:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


async def test_of_a_message_that_is_too_large_nothing_is_kept(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("large", text="An elephant. " + "x" * 70 + "\r\n" * 2**20))
    mirrored.changes = {"mirror_max_mb": 1}
    await mirrored.sync()
    (ref,) = mirrored.rows()
    with mirrored.mirror.snapshot() as connection:
        assert raw_of(connection, ref) is None


async def test_what_runs_that_were_killed_have_spooled_does_not_pile_up(
    mirrored: Mirrored, second: SecondClient
) -> None:
    mirrored.mirror.status()
    mirrored.mirror.spool.parent.mkdir()
    mirrored.mirror.spool.write_bytes(b"fetched, and not noted" * 1_000)
    await mirrored.find()
    size = mirrored.mirror.spool.stat().st_size
    assert size == sum(len(one.raw) for one in second.everything().values() if "\\Deleted" not in one.flags)
    with mirrored.mirror.spool.open("ab") as file:
        file.write(b"fetched, and not noted")
    await mirrored.find()
    assert mirrored.mirror.spool.stat().st_size == size
    await mirrored.sync()
    keeps_the_bytes(mirrored, second.everything())


async def test_a_reset_and_a_removal_take_the_spool_along(mirrored: Mirrored, second: SecondClient) -> None:
    await mirrored.find()
    mirrored.mirror.rebuild()
    assert not mirrored.mirror.spool.exists()
    await mirrored.find()
    mirrored.mirror.remove()
    assert list(mirrored.mirror.path.parent.iterdir()) == []
    assert second.everything()


async def test_a_reset_while_messages_are_packed_is_carried_out_by_the_run_that_packs(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_some = packing.pack_some
    monkeypatch.setattr(packing, "_STEP", 7)
    asked = iter([True])

    def asking(*given: Any) -> bool:
        if next(asked, False):
            mirrored.mirror.ask_for_rebuild("reset")
        return pack_some(*given)

    monkeypatch.setattr(packing, "pack_some", asking)
    await mirrored.sync()
    assert not mirrored.mirror.is_rebuild_asked
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


async def test_a_spool_that_cannot_be_written_stops_the_run_with_a_reason_and_what_came_before_stays(
    mirrored: Mirrored, second: SecondClient
) -> None:
    mirrored.mirror.status()
    mirrored.mirror.spool.mkdir(parents=True)
    with pytest.raises(ProviderUnavailable, match=r"mine\.spool of a mirror cannot be written \(Is a directory\)"):
        await mirrored.find()
    assert "mine.spool" in mirrored.mirror.status().last_error
    mirrored.mirror.spool.rmdir()
    await mirrored.sync()
    same(mirrored, second.everything())


def test_a_spool_grows_at_its_end_whoever_wrote_before(tmp_path: Path) -> None:
    path, raws = tmp_path / "a.spool", [b"one", b"", b"three"]
    path.write_bytes(b"left by a run that was killed")
    places = [*spool.append(path, raws[:2]), *spool.append(path, raws[2:])]
    assert spool.taken(path, places) == raws
    assert [spool.read(path, spool.sealed(*one)) for one in zip(places, raws, strict=True)] == raws


def test_of_messages_that_do_not_fit_nothing_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.spool"
    (place,) = spool.append(path, [b"hello"])
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
    try:
        with pytest.raises(ProviderUnavailable, match="File too large"):
            spool.append(path, [b"x" * 90, b"y" * 90])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert path.read_bytes() == b"hello"
    assert spool.taken(path, [place, *spool.append(path, [b"again"])]) == [b"hello", b"again"]


def test_what_is_no_longer_there_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.spool"
    (place,) = spool.append(path, [b"hello"])
    assert spool.read(path, spool.sealed(place, b"other")) is None
    path.write_bytes(b"hell")
    assert spool.read(path, spool.sealed(place, b"hello")) is None
    with pytest.raises(ProviderUnavailable, match="shorter than what was written"):
        spool.taken(path, [place])
    path.unlink()
    assert spool.read(path, spool.sealed(place, b"hello")) is None
    with pytest.raises(ProviderUnavailable, match="No such file"):
        spool.taken(path, [place])


async def test_a_spool_that_somebody_removed_is_fetched_again(mirrored: Mirrored, second: SecondClient) -> None:
    await mirrored.find()
    mirrored.mirror.spool.unlink()
    await mirrored.sync()  # notices when it packs
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


async def test_many_that_come_to_a_filled_mirror_are_packed_too(mirrored: Mirrored, second: SecondClient) -> None:
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    async with opened(account) as mailbox, Syncing(mirrored.mirror, mailbox, account) as ours:
        await ours.once()
        second.act(20)
        await ours.once()
    assert not mirrored.mirror.spool.exists()
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


async def test_a_mirror_that_is_started_over_during_a_fill_has_a_spool_of_its_own(
    mirrored: Mirrored, second: SecondClient
) -> None:
    asked = iter([True])

    def ask(*_: int) -> None:
        if mirrored.mirror.spool.exists() and next(asked, False):
            mirrored.mirror.ask_for_rebuild("reset")

    await mirrored.sync(Tools(on_progress=ask))
    assert next(asked, None) is None
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


class Disk:
    """Has as much space as it is given, and loses as much as the mirror's files take."""

    def __init__(self, mirrored: Mirrored, room: int) -> None:
        self._folder = mirrored.mirror.path.parent
        self.room = room

    def usage(self, path: Path) -> SimpleNamespace:
        assert path == self._folder
        return SimpleNamespace(total=2**40, free=space.RESERVE + self.room - self.used)

    @property
    def used(self) -> int:
        return sum(file.stat().st_size for file in self._folder.glob("*"))


async def test_a_fill_leaves_the_last_of_a_disk_to_others(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrored.mirror.status()
    disk = Disk(mirrored, room=0)
    monkeypatch.setattr(shutil, "disk_usage", disk.usage)
    with pytest.raises(ProviderUnavailable, match=r"mirror mine is almost full.* 64 MB .* up to 192 MB .*is kept"):
        await mirrored.sync()
    assert "almost full" in mirrored.mirror.status().last_error
    assert not mirrored.mirror.spool.exists()
    disk.room = 2**30
    await mirrored.sync()
    same(mirrored, second.everything())
    keeps_the_bytes(mirrored, second.everything())


@pytest.mark.parametrize("mode", ["full", "headers"])
async def test_a_fill_stops_half_way_when_the_disk_fills_and_goes_on_when_there_is_space(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    mirrored.changes = {"mirror": mode}
    disk = Disk(mirrored, room=2**30)
    monkeypatch.setattr(shutil, "disk_usage", disk.usage)

    def fill_the_disk(messages: int, _: int) -> None:
        disk.room = 0 if messages else disk.room

    with pytest.raises(ProviderUnavailable, match="almost full"):
        await mirrored.sync(Tools(on_progress=fill_the_disk))
    kept = mirrored.rows()
    assert 0 < len(kept) < len(second.everything())
    assert not mirrored.mirror.status().complete
    disk.room = 2**30
    await mirrored.sync()
    shown = {ref for ref, one in second.everything().items() if "\\Deleted" not in one.flags}
    assert kept.keys() < mirrored.rows().keys() == shown


async def test_what_comes_to_a_mirror_that_is_filled_leaves_the_last_of_a_disk_to_others_too(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mirrored.sync()
    disk = Disk(mirrored, room=0)
    disk.room = disk.used + 2**20
    monkeypatch.setattr(shutil, "disk_usage", disk.usage)
    with mirrored.client() as client:
        for number in range(1_000, 1_020):
            words = random.Random(number).randbytes(50_000).hex("\n", 8)
            raw = letter(f"large{number}", text=f"The unique{number}word is here.\n{words}")
            client.append("INBOX", None, None, raw)  # type: ignore[arg-type]
    with pytest.raises(ProviderUnavailable, match="almost full"):
        await mirrored.sync()
    assert disk.used <= disk.room
    disk.room = 2**30
    await mirrored.sync()
    same(mirrored, second.everything())


async def test_what_does_not_fit_is_found_and_read_and_packed_later(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mirrored.find()
    disk = Disk(mirrored, room=0)
    monkeypatch.setattr(shutil, "disk_usage", disk.usage)
    with pytest.raises(ProviderUnavailable, match="almost full"):
        await mirrored.sync()
    assert mirrored.mirror.spool.exists()
    assert mirrored.mirror.status().complete
    same(mirrored, second.everything())
    disk.room = 2**30
    await mirrored.sync()
    assert not mirrored.mirror.spool.exists()
    keeps_the_bytes(mirrored, second.everything())


async def test_a_spool_that_is_packed_is_removed_however_full_the_disk_is(
    mirrored: Mirrored, second: SecondClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mirrored.find()
    pack_some = packing.pack_some

    def fill_the_disk(*given: Any) -> bool:
        done = pack_some(*given)
        monkeypatch.setattr(shutil, "disk_usage", Disk(mirrored, room=0).usage)
        return done

    monkeypatch.setattr(packing, "pack_some", fill_the_disk)
    await mirrored.sync()
    assert not mirrored.mirror.spool.exists()
    keeps_the_bytes(mirrored, second.everything())


def test_the_error_says_how_much_is_free_and_how_much_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(total=2**40, free=100 * 2**20 + 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ProviderUnavailable, match=r"100 MB are free, and 104 MB are needed.* last 64 MB"):
        space.check(tmp_path / "mine.db", 40 * 2**20 - 1)


@pytest.mark.parametrize("told", [SimpleNamespace(total=0, free=0), OSError()], ids=["nothing", "an error"])
def test_a_disk_that_does_not_tell_its_space_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: SimpleNamespace | OSError
) -> None:
    def usage(_: Path) -> SimpleNamespace:
        if isinstance(told, OSError):
            raise told
        return told

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert spool.append(tmp_path / "a.spool", [b"hello"]) == [(0, 5)]
