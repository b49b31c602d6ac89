"""The page on adding a dialect is true: the dialect it shows is added to a server and driven by a client."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from tests.architecture.tree import ROOT
from tests.dialects.conftest import local_settings
from tests.flows.caller import text_of

from postroom.doors.mcp import dialects
from postroom.doors.mcp.serve import server_for
from postroom.providers.layers.layered import unwrapped
from postroom.settings import SettingsError
from postroom.settings.dialects import TRAITS, Traits

MAIL = b"From: Eve <eve@demo.example>\r\nSubject: Ladder\r\nDate: Sun, 15 Nov 2026 10:00:00 +0000\r\n\r\nLong.\r\n"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Settings that speak the dialect of the page, which is there for as long as the test lasts."""
    page = (ROOT / "docs" / "adding-a-dialect.md").read_text()
    module, row = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "dialects").mkdir()
    (tmp_path / "dialects" / "tiny.py").write_text(module)
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, str(tmp_path / "dialects")])
    rows = {}
    exec(row, {"TRAITS": rows, "Traits": Traits, "frozenset": frozenset})
    monkeypatch.setitem(TRAITS, "tiny", rows["tiny"])
    settings = local_settings(tmp_path / "home", "postroom")
    server = settings.server.model_copy(update={"dialect": "tiny", "toolsets": rows["tiny"].toolsets})
    yield replace(settings, server=server)
    sys.modules.pop("postroom.doors.mcp.dialects.tiny", None)


@pytest.fixture
async def served(tiny):
    server = server_for(tiny)
    async with Client(server) as client:
        yield client, server.gateway.opened


async def test_a_dialect_is_added_with_tools_numbers_and_sentences_of_its_own(served):
    client, gateway = served
    ref = await unwrapped((await gateway.accounts.open()).mailbox).add_message(MAIL)
    assert [tool.name for tool in (await client.list_tools()).tools] == ["latest", "show"]
    assert (await client.list_prompts()).prompts == []
    assert (await client.list_resources()).resources == []
    answer = await client.call_tool("latest", {})
    assert answer.structured_content == {"mails": [{"number": int(ref), "subject": "Ladder"}]}
    assert text_of(await client.call_tool("show", {"number": int(ref)})).strip() == "Long."


async def test_its_errors_are_worded_by_itself_also_as_errors_of_the_protocol(served):
    client, _ = served
    with pytest.raises(MCPError) as refused:
        await client.call_tool("show", {"number": 4711})
    error = refused.value.error
    assert (error.code, error.message) == (INVALID_PARAMS, "No message has the number 4711.")
    assert error.data == {"reason": "unknown_id"}
    result = await client.call_tool("latest", {"count": "many"})
    assert (result.is_error, text_of(result)) == (True, "Sorry, latest did not work.")


async def test_what_its_row_wants_audited_is_audited_and_nothing_else(served):
    client, gateway = served
    await client.call_tool("latest", {})
    with pytest.raises(MCPError):
        await client.call_tool("show", {"number": 4711})
    entries = gateway.store.audit.recent(10)
    assert [(entry["action_type"], entry["result"], entry["error"]) for entry in entries] == [
        ("show", "error", "NOT_FOUND")
    ]


def test_a_dialect_that_is_not_there_is_refused_by_name(tiny):
    absent = replace(tiny, server=tiny.server.model_copy(update={"dialect": "pigeon"}))
    with pytest.raises(SettingsError, match=r"has no dialect pigeon; choose one of .*, tiny"):
        server_for(absent)
