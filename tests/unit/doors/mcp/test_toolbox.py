from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from mcp.server.mcpserver import Context
from pydantic import Field

from postroom.doors.mcp.toolbox import Toolset, bind, choose
from postroom.service.gateway import Gateway


class Shape(TypedDict):
    said: str


reading = Toolset("reading")
writing = Toolset("writing")


@reading.tool("Look", returns=Shape, read_only=True, idempotent=True)
async def look(gateway: Gateway, word: Annotated[str, Field(description="A word")], times: int = 1) -> str:
    """Look at it. And more."""
    return f"{gateway}:{word}:{times}"


@writing.tool("Change", destructive=True, open_world=True)
async def change(gateway: Gateway, ctx: Context[Any, Any], word: str) -> str:
    """Change it."""
    return f"{gateway}:{word}:{ctx.request_context.lifespan_context}"


@writing.tool("Take")
async def take(
    gateway: Gateway,
    one: Annotated[str | None, Field(description="A text")] = None,
    many: Annotated[str | Annotated[list[str], Field(max_length=9)], Field(description="Texts")] = "",
    values: dict[str, Any] | None = None,
    from_: str | None = None,
) -> str:
    """Take it."""
    return f"{one}{many}{values}{from_}"


def test_the_gateway_is_no_argument_of_the_tool() -> None:
    tool = bind(reading.specs[0])

    assert list(tool.parameters["properties"]) == ["word", "times"]
    assert tool.parameters["required"] == ["word"]


def test_the_context_is_no_argument_either() -> None:
    assert list(bind(writing.specs[0]).parameters["properties"]) == ["word"]


def test_hints_title_description_and_output_schema_reach_the_tool() -> None:
    tool = bind(reading.specs[0])

    assert (tool.name, tool.title, tool.description) == ("look", "Look", "Look at it. And more.")
    assert tool.output_schema is not None
    assert tool.output_schema["anyOf"] == [{"required": ["said"]}, {"required": ["error"]}]
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert tool.annotations.destructive_hint is False


async def test_the_gateway_of_the_running_server_is_filled_in() -> None:
    class Request:
        lifespan_context = "the house"

    class FakeContext:
        request_context = Request()

    assert await bind(reading.specs[0]).fn(ctx=FakeContext(), word="w", times=2) == "the house:w:2"
    assert await bind(writing.specs[0]).fn(ctx=FakeContext(), word="w") == "the house:w:the house"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"one": "null", "many": "null"}, {"one": "null", "many": "null"}),
        ({"one": '{"a": 1}', "many": '{"a": 1}'}, {"one": '{"a": 1}', "many": '{"a": 1}'}),
        ({"one": '["a"]', "many": '["a"]'}, {"one": '["a"]', "many": ["a"]}),
        ({"values": '{"a": 1}'}, {"values": {"a": 1}}),
        ({"from": '["a"]'}, {"from_": '["a"]'}),
        ({"one": None, "many": "plain"}, {"one": None, "many": "plain"}),
    ],
)
def test_text_is_read_as_json_only_where_it_can_be_nothing_else(given: dict[str, Any], meant: dict[str, Any]) -> None:
    taken = bind(writing.specs[1]).fn_metadata.validate_arguments(given)

    assert {name: taken[name.removesuffix("_")] for name in meant} == meant


def test_only_enabled_toolsets_are_chosen() -> None:
    assert [spec.name for spec in choose([reading, writing], ["reading"], read_only=False)] == ["look"]


def test_read_only_leaves_out_what_writes() -> None:
    everything = choose([reading, writing], ["reading", "writing"], read_only=False)
    harmless = choose([reading, writing], ["reading", "writing"], read_only=True)

    assert [spec.name for spec in everything] == ["look", "change", "take"]
    assert [spec.name for spec in harmless] == ["look"]
