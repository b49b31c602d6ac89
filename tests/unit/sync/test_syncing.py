"""One run and many: what is filled first, what a quiet server costs, what is left out, who may do it."""

from __future__ import annotations

import stat
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import anyio
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.faultproxy import faulty
from tests.unit.sync.conftest import Mirrored

from postroom.index.search import search
from postroom.model.changes import FolderState
from postroom.model.errors import Conflict, PostroomError, ProviderError
from postroom.model.query.tree import Filename, Query, Text
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.sync.file.contents import message_of, raw_of
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.following import arriving, by_folder
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


def seeded(mirrored: Mirrored, count: int, folder: str = "INBOX") -> None:
    with mirrored.client() as client:
        for number in range(count):
            client.append(folder, "", None, letter(f"{folder}{number}", text=f"The word{number}x is here."))


def found(mirror: Mirror, word: str) -> list[str]:
    with mirror.snapshot() as connection:
        return [row.subject for row in search(connection, Query(Text(word)), limit=10, offset=0).items]


async def test_everything_is_found_after_the_first_run(mirrored: Mirrored) -> None:
    seeded(mirrored, 120)
    with mirrored.client() as client:
        client.append("Archive", "(\\Seen \\Flagged Blue)", None, letter("old", text="An elephant."))

    await mirrored.sync()

    assert found(mirrored.mirror, "elephant") == ["old"]
    assert found(mirrored.mirror, "word77x") == ["INBOX77"]
    status = mirrored.mirror.status()
    assert (status.complete, status.messages, status.last_error) == (True, 121, "")
    assert status.as_of is not None
    assert stat.S_IMODE(mirrored.mirror.path.stat().st_mode) == 0o600


async def test_the_inbox_has_its_first_page_at_once_and_all_folders_are_filled_side_by_side(
    mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arriving, "_WAITING", 1)
    monkeypatch.setattr(by_folder, "_TURN", 5)
    seeded(mirrored, 120)
    seeded(mirrored, 60, "Archive")
    states: list[tuple[int, int]] = []

    def note(_done: int, _total: int) -> None:
        counts = {folder.name: folder.messages for folder in mirrored.mirror.status().folders}
        states.append((counts.get("INBOX", 0), counts.get("Archive", 0)))

    await mirrored.sync(Tools(on_progress=note))

    filled = [state for state in states if any(state)]
    assert filled[0][0] == 50
    assert any(inbox < 120 and archive >= 50 for inbox, archive in filled), filled
    assert filled[-1] == (120, 60)


async def test_a_new_message_is_found_as_soon_as_the_server_announces_it(mirrored: Mirrored) -> None:
    seeded(mirrored, 2)
    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    filled, arrived = anyio.Event(), anyio.Event()

    def note(done: int, _total: int) -> None:
        if done == 2:
            filled.set()
        if done == 3:
            arrived.set()

    async with (
        opened(account) as mailbox,
        Syncing(mirrored.mirror, mailbox, account, Tools(on_progress=note)) as syncing,
    ):
        with anyio.fail_after(50):  # the next look without an announcement would be after 60 seconds
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(syncing.follow)
                await filled.wait()
                await anyio.to_thread.run_sync(seeded_late, mirrored)
                await arrived.wait()
                tasks.cancel_scope.cancel()
    assert found(mirrored.mirror, "latecomer") == ["late"]


def seeded_late(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("late", text="A latecomer."))


async def test_a_run_that_loses_its_connection_says_why_and_the_next_completes_it(mirrored: Mirrored) -> None:
    seeded(mirrored, 200)
    with faulty(mirrored.dovecot.imap) as proxy:
        proxy.reset(cut_after_down=20_000)
        mirrored.changes = {"port": proxy.port}
        with pytest.raises(PostroomError):
            await mirrored.sync()
    assert mirrored.mirror.status().last_error
    mirrored.changes = {}
    await mirrored.sync()
    status = mirrored.mirror.status()
    assert (status.complete, status.messages, status.last_error) == (True, 200, "")


async def test_what_is_left_out_is_not_there_and_comes_back_when_it_is_wanted(mirrored: Mirrored) -> None:
    seeded(mirrored, 2)
    seeded(mirrored, 3, "Archive")
    mirrored.changes = {"mirror_leave_out": ("archive",)}
    await mirrored.sync()
    assert {folder.name: folder.messages for folder in mirrored.mirror.status().folders if folder.messages} == {
        "INBOX": 2
    }

    mirrored.changes = {}
    await mirrored.sync()
    assert mirrored.mirror.status().messages == 5

    mirrored.changes = {"mirror_leave_out": ("Archive",)}
    await mirrored.sync()
    assert mirrored.mirror.status().messages == 2


