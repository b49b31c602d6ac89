"""Whatever is asked of a mailbox that has an index, the embedded one or the mirror of a server: an answer or a clear
error, and words of every script are found."""

from __future__ import annotations

import imaplib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.flows.caller import Caller, text_of
from tests.peers.accounts import imap_account, opened
from tests.peers.dovecot import PASSWORD, Dovecot

from postroom.doors.mcp.serve import server_for
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.settings import Settings, build
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.following.syncing import Syncing

KINDS = ("local", "mirrored")
TEXTS = {
    "arabic": "مرحبا بالعالم",
    "hebrew": "שלום עולם",
    "japanese": "御請求書在中です。よろしくお願いします",
    "thai": "สวัสดีชาวโลก",
    "accents": "Zoë ging ins Café, über die Brücke, naïve Ångström",
    "sql": "Robert'); DROP TABLE mail;--",
}
FOUND = {
    "مرحبا": "arabic",
    "بالعالم": "arabic",
    "שלום": "hebrew",
    "請求書": "japanese",
    "お願い": "japanese",
    "ชาว": "thai",
    "cafe": "accents",
    "UBER": "accents",
    "Ångström": "accents",
    "angstrom": "accents",
    '"DROP TABLE"': "sql",
}
ODD = (
    "*", "****", "* * *", "a*b*c*", "?", "%", "_", "-", "--", "-*", "+", "^a", "\\", "\u202eabc\u202c", "\u200b",
    "x" * 2_000, "漢" * 2_000, "(" * 2_000, "-" * 2_000, "a OR " * 400, "a* " * 600,
    "x" * 10_000, "word " * 2_000, "(" * 5_000, '"' * 999, "-" * 3_000, "a OR " * 1_500, "é" * 10_000, "漢" * 10_000,
    '"unbalanced', '"a" "b', "subject:\"open", "'", "\"'\"'",
    "' OR 1=1 --", "'; DROP TABLE mail; --", "1; ATTACH DATABASE 'x' AS y", "SELECT * FROM mail",
    "NEAR(a b)", "a NEAR/2 b", "a AND", "OR", "NOT", "AND OR NOT", "(((", ")", "a)", "{subject body} : x",
    "subject : x", "state:x", "words MATCH 'x'", "col:*", "a:b:c", ":", "::", "from:", "after:yesterday", "larger:-1",
    "after:9999-12-31", "before:9999-12-31", "before:0001-01-02", "larger:99999999999G", "smaller:99999999999G",
    "in:\x00", "\x00", "\ue000", "\U000f0001", "\ud83d", "in:" + "y" * 5_000, "from:" + "z" * 9_000,
)  # fmt: skip


def _letter(key: str, text: str) -> bytes:
    head = f"From: ada@friends.example\r\nTo: me@example.test\r\nSubject: {key}\r\nMessage-ID: <{key}@seed.example>\r\n"
    kind = "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n"
    return f"{head}{kind}\r\n{text}\r\n".encode()


async def _on_server(dovecot: Dovecot, home: Path, letters: list[bytes]) -> Settings:
    user = dovecot.new_user("odd")
    with imaplib.IMAP4(dovecot.host, dovecot.imap) as client:
        client.login(user, PASSWORD)
        for raw in letters:
            client.append("INBOX", "", None, raw)
    account = imap_account(dovecot, user, mirror="full")
    async with (
        opened(account) as mailbox,
        Syncing(Mirror(mirror_path(home, account.name)), mailbox, account) as syncing,
    ):
        await syncing.once()
    return build({"accounts": [account.model_dump(exclude_unset=True) | {"provider": "imap"}]}, home=home)


async def _here(home: Path, letters: list[bytes]) -> Settings:
    account = {"name": "mine", "provider": "local", "address": "me@example.test", "path": "mine.db"}
    settings = build({"accounts": [account]}, home=home)
    mailbox = LocalMailbox(settings.accounts[0], ProviderContext(home=home, neighbours=tuple(settings.accounts)))
    await mailbox.connect()
    await mailbox.add_messages(NewMail(raw=raw, folder="INBOX") for raw in letters)
    await mailbox.close()
    return settings


@pytest.fixture(params=KINDS)
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    async def make(letters: list[bytes]) -> Settings:
        if request.param == "local":
            return await _here(tmp_path, letters)
        return await _on_server(request.getfixturevalue("dovecot"), tmp_path, letters)

    return make


@pytest.fixture
async def call(made: Any) -> AsyncIterator[Caller]:
    settings = await made([_letter(key, text) for key, text in TEXTS.items()])
    async with Client(server_for(settings)) as client:
        yield Caller(client)


async def test_every_query_gets_an_answer_or_a_clear_error(call: Caller) -> None:
    for query in ODD:
        with anyio.fail_after(20):
            result = await call("search_emails", query=query)
        if result.is_error:
            assert result.structured_content is not None
            error = result.structured_content["error"]
            assert error["code"] in ("INVALID_REQUEST", "NOT_FOUND"), (query[:40], text_of(result)[:300])
            assert len(error["message"]) < 1_000, query[:40]
    assert len((await call.ok("list_emails"))["results"]) == len(TEXTS), "and nothing came of the SQL"


async def test_words_of_every_script_are_found_with_and_without_spaces_and_accents(call: Caller) -> None:
    for query, subject in FOUND.items():
        found = await call.ok("search_emails", query=query)
        assert [row["subject"] for row in found["results"]] == [subject], query


async def test_an_empty_mailbox_has_answers_too(made: Any) -> None:
    async with Client(server_for(await made([]))) as client:
        call = Caller(client)
        for tool, arguments in (
            ("list_emails", {}),
            ("list_emails", {"offset": 500}),
            ("search_emails", {"query": "a"}),
        ):
            found = await call.ok(tool, **arguments)
            assert (found["results"], found["total_count"], found["has_more"]) == ([], 0, False), tool
        await call.ok("list_folders")


async def test_a_query_that_is_too_long_is_refused_with_the_same_limit_however_long_it_is(call: Caller) -> None:
    assert (await call.ok("search_emails", query="a" * 1000))["results"] == []
    for length in (1001, 2500):
        error = await call.error("search_emails", query="a" * length)
        assert error["code"] == "INVALID_REQUEST"
        assert "1000 characters" in error["message"]
