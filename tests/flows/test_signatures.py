"""Signatures and identities from the client's end: where a signature stands, and whose it is."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.flows.caller import Caller, text_of

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, build

SIGNATURE = "Alex Rivera\nAurora Labs, Berlin"
Desk = Callable[..., AbstractAsyncContextManager[Caller]]


@pytest.fixture
def desk(tmp_path: Path, mailbox_file: Path) -> Desk:
    @asynccontextmanager
    async def opened(**account: Any) -> AsyncIterator[Caller]:
        own = {"name": "alex", "provider": "local", "address": "alex@demo.example", "path": "alex.db", **account}
        other = {"name": "sam", "provider": "local", "address": "sam@demo.example", "path": "sam.db"}
        toolsets = ["read", "drafts", "send", "identities"]
        settings: Settings = build({"accounts": [own, other], "server": {"toolsets": toolsets}}, home=tmp_path)
        shutil.copy(mailbox_file, settings.home / "alex.db")
        async with Client(server_for(settings)) as client:
            yield Caller(client)

    return opened


async def body_of(call: Caller, draft: dict[str, Any], body_format: str = "text") -> str:
    opened = await call.ok("read_email", email_id=draft["email_id"], body_format=body_format, include_quoted=True)
    found: str = opened["untrusted"]["body"]
    return found


async def test_a_new_message_ends_with_the_signature_in_both_versions(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        text = await call.ok("create_draft", to="sam@demo.example", subject="x", body="Hello")
        html = await call.ok("create_draft", to="sam@demo.example", subject="x", body_html="<p>Hello</p>")

        assert (await body_of(call, text)).strip() == f"Hello\n\n-- \n{SIGNATURE}"
        raw = await body_of(call, html, "raw")
        assert "<p>Hello</p><br>\n<div>Alex Rivera<br>\nAurora Labs, Berlin</div>" in raw.replace("\r\n", "\n")


async def test_a_reply_has_it_above_the_quote(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        row = (await call.ok("search_emails", query="from:cy"))["results"][0]
        draft = await call.ok("draft_reply", email_id=row["email_id"], body="Sunday it is.")

        body = await body_of(call, draft)
        assert body.startswith(f"Sunday it is.\n\n{SIGNATURE}\n\nOn ")
        assert body.count("Aurora Labs, Berlin") == 1


async def test_it_is_added_once_however_often_a_draft_changes(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        draft = await call.ok("create_draft", to="sam@demo.example", subject="x", body="One")
        draft = await call.ok("update_draft", draft_id=draft["draft_id"], subject="y")
        assert (await body_of(call, draft)).strip() == f"One\n\n-- \n{SIGNATURE}"
        draft = await call.ok("update_draft", draft_id=draft["draft_id"], body="Two")
        assert (await body_of(call, draft)).strip() == f"Two\n\n-- \n{SIGNATURE}"

        preview = await call.ok("send_draft", draft_id=draft["draft_id"])
        assert preview["preview"]["body_excerpt"].count("Aurora Labs") == 1


async def test_one_that_the_author_wrote_is_not_repeated(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        body = "Hello\n\nAlex Rivera\nAurora Labs, Berlin\n\nPS: bring cake"
        draft = await call.ok("create_draft", to="sam@demo.example", subject="x", body=body)

        assert (await body_of(call, draft)).strip() == body


async def test_it_can_be_switched_off_for_one_message_and_for_an_account(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        draft = await call.ok("create_draft", to="sam@demo.example", subject="x", body="Hi", signature=False)
        assert (await body_of(call, draft)).strip() == "Hi"
    async with desk(signature=SIGNATURE, add_signature=False) as call:
        draft = await call.ok("create_draft", to="sam@demo.example", subject="x", body="Hi")
        assert (await body_of(call, draft)).strip() == "Hi"


async def test_a_person_sees_it_before_it_is_sent_and_an_empty_message_stays_empty(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        preview = await call.ok("send_email", to="sam@demo.example", subject="x", body="Hi")
        assert preview["preview"]["body_excerpt"] == f"Hi\n\n-- \n{SIGNATURE}"
        assert "empty" in (await call.error("send_email", to="sam@demo.example", subject="x", body=" "))["message"]


async def test_an_alias_has_its_own_signature_and_answers_what_was_sent_to_it(desk: Desk) -> None:
    async with desk(signature=SIGNATURE) as call:
        made = await call.ok(
            "create_alias", email="sales@demo.example", name="Sales", signature="<b>The sales team</b>"
        )
        assert (made["email"], made["name"], made["is_default"]) == ("sales@demo.example", "Sales", False)
        await call.ok(
            "send_email", account="sam", to="sales@demo.example", subject="Price?", body="How much?", confirm=True
        )
        assert (await call.error("create_alias", email="sales@demo.example"))["code"] == "CONFLICT"

        draft = await call.ok("create_draft", to="sam@demo.example", body="Hi", identity="sales@demo.example")
        assert (await body_of(call, draft)).strip() == "Hi\n\n-- \nThe sales team"
        assert "From: Sales <sales@demo.example>" in await body_of(call, draft, "raw")


async def test_reply_and_forward_are_written_as_the_address_that_was_written_to(desk: Desk) -> None:
    async with desk(name="alex", signature=SIGNATURE) as call:
        await call.ok("create_alias", email="sales@demo.example", signature="Sales")
        note = await call.ok("create_draft", to="sales@demo.example", subject="Price?", body="How much?")

        for tool, more in (
            ("draft_reply", {"body": "9"}),
            ("draft_forward", {"to": "sam@demo.example", "comment": "?"}),
        ):
            draft = await call.ok(tool, email_id=note["email_id"], **more)
            raw = await body_of(call, draft, "raw")
            assert "From: alex@demo.example" in raw  # it was sent from the default, which is listed first
        other = await call.ok("create_draft", to="sales@demo.example", identity="sales@demo.example", body="x")
        draft = await call.ok("draft_reply", email_id=other["email_id"], body="9")
        assert "From: sales@demo.example" in await body_of(call, draft, "raw")


async def test_list_identities_shows_signatures_and_bad_aliases_are_refused(desk: Desk) -> None:
    async with desk(signature="<Alex>") as call:
        (own,) = (await call.ok("list_identities"))["identities"]
        assert own["signature_html"] == "&lt;Alex&gt;"
        for bad in ("no address", "a@b\nc.example", ""):
            assert (await call.error("create_alias", email=bad))["code"] == "INVALID_REQUEST"
        assert (await call.error("create_alias", email="sam@demo.example"))["code"] == "CONFLICT"
        assert "Created new@demo.example" in text_of(await call("create_alias", email="new@demo.example"))
