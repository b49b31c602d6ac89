"""Whether a call is taken before the SDK sees it or not, its answer is the same, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doors.mcp.both_ways import Lines, Story, noting, told_both_ways
from tests.unit.doors.mcp.conftest import ACCOUNT
from tests.unit.doors.mcp.conversation import Client, Waiting, call, initialize, talking

from postroom.doors.mcp.direct_calls import DirectCalls
from postroom.doors.mcp.server import PostroomServer, build_server
from postroom.settings import build


def between_calls(said: str | bytes | dict[str, Any]) -> Story:
    """Which may be answered or not."""

    async def story(client: Client, _waiting: Waiting) -> None:
        client.say(call("before"))
        await client.hear()
        client.say(said)
        client.say(call("after"))
        await client.hear_until('"after"')
        await client.end()

    return story


PLAIN: list[dict[str, Any]] = [
    call(1, text='a "quoted" ä \n line \u2028 \U0001f600'),
    call("one", many=["a"]),
    call("7"),
    call(7, number=True),
    call(-1),
    call(0, **{"from": "x"}),
    call(2**70),
    call("", text=None),
    call("ä\u0000"),
    {"id": 1, "method": "tools/call", "params": {"name": "echo"}},
    call(1, number="three"),
    call(1, number="3", many='["a", "b"]'),
    call(1, many="no list"),
    call(1, from_="x"),
    call(1, surprise=1),
    call(1, text="\u0000"),
    call(1, "fail"),
    call(1, "fail", how="protocol"),
    call("x", "fail", how="protocol"),
    call(1, "fail", how="ours"),
    call(1, "fail", how="crash"),
    call(1, "fail", how="nan"),
    call(1, "fail", how="surrogate"),
    call(1, "fail", how="object"),
]


@pytest.mark.parametrize("said", PLAIN, ids=json.dumps)
async def test_a_plain_call_is_taken_and_answered_as_the_sdk_answers_it(
    said: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, taken = await told_both_ways(monkeypatch, between_calls(said))
    assert len(taken) == 2  # with the one after it


UNUSUAL: list[str | bytes | dict[str, Any]] = [
    call(1, "no_such_tool"),
    {**call(1), "params": {"name": "echo", "arguments": None}},
    {**call(1), "params": {"name": "echo", "arguments": []}},
    {**call(1), "params": {"name": ["echo"], "arguments": {}}},
    {**call(1), "params": {"name": "echo", "arguments": {}, "_meta": {}}},
    {**call(1), "params": {"name": "echo", "arguments": {}, "_meta": {"progressToken": 5}}},
    {**call(1), "params": {"name": "echo", "arguments": {}, "task": {"ttl": 1}}},
    {**call(1), "params": None},
    {**call(1), "params": []},
    {**call(1), "extra": 1},
    {**call(1), "result": {}},
    {**call(1), "jsonrpc": "1.0"},
    {**call(1), "method": "TOOLS/CALL"},
    call(None),
    call(True),
    call(1.0),
    call(1.5),
    call([1]),
    {"id": 1, "method": "ping"},
    {"id": 1, "method": "tools/list"},
    {"id": 1, "method": "tools/call"},
    {"id": 1, "method": "no/such", "params": {"name": "echo", "arguments": {"text": '"tools/call"'}}},
    initialize(),
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call"',
    b'["tools/call"]',
    b'"tools/call"',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\ud800"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 300 + b"]" * 300 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("said", UNUSUAL, ids=str)
async def test_anything_else_is_left_to_the_sdk(
    said: str | bytes | dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, taken = await told_both_ways(monkeypatch, between_calls(said))
    assert len(heard) <= 4
    assert not [line for line in taken if '"after"' not in line]


ODD_JSON = [
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[],"params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","name":"echo","arguments":{"text":"a","text":"b"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"number":NaN}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"number":-Infinity}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"number":1e999}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"number":1.0}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"number":'
    + b"9" * 5000
    + b"}}}",
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1e2,"method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":-0,"method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\xff"}}}',
    b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}',
    b' \t{"id" : 1 , "params":{"arguments":{},"name":"echo"},"method":"tools/call","jsonrpc":"2.0"} \r',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}} {}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\u0041\\ud83d\\ude00"}}}',
]  # fmt: skip


@pytest.mark.parametrize("said", ODD_JSON, ids=lambda line: str(line[:150]))
async def test_odd_json_is_read_as_the_sdk_reads_it(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    await told_both_ways(monkeypatch, between_calls(said))


@pytest.mark.parametrize("dialect", ["mailapi", "graph", "drafts", "postroom"])
async def test_every_dialect_words_its_refusals_the_same_both_ways(
    dialect: str, door: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = build({"accounts": [ACCOUNT], "server": {"dialect": dialect}}, home=tmp_path)
    names = [tool.name for tool in await build_server(door, spoken).list_tools()]

    async def heard() -> Lines:
        async with talking(build_server(door, spoken)) as client:
            for number, name in enumerate(names * 2):
                client.say(call(number, name, surprise=1))
                await client.hear()
            await client.end()
        return client.heard

    async with noting(monkeypatch) as taken:
        directly = await heard()
        with monkeypatch.context() as patched:
            patched.setattr(DirectCalls, "takes", lambda self, line: False)
            assert directly == await heard()
    assert taken


async def test_what_goes_wrong_around_a_tool_is_told_as_the_sdk_tells_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def prepare(server: PostroomServer) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("broken")

        server.metrics.called = broken  # type: ignore[assignment]

    async def story(client: Client, _waiting: Waiting) -> None:
        for number in range(3):
            client.say(call(number))
            await client.hear()
        await client.end()

    heard, taken = await told_both_ways(monkeypatch, story, prepare)
    assert len(taken) == 2
    assert '"isError":true' in heard[-1]
    logged = [(record.name, record.levelname, record.getMessage()) for record in caplog.records if record.exc_info]
    assert len(logged) == 6
    assert len(set(logged)) == 1


async def test_a_call_whose_tool_waited_for_something_that_was_cancelled_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(client: Client, _waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(call(2, "fail", how="cancelled"))
        await client.hear()
        await client.end()

    heard, taken = await told_both_ways(monkeypatch, story)
    assert len(taken) == 1
    assert json.loads(heard[-1])["error"]["message"] == "Connection closed"
