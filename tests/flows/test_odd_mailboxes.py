"""Over IMAP, with a mirror and without: mails and folders that other programs made in their own way are reached by what
is shown of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from imapclient.imap_utf7 import encode
from mcp import Client
from tests.flows.caller import Caller
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.unit.sync.conftest import Mirrored

from postroom.doors.mcp.server import build_server
from postroom.settings import build
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.wiring import open_gateway

pytestmark = pytest.mark.anyio

FOLDERS = ("会議　資料", "trailing ", "two  spaces", "zero\u200bwidth", "Cafe\u0301", 'say "hi"', "back\\slash")
ARRIVED = '"01-Jun-2026 10:00:00 +0000"'


def letter(subject: str, *headers: str) -> bytes:
    return "\r\n".join(["From: Ada <ada@friends.example>", f"Subject: {subject}", *headers, "", "Hello.", ""]).encode()


@pytest.fixture
def mirrored(dovecot: Dovecot, tmp_path: Path) -> Mirrored:
    made = Mirrored(dovecot, dovecot.new_user("odd"), Mirror(mirror_path(tmp_path, "work")), {})
    with made.client() as client:
        for number, name in enumerate(FOLDERS):
            quoted = '"' + encode(name).decode().replace("\\", "\\\\").replace('"', '\\"') + '"'
            assert client.create(quoted)[0] == "OK"
            client.append(quoted, "", ARRIVED, letter(f"filed{number}", f"Message-ID: <filed{number}@seed.example>"))
        for name in ("first", "second", "third"):
            answers = "Message-ID: <first@seed.example>" if name == "first" else "References: <first@seed.example>"
            client.append("INBOX", "", ARRIVED, letter(name, "Date: Mon, 1 Jun 2020 10:00:00 +0000", answers))
        client.append("Archive", "", ARRIVED, letter("ancient", "Date: Fri, 14 Feb 1969 03:02:54 +0000"))
        client.append("INBOX", "", ARRIVED, letter("undated", "Message-ID: <undated@seed.example>"))
        client.append("INBOX", "", ARRIVED, letter("unreadable", "Date: soon", "Message-ID: <soon@seed.example>"))
        client.append("INBOX", "", ARRIVED, letter("nameless", "Date: Mon, 1 Jun 2026 10:00:00 +0000"))
    return made


@pytest.fixture(params=["off", "full"])
async def caller(mirrored: Mirrored, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Caller]:
    if request.param == "full":
        await mirrored.sync()
    account: dict[str, Any] = {
        "name": "work", "provider": "imap", "address": mirrored.user, "host": mirrored.dovecot.host,
        "port": mirrored.dovecot.imap, "security": "none", "password": PASSWORD, "mirror": request.param,
    }  # fmt: skip
    settings = build({"accounts": [account]}, home=tmp_path)
    async with Client(build_server(lambda: open_gateway(settings), settings)) as client:
        yield Caller(client)


def subjects(page: dict[str, Any]) -> list[str]:
    return sorted(row["subject"] for row in page["results"])


async def test_every_folder_is_reached_by_the_name_that_is_shown(caller: Caller) -> None:
    shown = [folder["name"] for folder in (await caller.ok("list_folders"))["folders"] if not folder["role"]]
    found = []
    for name in shown:
        listed = await caller.ok("list_emails", mailbox=name)
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        searched = await caller.ok("search_emails", query=f'in:"{escaped}"')
        assert subjects(listed) == subjects(searched)
        found += subjects(listed)
    assert sorted(found) == [f"filed{number}" for number in range(len(FOLDERS))]


async def test_a_message_without_a_date_is_found_by_the_date_that_is_shown(caller: Caller) -> None:
    undated = ["unreadable", "undated"]
    for query in ("after:2026-05-31 before:2026-06-03", "after:2026-06-01", "-before:2026-06-01", "before:2026-06-02"):
        assert set(undated) <= set(subjects(await caller.ok("search_emails", query=f"in:inbox {query}"))), query
    for query in (
        "before:1990-01-01",
        "before:2026-06-01 after:2021-01-01",
        "after:2026-06-02",
        "-after:2026-06-01 after:2021-01-01",
    ):
        assert subjects(await caller.ok("search_emails", query=f"in:inbox {query}")) == [], query


async def test_a_message_from_before_1970_is_found_there(caller: Caller) -> None:
    for query, found in (("before:1975-01-01", ["ancient"]), ("after:1969-02-14 before:1969-02-15", ["ancient"])):
        assert subjects(await caller.ok("search_emails", query=f"in:archive {query}")) == found
    for query in ("after:1975-01-01", "after:2026-01-01", "-before:1975-01-01", "before:1969-02-14"):
        assert subjects(await caller.ok("search_emails", query=f"in:archive {query}")) == [], query


async def test_a_message_without_a_name_keeps_its_thread_id_when_it_is_moved(caller: Caller) -> None:
    (row,) = (await caller.ok("search_emails", query="subject:nameless"))["results"]
    moved = await caller.ok("move_email", email_id=row["email_id"], to_mailbox="archive")
    for _ in range(2):
        thread = await caller.ok("get_thread", thread_id=row["thread_id"])
        assert [mail["email_id"] for mail in thread["emails"]] == [row["email_id"]]
        await caller("undo", operation_id=moved["operation_id"])


async def test_messages_of_one_second_are_in_a_conversation_as_they_arrived(caller: Caller) -> None:
    listed = (await caller.ok("search_emails", query="in:inbox before:2020-06-02"))["results"]
    thread = await caller.ok("get_thread", thread_id=listed[0]["thread_id"])
    subjects = {row["email_id"]: row["subject"] for row in listed}
    assert [subjects[mail["email_id"]] for mail in thread["emails"]] == ["first", "second", "third"]


async def test_a_discarded_draft_is_no_conversation_and_that_is_said(caller: Caller) -> None:
    draft = await caller.ok("create_draft", to="mia@friends.example", subject="Later", body="Not now.")
    await caller.ok("delete_draft", draft_id=draft["draft_id"])
    error = await caller.error("get_thread", thread_id=draft["thread_id"])
    assert error["code"] == "NOT_FOUND"
    assert "discarded draft" in error["message"]
    assert "another program" not in error["message"]


async def test_the_mark_of_a_forwarded_message_cannot_be_set_as_a_label(caller: Caller) -> None:
    email_id = await caller.email_id("subject:nameless")
    error = await caller.error("apply_label", email_id=email_id, label="$forwarded")
    assert error["code"] == "INVALID_REQUEST"
    assert (await caller.ok("search_emails", query="is:forwarded"))["results"] == []


async def test_a_folder_of_the_same_letters_is_not_created_beside_the_first(caller: Caller) -> None:
    await caller.ok("create_folder", name="Plans/2026")
    error = await caller.error("create_folder", name="PLANS/2026")
    assert error["code"] == "CONFLICT"
    assert "'Plans/2026'" in error["message"]
