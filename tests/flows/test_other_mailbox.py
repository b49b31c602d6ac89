"""An account's name that comes to stand for another mailbox, which numbers its messages as the first one did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from imapclient import IMAPClient
from mcp import Client
from tests.flows.caller import Caller
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot

from postroom.doors.mcp.server import build_server
from postroom.model.ids import Kind
from postroom.service.accounts import mirrors
from postroom.settings import Settings, build
from postroom.store import open_store
from postroom.wiring import open_gateway

pytestmark = pytest.mark.anyio

FOLDER = "Plans"
Run = Callable[[str], AbstractAsyncContextManager[Caller]]


@pytest.fixture
def users(dovecot: Dovecot) -> tuple[str, str]:
    """Two mailboxes of one server with equal UIDVALIDITY and UIDs."""
    first, second = (dovecot.new_user(name) for name in ("first", "second"))
    for user in (first, second):
        with IMAPClient(dovecot.host, dovecot.imap, ssl=False, timeout=20) as client:
            client.login(user, PASSWORD)
            client.append("INBOX", letter(f"of-{user}", subject=f"Of {user}"))
    dovecot.number_alike(first, second)
    return first, second


@pytest.fixture(params=["off", "full"])
def run(dovecot: Dovecot, tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    def settings_for(user: str) -> Settings:
        account = {
            "name": "work", "provider": "imap", "address": user, "host": dovecot.host, "port": dovecot.imap,
            "security": "none", "password": PASSWORD, "mirror": request.param,
        }  # fmt: skip
        return build({"accounts": [account]}, home=tmp_path)

    @asynccontextmanager
    async def run_for(user: str) -> AsyncIterator[Caller]:
        settings = settings_for(user)
        if request.param != "off":
            async with open_gateway(settings) as gateway:
                (synced,) = await mirrors.sync(gateway, settings.accounts)
                assert not synced.error
        async with Client(build_server(lambda: open_gateway(settings), settings)) as client:
            yield Caller(client)

    return run_for


async def listed(call: Caller) -> dict[str, Any]:
    (row,) = (await call.ok("list_emails"))["results"]
    return row


async def test_ids_of_the_old_mailbox_name_nothing_in_the_new_one_and_are_valid_again_when_it_is_back(
    run: Run, users: tuple[str, str], tmp_path: Path
) -> None:
    first, second = users
    async with run(first) as call:
        old = await listed(call)
        draft = await call.ok("create_draft", to=["bob@example.org"], subject="Lunch?", body="At noon?")
    async with run(second) as call:
        for tool, given in (
            ("read_email", {"email_id": old["email_id"]}),
            ("get_thread", {"thread_id": old["thread_id"]}),
            ("update_draft", {"draft_id": draft["draft_id"], "body": "At one?"}),
        ):
            refused = await call.error(tool, **given)
            assert (refused["code"], "get a current" in refused["message"]) == ("NOT_FOUND", True)
        new = await listed(call)
        assert (await call.ok("read_email", email_id=new["email_id"]))["subject"] == f"Of {second}"
    async with run(first) as call:
        assert (await call.ok("read_email", email_id=old["email_id"]))["subject"] == f"Of {first}"
        assert (await call.error("read_email", email_id=new["email_id"]))["code"] == "NOT_FOUND"
    assert refs_of(tmp_path, old, new) == 1, "the refs were to be equal"


def refs_of(home: Path, *rows: dict[str, Any]) -> int:
    """How many different refs are behind the ids of these messages."""
    store = open_store(home / "state.db")
    with store._database.read() as connection:
        found = connection.execute("SELECT handle, ref FROM handles WHERE kind = ?", (Kind.EMAIL,)).fetchall()
    store.close()
    refs = dict(map(tuple, found))
    return len({refs[row["email_id"]] for row in rows})


async def test_what_was_done_in_the_old_mailbox_is_not_undone_in_the_new_one(run: Run, users: tuple[str, str]) -> None:
    first, second = users
    async with run(first) as call:
        marked = await call.ok("mark_email", email_id=(await listed(call))["email_id"], flag="starred")
        made = await call.ok("create_folder", name=FOLDER)
    async with run(second) as call:
        await call.ok("mark_email", email_id=(await listed(call))["email_id"], flag="starred")
        await call.ok("create_folder", name=FOLDER)
        undone = await call("undo", operation_id=marked["operation_id"])
        assert undone.is_error
        assert undone.structured_content is not None
        assert undone.structured_content["results"][0]["error"]["code"] == "NOT_FOUND"
        assert (await call.error("undo", operation_id=made["operation_id"]))["code"] == "NOT_FOUND"
        assert (await listed(call))["starred"]
        assert FOLDER in [one["name"] for one in (await call.ok("list_folders"))["folders"]]
    async with run(first) as call:
        assert (await call.ok("undo", operation_id=marked["operation_id"]))["succeeded"] == 1
        await call.ok("undo", operation_id=made["operation_id"])
        assert not (await listed(call))["starred"]
