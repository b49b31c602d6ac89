"""Files that an earlier Postroom wrote go on working: each step of the schema, on a file of the version before."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from postroom.model import words
from postroom.model.query.tree import Correspondent, Query, Text
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox
from postroom.settings import LocalAccount

MAIL = "From: Ada <ada@x.example>\nSubject: {0}\nDate: Mon, 15 Jun 2026 12:00:00 +0000\n\nThe {0} ship, Zoë.\n"


async def opened(path: Path) -> LocalMailbox:
    account = LocalAccount(name="me", address="me@demo.example", path=path)
    mailbox = LocalMailbox(account, ProviderContext(path.parent, (account,)))
    await mailbox.connect()
    return mailbox


def made_first_version(path: Path) -> None:
    """All words of a mail in one piece."""
    with sqlite3.connect(path) as file:
        for key, words, body in file.execute("SELECT id, words, body FROM mail_text").fetchall():
            whole = [*json.loads(words), zlib.decompress(body).decode()]
            file.execute(
                "UPDATE mail_text SET words = ? WHERE id = ?", (zlib.compress(json.dumps(whole).encode()), key)
            )
        file.execute("ALTER TABLE mail_text DROP COLUMN body")
        file.execute("PRAGMA user_version = 1")
    file.close()


async def found(mailbox: LocalMailbox, word: str) -> list[str]:
    page = await mailbox.search(Query(Text(word)), limit=10, offset=0)
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
    for table in (words._WORDS, words._FOLDED):
        monkeypatch.setitem(table, ord("ß"), "ß")
    mailbox = await opened(tmp_path / "me.db")
    old = await mailbox.create_draft(letter.encode())
    assert await found(mailbox, "strasse") == []
    await mailbox.close()
    monkeypatch.undo()
    with sqlite3.connect(tmp_path / "me.db") as file:
        file.execute("PRAGMA user_version = 2")
    file.close()

    mailbox = await opened(tmp_path / "me.db")
    assert await found(mailbox, "strasse") == await found(mailbox, "straße") == ["Straße"]
    page = await mailbox.search(Query(Correspondent("from", "weiss")), limit=10, offset=0)
    assert page.total == 1
    await mailbox.delete_draft(old.ref)
    assert await found(mailbox, "strasse") == await found(mailbox, "gasse") == []
    await mailbox.close()