async def test_headers_alone_are_listed_but_bodies_are_not_kept(mirrored: Mirrored) -> None:
    seeded(mirrored, 3)
    mirrored.changes = {"mirror": "headers"}
    await mirrored.sync()
    assert found(mirrored.mirror, "INBOX2") == ["INBOX2"]
    assert found(mirrored.mirror, "word2x") == []
    (ref, *_) = mirrored.rows()
    with mirrored.mirror.snapshot() as connection:
        assert message_of(connection, ref) is None


async def test_a_full_mirror_keeps_the_bytes(mirrored: Mirrored) -> None:
    seeded(mirrored, 1)
    await mirrored.sync()
    (ref,) = mirrored.rows()
    with mirrored.mirror.snapshot() as connection:
        assert raw_of(connection, ref) == letter("INBOX0", text="The word0x is here.")
        message = message_of(connection, ref)
    assert message is not None
    assert message.body.text.strip() == "The word0x is here."


async def test_of_a_message_that_is_too_large_the_beginning_is_found(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", None, letter("large", text="An elephant. " + "x" * 70 + "\r\n" * 2**20))
    mirrored.changes = {"mirror_max_mb": 1}
    await mirrored.sync()
    assert found(mirrored.mirror, "elephant") == ["large"]
    (ref,) = mirrored.rows()
    with mirrored.mirror.snapshot() as connection:
        assert raw_of(connection, ref) is None


async def test_of_a_message_that_is_too_large_all_words_and_names_are_found_wherever_they_are(
    mirrored: Mirrored,
) -> None:
    mail = EmailMessage()
    mail["Subject"] = "large"
    mail.set_content("An elephant.")
    mail.add_attachment(b"x" * 2**20, maintype="application", subtype="zip", filename="first.zip")
    mail.add_attachment("A walrus.", disposition="inline")
    mail.add_attachment(b"y", maintype="application", subtype="zip", filename="penguin.zip")
    with mirrored.client() as client:
        client.append("INBOX", "", None, mail.as_bytes(policy=SMTP))
    mirrored.changes = {"mirror_max_mb": 1}
    await mirrored.sync()
    assert found(mirrored.mirror, "elephant") == found(mirrored.mirror, "walrus") == ["large"]
    (ref,) = mirrored.rows()
    with mirrored.mirror.snapshot() as connection:
        assert search(connection, Query(Filename("penguin")), limit=10, offset=0).total == 1
    with mirrored.mirror.snapshot() as connection:
        assert raw_of(connection, ref) is None


async def test_of_one_that_the_server_does_not_take_apart_the_beginning_is_found(mirrored: Mirrored) -> None:
    without_boundary = letter("large", text="--x\r\n\r\nAn elephant.\r\n" + ("x" * 70 + "\r\n") * 2**15)
    without_boundary = b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed\r\n" + without_boundary
    with mirrored.client() as client:
        client.append("INBOX", "", None, without_boundary)
    mirrored.changes = {"mirror_max_mb": 1}
    await mirrored.sync()
    assert found(mirrored.mirror, "elephant") == ["large"]


async def test_only_messages_of_the_wanted_age_are_there_and_newer_ones_are_added(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        client.append("INBOX", "", '"01-Jan-2020 10:00:00 +0000"', letter("ancient"))
    mirrored.changes = {"mirror_days": 30}
    await mirrored.sync()
    seeded(mirrored, 1)
    await mirrored.sync()
    assert [row.subject for row in mirrored.rows().values()] == ["INBOX0"]
    assert mirrored.mirror.status().complete

    mirrored.changes = {}
    await mirrored.sync()
    assert {row.subject for row in mirrored.rows().values()} == {"INBOX0", "ancient"}


@pytest.mark.parametrize("mode", ["full", "headers"])
async def test_old_messages_that_were_copied_into_a_folder_hide_no_newer_ones(mirrored: Mirrored, mode: str) -> None:
    seeded(mirrored, 3)
    with mirrored.client() as client:
        for number in range(60):  # more than a first page
            client.append("INBOX", "", '"01-Jan-2020 10:00:00 +0000"', letter(f"ancient{number}"))
    mirrored.changes = {"mirror": mode, "mirror_days": 30}
    await mirrored.sync()
    assert {row.subject for row in mirrored.rows().values()} == {"INBOX0", "INBOX1", "INBOX2"}

    mirrored.changes = {"mirror": mode}
    await mirrored.sync()
    assert len(mirrored.rows()) == 63


async def test_bodies_are_fetched_when_they_are_wanted_later(mirrored: Mirrored) -> None:
    seeded(mirrored, 2)
    mirrored.changes = {"mirror": "headers"}
    await mirrored.sync()
    mirrored.changes = {}
    await mirrored.sync()
    assert found(mirrored.mirror, "word1x") == ["INBOX1"]
    assert not mirrored.mirror.path.with_suffix(".damaged").exists()


async def test_a_second_process_leaves_it_to_the_first(mirrored: Mirrored) -> None:
    lock = mirrored.mirror.lock()
    assert lock is not None
    with pytest.raises(Conflict, match="Another process"):
        await mirrored.sync()
    lock.close()
    await mirrored.sync()


async def test_what_nobody_thought_of_is_an_error_of_this_account_alone(mirrored: Mirrored) -> None:
    """One process keeps the mirrors of all accounts. The error's own text may be anything, so it is not repeated."""

    class Defective(ImapMailbox):
        async def folder_states(self) -> list[FolderState]:
            raise OverflowError("what the message says")

    account = imap_account(mirrored.dovecot, mirrored.user, mirror="full")
    mailbox = Defective(account, ProviderContext(mirrored.mirror.path.parent))
    try:
        async with Syncing(mirrored.mirror, mailbox, account) as syncing:
            with pytest.raises(ProviderError, match="OverflowError in test_syncing"):
                await syncing.once()
            with pytest.raises(ProviderError, match="OverflowError in test_syncing"):
                await syncing.catch_up()
    finally:
        await mailbox.close()
    assert "OverflowError" in mirrored.mirror.status().last_error
    assert "what the message says" not in mirrored.mirror.status().last_error
    await mirrored.sync()
    assert mirrored.mirror.status().complete


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE content SET content = zeroblob(length(content)), form = 1",
        "UPDATE mail SET date = '202v-06-01T10:00:00+00:00'",
        "UPDATE mail SET people = '[[[]'",
    ],
)
async def test_damage_that_only_we_can_notice_is_noticed_when_a_message_is_read(
    mirrored: Mirrored, damage: str
) -> None:
    """SQLite keeps no checksums."""
    seeded(mirrored, 1)
    await mirrored.sync()
    (ref,) = mirrored.rows()
    with mirrored.mirror.transaction() as connection:
        connection.execute(damage)
    with pytest.raises(ProviderError, match="damaged"), mirrored.mirror.snapshot() as connection:
        message_of(connection, ref)
    assert mirrored.mirror.is_rebuild_asked
    await mirrored.sync()
    with mirrored.mirror.snapshot() as connection:
        message = message_of(connection, ref)
    assert message is not None
    assert message.envelope.subject == "INBOX0"


