"""Files that an earlier Postroom wrote go on working: each step of the schema, on a file of the version before."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from postroom.index import placing, state
from postroom.model import words
from postroom.model.query.tree import Correspondent, In, Query, Subject, Text
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox
from postroom.settings import LocalAccount

MAIL = "From: Ada <ada@x.example>\nSubject: {0}\nDate: Mon, 15 Jun 2026 12:00:00 +0000\n\nThe {0} ship, Zoë.\n"


async def opened(path: Path, *, read_only: bool = False) -> LocalMailbox:
    account = LocalAccount(name="me", address="me@demo.example", path=path)
    mailbox = LocalMailbox(account, ProviderContext(path.parent, (account,), read_only))
    await mailbox.connect()
    return mailbox


def made_first_version(path: Path) -> None:
    """All words of a mail in one piece."""
    unmark(path)
    with sqlite3.connect(path) as file:
        for key, words, body in file.execute("SELECT id, words, body FROM mail_text").fetchall():
            whole = [*json.loads(words), zlib.decompress(body).decode()]
            file.execute(
                "UPDATE mail_text SET words = ? WHERE id = ?", (zlib.compress(json.dumps(whole).encode()), key)
            )
        file.execute("ALTER TABLE mail_text DROP COLUMN body")
    file.close()
    unfold(path, 1)


def made_older(path: Path, version: int) -> None:
    unmark(path)
    unfold(path, version)


def unmark(path: Path) -> None:
    """Words of subjects only among all others, as in all versions before the fifth."""
    with sqlite3.connect(path) as file:
        for key, texts in file.execute("SELECT id, words FROM mail_text ORDER BY id").fetchall():
            state.exchange(file, [key], drop=state.marked(json.loads(texts)[0]))
        file.execute("PRAGMA user_version = 4")
    file.close()


def unfold(path: Path, version: int) -> None:
    """One folder per mail, as in all versions before the fourth."""
    with sqlite3.connect(path) as file:
        file.execute("DROP TABLE mail_folder")
        for trigger in ("mail_changed_elsewhere", "label_added_elsewhere", "label_removed_elsewhere"):
            file.execute(f"DROP TRIGGER {trigger}")
        file.execute(f"PRAGMA user_version = {version}")
    file.close()


async def found(mailbox: LocalMailbox, word: str) -> list[str]:
    page = await mailbox.search(Query(Text(word)), limit=10, offset=0)
    return [row.subject for row in page.items]


async def titled(mailbox: LocalMailbox, words: str) -> list[str]:
    page = await mailbox.search(Query(Subject(words)), limit=10, offset=0)
    return [row.subject for row in page.items]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="this SQLite cannot drop a column")
async def test_mails_of_the_first_version_are_found_and_can_be_taken_out(tmp_path: Path) -> None:
    mailbox = await opened(tmp_path / "me.db")
    old = await mailbox.create_draft(MAIL.format("amber").encode())
    await mailbox.close()
    made_first_version(tmp_path / "me.db")

    mailbox = await opened(tmp_path / "me.db")
    new = await mailbox.create_draft(MAIL.format("green").encode())
    assert sorted(await found(mailbox, "zoe")) == ["amber", "green"]
    assert await titled(mailbox, "amber") == ["amber"]
    await mailbox.delete_draft(old.ref)
    assert await found(mailbox, "zoe") == ["green"]
    await mailbox.delete_draft(new.ref)
    assert await found(mailbox, "zoe") == []
    assert await found(mailbox, "amber") == []
    await mailbox.close()


async def test_a_sharp_s_of_an_older_file_is_found_as_ss_and_can_be_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = "From: Anton Weiß <a@x.example>\nSubject: Straße\nDate: Mon, 15 Jun 2026 12:00:00 +0000\n\nIn der Gasse.\n"
    for table in (words._WORDS, words._LETTERS_AND_WORDS, words._FOLDED):
        monkeypatch.setitem(table, ord("ß"), "ß")
    mailbox = await opened(tmp_path / "me.db")
    old = await mailbox.create_draft(letter.encode())
    assert await found(mailbox, "strasse") == []
    await mailbox.close()
    made_older(tmp_path / "me.db", 2)
    monkeypatch.undo()

    mailbox = await opened(tmp_path / "me.db")
    assert await found(mailbox, "strasse") == await found(mailbox, "straße") == ["Straße"]
    assert await titled(mailbox, "strasse") == await titled(mailbox, "straße") == ["Straße"]
    page = await mailbox.search(Query(Correspondent("from", "weiss")), limit=10, offset=0)
    assert page.total == 1
    await mailbox.delete_draft(old.ref)
    assert await found(mailbox, "strasse") == await found(mailbox, "gasse") == []
    await mailbox.close()


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_mail_from_before_there_could_be_several_folders_lies_in_its_one(
    tmp_path: Path, read_only: bool
) -> None:
    mailbox = await opened(tmp_path / "me.db")
    ref = await mailbox.add_message(MAIL.format("amber").encode())
    await mailbox.close()
    made_older(tmp_path / "me.db", 3)

    mailbox = await opened(tmp_path / "me.db", read_only=read_only)
    for query in (Query(In("INBOX")), Query(Text("amber"))):
        (row,) = (await mailbox.search(query, limit=5, offset=0)).items
        assert (row.ref, row.folders) == (ref, ("INBOX",))
    await mailbox.close()


async def test_such_a_mail_can_lie_in_several_folders_from_then_on(tmp_path: Path) -> None:
    mailbox = await opened(tmp_path / "me.db")
    ref = await mailbox.add_message(MAIL.format("amber").encode())
    await mailbox.close()
    made_older(tmp_path / "me.db", 3)

    mailbox = await opened(tmp_path / "me.db")
    await mailbox._write(placing.put, [ref], ["Archive", "INBOX"])
    totals = {folder.name: folder.total for folder in await mailbox.folders() if folder.total}
    assert totals == {"Archive": 1, "INBOX": 1}
    for name in totals:
        (row,) = (await mailbox.search(Query(In(name)), limit=5, offset=0)).items
        assert row.folders == ("Archive", "INBOX")
    await mailbox.close()


async def test_a_subject_from_before_its_words_were_marked_is_found_and_can_be_taken_out(tmp_path: Path) -> None:
    mailbox = await opened(tmp_path / "me.db")
    old = await mailbox.create_draft(MAIL.format("Amber röm 会议").encode())
    await mailbox.create_draft(MAIL.format("green").encode())
    await mailbox.close()
    unmark(tmp_path / "me.db")

    mailbox = await opened(tmp_path / "me.db")
    for wanted in ("amber", "AMBER ROM", "会议", "议"):
        assert await titled(mailbox, wanted) == ["Amber röm 会议"]
    assert await titled(mailbox, "ship") == await titled(mailbox, "rom amber") == []
    await mailbox.delete_draft(old.ref)
    assert await titled(mailbox, "amber") == await found(mailbox, "amber") == []
    assert await titled(mailbox, "green") == ["green"]
    await mailbox._write(lambda connection: connection.execute("INSERT INTO words (words) VALUES ('integrity-check')"))
    await mailbox.close()
