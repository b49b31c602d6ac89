"""Toolset `templates` from the client's end, and templates in drafts and sends."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from mcp import Client
from tests.flows.caller import Caller, text_of

from postroom.doors.mcp.serve import server_for
from postroom.settings import Settings, SettingsError, build

WELCOME = """\
---
subject: "Welcome, {{ name }}"
variables:
  name:
  place: Berlin
---
Dear **{{ name }}**,
see you in {{ place }}.
"""


@pytest.fixture
async def call(make_settings: Callable[..., Settings], mailbox_file: Path) -> AsyncIterator[Caller]:
    settings = make_settings(toolsets=["read", "drafts", "send", "templates"])
    shutil.copy(mailbox_file, settings.home / "alex.db")
    settings.templates.dir.mkdir()
    (settings.templates.dir / "welcome.md").write_text(WELCOME)
    async with Client(server_for(settings)) as client:
        yield Caller(client)


async def test_templates_are_listed_with_their_variables(call: Caller) -> None:
    listed = await call.ok("list_templates")

    assert listed["problems"] == []
    assert listed["templates"] == [
        {
            "name": "welcome",
            "format": "markdown",
            "subject": "Welcome, {{ name }}",
            "description": "",
            "variables": [
                {"name": "name", "required": True, "default": "", "description": ""},
                {"name": "place", "required": False, "default": "Berlin", "description": ""},
            ],
        }
    ]


async def test_a_saved_template_can_be_rendered_and_is_replaced_only_on_purpose(call: Caller) -> None:
    await call.ok("save_template", name="thanks", body="Thanks, {{ who }}! {{ more }}", variables={"more": ""})

    made = await call.ok("render_template", name="thanks", variables={"who": "Ann"})
    assert (made["text"].strip(), made["html"]) == ("Thanks, Ann!", "<p>Thanks, Ann! </p>\n")
    assert (await call.error("save_template", name="thanks", body="x"))["code"] == "CONFLICT"
    await call.ok("save_template", name="thanks", body="x", overwrite=True)


async def test_a_draft_from_a_template_has_its_subject_and_both_versions(call: Caller) -> None:
    draft = await call.ok("create_draft", to="sam@demo.example", template="welcome", variables={"name": "Sam"})

    assert draft["subject"] == "Welcome, Sam"
    raw = await call.ok("read_email", email_id=draft["email_id"], body_format="raw")
    assert "Dear **Sam**,\nsee you in Berlin." in raw["untrusted"]["body"].replace("\r\n", "\n")
    assert "<strong>Sam</strong>" in raw["untrusted"]["body"]


async def test_what_a_person_is_shown_is_the_filled_in_message(call: Caller) -> None:
    arguments = {"to": "sam@demo.example", "template": "welcome", "variables": {"name": "Sam", "place": "Rome"}}

    preview = await call.ok("send_email", **arguments)
    assert preview["status"] == "preview"
    assert preview["preview"]["subject"] == "Welcome, Sam"
    assert "see you in Rome" in preview["preview"]["body_excerpt"]

    sent = await call.ok("send_email", **arguments, confirm=True)
    assert sent["status"] == "needs_approval"  # nobody wrote to Sam before: as for a message without a template


async def test_a_subject_of_ones_own_wins_and_a_body_beside_a_template_is_refused(call: Caller) -> None:
    given = {"to": "sam@demo.example", "template": "welcome", "variables": {"name": "Sam"}}

    assert (await call.ok("create_draft", **given, subject="Hi"))["subject"] == "Hi"
    assert "not both" in (await call.error("create_draft", **given, body="x"))["message"]


async def test_mistakes_say_what_to_do_and_save_nothing(call: Caller) -> None:
    missing = await call.error("create_draft", to="sam@demo.example", template="welcome")
    assert (missing["code"], missing["details"]["missing"]) == ("INVALID_REQUEST", ["name"])
    unknown = await call.error("send_email", to="sam@demo.example", template="welcom")
    assert (unknown["code"], unknown["details"]["near"]) == ("NOT_FOUND", ["welcome"])
    assert "Name it in `template`" in (await call.error("create_draft", variables={"name": "x"}))["message"]
    assert "body is missing" in (await call.error("send_email", to="sam@demo.example", subject="x"))["message"]
    assert (await call.ok("list_drafts"))["total_count"] == 0


async def test_a_read_only_server_saves_no_template(make_settings: Callable[..., Settings]) -> None:
    settings = make_settings(toolsets=["templates"], read_only=True)
    async with Client(server_for(settings)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert names == {"list_templates", "render_template"}


@pytest.mark.parametrize("place", ["vault/Approved", "vault", "downloads/templates"])
def test_templates_are_not_kept_where_others_leave_files_or_approvals_are(tmp_path: Path, place: str) -> None:
    account = {"name": "a", "provider": "local", "address": "a@example.com"}

    with pytest.raises(SettingsError, match=r"templates\.dir"):
        build({"accounts": [account], "templates": {"dir": place}}, home=tmp_path)


async def test_text_of_a_listing_names_what_is_required(call: Caller) -> None:
    assert text_of(await call("list_templates")) == "welcome (markdown) | Welcome, {{ name }} | name, place='Berlin'"