@pytest.mark.parametrize("damage", ["header", "middle"])
async def test_a_damaged_mirror_is_set_aside_and_filled_again(mirrored: Mirrored, damage: str, tmp_path: Path) -> None:
    seeded(mirrored, 60)
    await mirrored.sync()
    reader = Mirror(mirrored.mirror.path)
    assert found(reader, "word7x") == ["INBOX7"]
    mirrored.mirror.close()
    reader.close()
    content = bytearray(mirrored.mirror.path.read_bytes())
    start = 0 if damage == "header" else 8192
    content[start : start + 60_000] = b"\xa5" * len(content[start : start + 60_000])
    mirrored.mirror.path.write_bytes(bytes(content))

    with suppress(PostroomError):
        found(reader, "word7x")  # whoever notices it first
    await mirrored.sync()

    assert mirrored.mirror.status().messages == 60
    assert mirrored.mirror.path.with_suffix(".damaged").exists()
    assert found(reader, "word7x") == ["INBOX7"]  # the file that was open before is not used any more
    reader.close()
    mirrored.mirror.remove()
    assert list(mirrored.mirror.path.parent.iterdir()) == []


async def test_a_reset_fills_it_again(mirrored: Mirrored) -> None:
    seeded(mirrored, 3)
    await mirrored.sync()
    mirrored.mirror.ask_for_rebuild("reset")
    await mirrored.sync()
    assert mirrored.mirror.status().messages == 3
    assert not mirrored.mirror.is_rebuild_asked


def test_removing_a_mirror_leaves_those_of_accounts_with_a_longer_name(tmp_path: Path) -> None:
    for name in ("john", "john.db-x"):
        mirror_path(tmp_path, name).parent.mkdir(exist_ok=True)
        mirror_path(tmp_path, name).touch()
    Mirror(mirror_path(tmp_path, "john")).remove()
    assert [path.name for path in (tmp_path / "mirrors").iterdir()] == ["john.db-x.db"]
