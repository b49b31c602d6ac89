"""Text stays the text that was written, also where it happens to be JSON.

The SDK reads a text as JSON wherever a parameter is more than plain text, since some clients put a list in quotes. So a
body of `{"total": 1}` would be no text any more, and one of `null` would count as left out. Here only what the
parameter can hold besides text is read that way: `'["a@example.com"]'` where it takes a list.
"""

from __future__ import annotations

from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata


class FaithfulText(FuncMetadata):
    """The SDK's reading of arguments, except for what it would make of a text."""

    @cached_property
    def _plain(self) -> frozenset[str]:
        """The parameters of which the SDK reads no text as JSON."""
        fields = self.arg_model.model_fields.items()
        return frozenset(field.alias or name for name, field in fields if field.annotation is str)

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        if not any(isinstance(value, str) and name not in self._plain for name, value in data.items()):
            return data
        read = super().pre_parse_json(data)
        for name, field in self.arg_model.model_fields.items():
            shown = field.alias or name
            if shown in data and read[shown] is not data[shown]:
                kinds = _kinds(field.annotation) - {NoneType}
                if str in kinds and type(read[shown]) not in kinds:
                    read[shown] = data[shown]
        return read


def keep_text(tool: Tool) -> None:
    """Of a tool without an output schema, which is declared later."""
    tool.fn_metadata = FaithfulText(arg_model=tool.fn_metadata.arg_model)


def _kinds(hint: Any) -> set[Any]:
    origin = get_origin(hint)
    if origin is Annotated:
        return _kinds(get_args(hint)[0])
    if origin in (Union, UnionType):
        return {kind for each in get_args(hint) for kind in _kinds(each)}
    return {origin or hint}
