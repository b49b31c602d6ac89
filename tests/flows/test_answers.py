"""Every tool, called right and called wrong: what comes back fits the schema that the tool gave out."""

from __future__ import annotations

from typing import Any

from tests.flows.caller import Caller, text_of
from tests.flows.every_tool import RIGHT, WRONG, filled, value_at


async def test_every_answer_and_every_error_fits_its_schema(call: Caller) -> None:
    kept: dict[str, Any] = {}
    for one in RIGHT:
        answer = await call.ok(one["tool"], **filled(one, kept))
        kept.update({name: value_at(answer, path) for name, path in one["keep"].items()})
    for one in WRONG:
        result = await call(one["tool"], **one["arguments"])
        assert result.is_error, one
        assert result.structured_content is not None
        error = result.structured_content["error"]
        assert f"{error['code']}: {error['message']}" in text_of(result)


async def test_every_tool_is_called_right_and_wrong(caller: Caller) -> None:
    names = {tool.name for tool in (await caller.client.list_tools()).tools}

    assert {one["tool"] for one in RIGHT} == {one["tool"] for one in WRONG} == names
