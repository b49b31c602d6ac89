"""A mirror's file that is taken away or replaced while it is filled: what is called complete is complete."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sync.listed import Listed, Listing, Reporting, listed

from postroom.model.errors import Conflict, ProviderError, ProviderUnavailable
from postroom.sync.file.mirror import Mirror
from postroom.sync.following import by_listing, packing
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[Reporting, Listing], ids=["reporting", "listing"])
def it(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listed:
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 5)
    monkeypatch.setattr(by_listing, "_PAGE", 10)
    it = listed(request.param, tmp_path)
    it.add(30)
    it.add(30, "Work")
    return it


def remove(mirror: Mirror) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{mirror.path}{part}").unlink(missing_ok=True)


@pytest.mark.parametrize("step", [0.0, 10.0], ids=["without looks in between", "with looks in between"])
@pytest.mark.parametrize("page", range(1, 10))
async def test_a_mirror_that_is_removed_while_it_is_filled_is_filled_again(it: Listed, page: int, step: float) -> None:
    it.step = step
    it.meanwhile("search", page, lambda: remove(it.mirror))
    await it.sync()
    it.now += 3600
    await it.sync()
    it.same()


async def test_a_run_whose_lock_was_removed_leaves_the_mirror_to_whoever_has_it_now(it: Listed) -> None:
    mirror, server, account = it.mirror, it.server, it.account
    async with Syncing(mirror, server, account, it.tools) as first:  # type: ignore[arg-type]
        await first.once()
        mirror.path.with_suffix(".lock").unlink()
        async with Syncing(mirror, server, account, it.tools):  # type: ignore[arg-type]
            with pytest.raises(Conflict, match="Another process"):
                await first.once()
        await first.once()
        assert mirror.lock() is None


async def test_a_mirror_that_is_removed_while_messages_are_compressed_is_filled_again_by_the_same_run(
    it: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_some, removals = packing.pack_some, [it.mirror]

    def pack(*args: Any) -> bool:
        if removals:
            remove(removals.pop())
        return pack_some(*args)

    monkeypatch.setattr(packing, "pack_some", pack)
    await it.sync()
    it.same()
    assert it.mirror.status().complete


def put_a_file_in_place_of_the_folder(mirror: Mirror) -> Path:
    shutil.rmtree(mirror.path.parent)
    mirror.path.parent.touch()
    return mirror.path.parent


def put_a_folder_in_place_of_the_lock(mirror: Mirror) -> Path:
    lock = mirror.path.with_suffix(".lock")
    lock.unlink()
    lock.mkdir()
    return lock


@pytest.mark.parametrize("spoil", [put_a_file_in_place_of_the_folder, put_a_folder_in_place_of_the_lock])
async def test_a_lock_that_cannot_be_taken_is_an_error_after_which_a_run_can_go_on(it: Listed, spoil: Any) -> None:
    """Whoever follows tries again after such an error; any other would end the mirrors of all accounts."""
    async with Syncing(it.mirror, it.server, it.account, it.tools) as syncing:  # type: ignore[arg-type]
        await syncing.once()
        obstacle = spoil(it.mirror)
        with pytest.raises(ProviderUnavailable, match="cannot be written"):
            await syncing.once()
        obstacle.rmdir() if obstacle.is_dir() else obstacle.unlink()
        await syncing.once()
    it.same()


async def test_an_empty_folder_in_the_place_of_a_mirror_is_replaced_and_another_one_is_left_alone(it: Listed) -> None:
    it.mirror.path.mkdir(parents=True)
    await it.sync()
    it.same()
    it.mirror.close()
    remove(it.mirror)
    (it.mirror.path / "somebody's").mkdir(parents=True)
    with pytest.raises(ProviderError, match="cannot be opened"):
        await it.sync()
    assert (it.mirror.path / "somebody's").exists()
