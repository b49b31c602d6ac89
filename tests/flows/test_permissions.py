"""What each tool asks of its provider is what docs/permissions.md says it needs, and no more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.dialects.conftest import local_settings
from tests.dialects.vault_rig import desk_on, letter, on_local
from tests.flows.caller import Caller
from tests.flows.every_tool import MORE, RIGHT, filled, value_at

from postroom.doors.mcp.permission_table import _OTHER_RIGHTS, rights_of
from postroom.doors.mcp.serve import server_for
from postroom.doors.mcp.server import dialect_names, load_dialect
from postroom.model.errors import InvalidRequest
from postroom.providers.layers.log import Log
from postroom.providers.layers.verbs import READING, WRITING
from postroom.providers.oauth.scopes import SCOPES
from postroom.providers.permissions import LOGINS, RIGHT_OF, RIGHTS
from postroom.providers.registry import MAILBOXES
from postroom.service.accounts.permissions import LoginKind, login_kinds
from postroom.settings import Settings

Used = dict[str, set[str]]
_SENDS = ("send_email", "reply_email", "forward_email")


@pytest.fixture
def settings(make_settings: Callable[..., Settings]) -> Settings:
    """Of the flows, with a gate that lets go what is confirmed."""
    made = make_settings(toolsets=[toolset.name for toolset in load_dialect("postroom").TOOLSETS])
    return replace(made, safety=made.safety.model_copy(update={"gate": "confirm"}))


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Used:
    """Tool -> the rights that its calls used. The test says which tool is at work under the key "now"."""
    seen: Used = defaultdict(set)
    real = Log._line

    def line(self: Log, verb: str, started: float, outcome: str) -> None:
        seen[next(iter(seen["now"]), "nobody")].add(RIGHT_OF.get(verb, "read"))
        real(self, verb, started, outcome)

    monkeypatch.setattr(Log, "_line", line)
    return seen


def declared(dialect: str) -> dict[str, set[str]]:
    return {spec.name: set(rights_of(spec)) for toolset in load_dialect(dialect).TOOLSETS for spec in toolset.specs}


def check(dialect: str, used: Used, *, unseen: dict[str, set[str]] | None = None) -> None:
    """`unseen`: what a tool needs only on other providers, or in a case that the calls did not come to."""
    for tool, rights in declared(dialect).items():
        needed = used[tool] - {"organise"} if "send" in rights else used[tool]  # marking the original may fail
        assert needed | (unseen or {}).get(tool, set()) == rights, tool


async def test_the_tools_of_the_default_dialect_need_what_the_table_says(call: Caller, used: Used) -> None:
    kept: dict[str, Any] = {}

    async def do(tool: str, **arguments: Any) -> dict[str, Any]:
        used["now"] = {tool}
        result = await call(tool, **arguments)
        return result.structured_content or {}

    for one in (*RIGHT, *MORE):
        answer = await do(one["tool"], **filled(one, kept))
        kept.update({name: value_at(answer, path) for name, path in one["keep"].items()})
        if one["tool"] in _SENDS:
            await do(one["tool"], **{**filled(one, kept), "confirm": True})
    kept["draft"] = (await do("create_draft", to="sam@demo.example", subject="Last", body="Bye"))["draft_id"]
    for confirm in (False, True):
        await do("send_draft", draft_id=kept["draft"], confirm=confirm)
    unseen = {
        "cancel_send": {"send"},
        "unsubscribe": {"read", "send"},
        "answer_invitation": {"read", "send"},
        "run_rule": {"organise", "send"},
        "get_vacation": {"read", "vacation"},  # a local mailbox has none
        "set_vacation": {"read", "vacation"},
    }
    check("postroom", used, unseen=unseen)


async def test_the_tools_of_drafts_need_what_the_table_says(tmp_path: Path, used: Used) -> None:
    async with Client(server_for(local_settings(tmp_path, "drafts"))) as client:
        call = Caller(client)

        async def do(tool: str, **arguments: Any) -> dict[str, Any]:
            used["now"] = {tool}
            result = await call.client.call_tool(tool, arguments)
            return result.structured_content or {}

        mail = {"to": "bob@demo.example", "subject": "One", "body": "1"}
        uid = (await do("create_draft", **mail))["uid"]
        await do("update_draft", uid=uid, **mail)
        for tool in ("list_folders", "list_emails"):
            await do(tool)
        await do("search_emails", query="one")
        await do("read_email", uid=uid, folder="Drafts")
        await do("draft_reply", uid=uid, body="x")
    check("drafts", used, unseen={"draft_reply": {"drafts"}})  # there was nothing in the inbox to reply to


async def test_the_tools_of_vault_need_what_the_table_says(tmp_path: Path, used: Used) -> None:
    async with desk_on(on_local(), tmp_path) as desk:
        await desk.put(letter(sender="bob@demo.example"))
        used["now"] = {"search_email"}
        message, thread = await desk.found("offer")
        mail = {"to": "bob@demo.example", "subject": "One", "body": "1"}
        desk.approve(to="bob@demo.example")
        desk.approve("email_reply", "re.md", thread_id=thread)
        for tool in ("draft_email", "send_email"):
            used["now"] = {tool}
            await desk(tool, **mail)
        used["now"] = {"reply_email"}
        await desk("reply_email", thread_id=thread, message_id=message, body="Gladly")
        assert not desk.failed
    check("vault", used)


def test_every_provider_that_can_be_opened_has_a_column_and_no_other() -> None:
    kinds = list(login_kinds())
    assert list(dict.fromkeys(kind.provider for kind in kinds)) == list(MAILBOXES)
    assert set(LOGINS) <= set(MAILBOXES)
    oauth = {(kind.service, kind.provider) for kind in kinds if kind.service}
    assert oauth == {pair for pair in SCOPES if pair[1] in MAILBOXES}


def test_every_method_that_changes_something_has_a_right() -> None:
    assert WRITING <= set(RIGHT_OF) <= WRITING | READING
    assert set(RIGHT_OF.values()) <= set(RIGHTS)


def test_exceptions_name_tools_that_exist() -> None:
    assert set(_OTHER_RIGHTS) <= {tool for dialect in dialect_names() for tool in declared(dialect)}


def test_a_login_is_asked_for_the_same_scopes_that_the_table_shows() -> None:
    assert LoginKind("imap", "microsoft").least(["read", "send"]) == (
        "offline_access",
        "https://outlook.office.com/IMAP.AccessAsUser.All",
        "https://outlook.office.com/SMTP.Send",
    )
    assert LoginKind("imap").least(["read"]) == ("IMAP",)
    assert LoginKind("imap").least(["read", "send"]) == ("IMAP", "SMTP")
    with pytest.raises(InvalidRequest):
        replace(LoginKind("imap", "microsoft"), service="nobody").least(["read"])
