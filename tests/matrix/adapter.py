"""What the story asks of a dialect. Each verb is one call in the dialect's own words; a dialect without it has none."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from tests.flows.caller import Caller, text_of

from postroom.doors.mcp.server import dialect_names, load_dialect

from .desk import Desk

TOOLS = {spec.name for name in dialect_names() for toolset in load_dialect(name).TOOLSETS for spec in toolset.specs}


class Refused(Exception):
    """A call that failed, by what its caller reads."""


class Adapter:
    unknown: ClassVar[str]  # what the dialect says, as a pattern, of an id that it never showed
    unsupported: ClassVar[str]  # and of what the provider cannot do
    no_folder: ClassVar[str] = "Nowhere"  # and of a folder of that name

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._caller = Caller(desk.client)

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        try:
            result = await self.desk.client.call_tool(tool, arguments)
        except MCPError as error:
            raise await self._refused(f"{error.data['code']}: {error.message}") from None
        assert isinstance(result, CallToolResult)
        if result.structured_content is not None:
            await self._caller.check(tool, result)
        if result.is_error:
            raise await self._refused(self.error_text(result))
        return result

    async def _refused(self, text: str) -> Refused:
        """An error sends nobody to a tool that this dialect has not."""
        own = {tool.name for tool in (await self.desk.client.list_tools()).tools}
        assert TOOLS.intersection(re.findall(r"\w+", text)) <= own, text
        return Refused(text)

    async def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        found = (await self.call(tool, **arguments)).structured_content
        assert found is not None
        return found

    async def text(self, tool: str, **arguments: Any) -> str:
        return text_of(await self.call(tool, **arguments))

    def error_text(self, result: CallToolResult) -> str:
        """The whole error, after a check that it has the dialect's form: by default a sentence alone."""
        assert result.structured_content is None
        assert len(result.content) == 1
        return text_of(result)


def coded(result: CallToolResult) -> str:
    """The form of dialects whose errors have a code: it leads the text, and both say the same."""
    assert result.structured_content is not None
    error = result.structured_content["error"]
    assert text_of(result).startswith(f"{error['code']}: {error['message']}")
    return text_of(result)


def rows_in(text: str, pattern: str) -> dict[str, Any]:
    """Subject -> id, from a listing in words."""
    return dict(re.findall(pattern, text, re.MULTILINE))
