"""Calls tools as fastmcp's client does and reports what it saw; runs under the Python that `.ci/peers` made for it.

Reads a plan as JSON from standard input, like its twin for Node:
  {mode, command?, args?, env?, url?, calls: [{tool, arguments, keep}]}
`keep` remembers a value of the answer by its path ("results.0.email_id"); "$name" in later arguments stands for it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from functools import reduce
from typing import Any

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError


def server(plan: Mapping[str, Any]) -> Any:
    return plan["url"] if "url" in plan else StdioTransport(plan["command"], plan["args"], env=plan["env"])


def filled(value: Any, kept: Mapping[str, Any]) -> Any:
    return kept[value[1:]] if isinstance(value, str) and value.startswith("$") else value


def at(answer: Any, path: str) -> Any:
    return reduce(lambda part, step: part[int(step) if isinstance(part, list) else step], path.split("."), answer)


async def answer(client: Client[Any], call: Mapping[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """`threw` is whatever a caller would have to catch beside a tool error; `data` whether it was made into objects."""
    arguments = {name: filled(value, kept) for name, value in call["arguments"].items()}
    seen: dict[str, Any] = {"tool": call["tool"]}
    try:
        result = await client.call_tool(call["tool"], arguments, raise_on_error=False)
        kept.update({name: at(result.structured_content, path) for name, path in call.get("keep", {}).items()})
        seen |= {"isError": result.is_error, "structured": result.structured_content, "text": result.content[0].text}
        seen["data"] = result.data is not None
        if result.is_error:
            await client.call_tool(call["tool"], arguments)
    except ToolError as error:
        seen["raised"] = str(error)
    except Exception as problem:
        seen["threw"] = repr(problem)
    return seen


async def main(plan: Mapping[str, Any]) -> dict[str, Any]:
    async with Client(server(plan), mode=plan["mode"]) as client:
        tools = await client.list_tools()
        kept: dict[str, Any] = {}
        answers = [await answer(client, call, kept) for call in plan["calls"]]
        return {"tools": [tool.name for tool in tools], "answers": answers}


print(json.dumps(asyncio.run(main(json.load(sys.stdin)))))
