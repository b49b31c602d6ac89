"""A connected client that is short to write with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import CallToolResult


@dataclass(frozen=True)
class Caller:
    """As strict as the strictest client: every answer, errors included, must fit the tool's output schema."""

    client: Client
    _validators: dict[str, Draft202012Validator] = field(default_factory=dict)

    async def __call__(self, tool: str, **arguments: Any) -> CallToolResult:
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        await self.check(tool, result)
        return result

    async def check(self, tool: str, result: CallToolResult) -> None:
        if not self._validators:
            for each in (await self.client.list_tools()).tools:
                assert each.output_schema is not None
                self._validators[each.name] = Draft202012Validator(each.output_schema)
        if tool in self._validators and result.structured_content is not None:
            self._validators[tool].validate(result.structured_content)

    async def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a call that must succeed."""
        result = await self(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must fail."""
        result = await self(tool, **arguments)
        assert result.is_error
        assert result.structured_content is not None
        error: dict[str, Any] = result.structured_content["error"]
        assert text_of(result).startswith(f"{error['code']}: ")
        return error

    async def email_id(self, query: str) -> str:
        """The one mail that a query finds."""
        (row,) = (await self.ok("search_emails", query=query))["results"]
        found: str = row["email_id"]
        return found


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert block.type == "text"
    return block.text
