"""What is used of the SDK beyond its public face is still there, still means the same, and is used in one module."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.tools import Tool
from tests.architecture.tree import ROOT

from postroom.doors.mcp import sdk_internals
from postroom.doors.mcp.serve import server_for
from postroom.settings import build

DOOR = ROOT / "src" / "postroom" / "doors" / "mcp"


def private_uses(tree: ast.AST) -> list[int]:
    """Lines that reach for a private attribute of something that is not the object itself."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


def test_only_one_module_reaches_past_the_public_face() -> None:
    found = {path.name for path in DOOR.rglob("*.py") if private_uses(ast.parse(path.read_text()))}
    assert found == {"sdk_internals.py"}


def test_the_server_inside_takes_handlers_and_runs_on_streams() -> None:
    lowlevel = sdk_internals.lowlevel_server(MCPServer("x"))
    assert isinstance(lowlevel, Server)
    assert callable(lowlevel.add_request_handler)
    assert lowlevel.create_initialization_options().server_name == "x"


async def test_a_request_knows_its_connection_and_that_keeps_state_until_it_ends() -> None:
    seen: list[Connection] = []
    ended: list[bool] = []
    server: MCPServer[Any] = MCPServer("x")

    @server.tool()
    async def look(ctx: Context[Any, Any]) -> str:
        connection = sdk_internals.connection_of(ctx.request_context)
        if not seen:
            connection.exit_stack.callback(ended.append, True)
            connection.state["mine"] = 1
        seen.append(connection)
        return "ok"

    async with Client(server, mode="legacy") as client:
        await client.call_tool("look", {})
        await client.call_tool("look", {})
    assert seen[0] is seen[1]
    assert seen[0].state["mine"] == 1
    assert seen[0].has_standalone_channel
    assert callable(seen[0].send_resource_updated)
    assert ended == [True]


def test_a_declared_output_schema_is_what_the_list_of_tools_shows() -> None:
    tool = Tool.from_function(lambda: "x", name="x", structured_output=False)
    sdk_internals.declare_output(tool, {"type": "object", "properties": {"a": {"type": "string"}}})
    assert tool.output_schema == {"type": "object", "properties": {"a": {"type": "string"}}}


def test_no_attribute_of_ours_covers_one_of_the_sdks(tmp_path: Path) -> None:
    account = {"name": "a", "provider": "local", "address": "a@demo.example"}
    ours = vars(server_for(build({"accounts": [account]}, home=tmp_path)))
    theirs = vars(MCPServer("x"))
    assert set(theirs) <= set(ours)
    mine = {name for name in ours if name not in theirs}
    assert mine == {
        "gateway", "listening", "_client",
        "_dialect", "_traits", "_resources", "_inboxes", "_toolset_of", "_registered",
        "_failure", "metrics", "plain_calls",
    }  # fmt: skip
    assert not mine & set(dir(MCPServer))
