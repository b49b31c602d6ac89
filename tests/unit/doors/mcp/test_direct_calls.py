"""Whether a call is taken before the SDK sees it or not, a client gets the same lines in the same order."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from tests.unit.doors.mcp.conversation import (
    Client,
    Waiting,
    call,
    cancel,
    initialize,
    server_of_tools,
    talking,
)

from postroom.doors.mcp import unanswered
from postroom.doors.mcp.direct_calls import DirectCalls
from postroom.doors.mcp.server import PostroomServer

Story = Callable[[Client, Waiting], Awaitable[None]]
Lines = list[str]


@asynccontextmanager
async def both(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lines]:
    """The lines that were taken."""
    taken, takes = Lines(), DirectCalls.takes

    def noted(self: DirectCalls, line: str) -> bool:
        is_taken = takes(self, line)
        if is_taken:
            taken.append(line)
        return is_taken

    with monkeypatch.context() as patched:
        patched.setattr(DirectCalls, "takes", noted)
        patched.setattr("secrets.token_hex", lambda _: "0123")
        yield taken


async def told(story: Story, prepare: Callable[[PostroomServer], None] = lambda _: None) -> Lines:
    waiting = Waiting()
    server = server_of_tools(waiting)
    prepare(server)
    async with talking(server) as client:
        await story(client, waiting)
    return [re.sub(r'"duration_ms":[0-9.]+', "", line) for line in client.heard]


async def told_both_ways(
    monkeypatch: pytest.MonkeyPatch, story: Story, prepare: Callable[[PostroomServer], None] = lambda _: None
) -> tuple[Lines, Lines]:
    """What a client is told, which is the same both ways, and the lines that were taken."""
    async with both(monkeypatch) as taken:
        directly = await told(story, prepare)
        with monkeypatch.context() as patched:
            patched.setattr(DirectCalls, "takes", lambda self, line: False)
            usually = await told(story, prepare)
    assert directly == usually
    return directly, taken


async def begun(waiting: Waiting, *names: str) -> None:
    while waiting.begun != list(names):
        await anyio.sleep(0)


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


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28", "1999-01-01"])
async def test_another_handshake_is_answered_before_the_calls_after_it(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(client: Client, _waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(initialize(version), call(2), call(3))
        await client.hear(3)
        client.say(call(4))
        await client.end()

    await told_both_ways(monkeypatch, story)


async def test_calls_at_once_are_answered_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(client: Client, _waiting: Waiting) -> None:
        client.say(*(call(number) for number in range(50)))
        await client.hear(50)
        client.say(*(call(number) for number in range(50, 80)), {"id": "ping", "method": "ping"}, call(80), call(81))
        await client.end()

    heard, taken = await told_both_ways(monkeypatch, story)
    assert len(heard) == 84
    assert len(taken) >= 30


async def test_a_level_for_log_messages_counts_from_the_next_call_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def level(name: str) -> dict[str, Any]:
        return {"id": name, "method": "logging/setLevel", "params": {"level": name}}

    async def story(client: Client, _waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(level("info"), call(2))
        await client.hear(2)
        client.say(call(3), call(4, "fail", how="ours"))
        await client.hear(2)
        client.say(level("error"), call(5))
        await client.hear(2)
        client.say(call(6, "fail", how="protocol"))
        await client.end()

    heard, taken = await told_both_ways(monkeypatch, story)
    assert sum("notifications/message" in line for line in heard) == 3
    assert len(taken) == 3


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


@pytest.mark.parametrize(("number", "cancelled"), [(7, 7), (7, "7"), ("7", 7), ("a", "a")])
async def test_a_call_that_is_cancelled_ends_and_is_never_answered(
    number: Any, cancelled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(call(number, "wait", name="x"))
        await begun(waiting, "x")
        client.say(cancel(True), cancel("other"), cancel(cancelled), call(number, text="next"))
        await client.hear()
        assert waiting.cancelled == ["x"]
        assert await client.end() == []

    _, taken = await told_both_ways(monkeypatch, story)
    assert len(taken) == 1


async def test_of_two_calls_with_one_id_the_later_is_cancelled_and_both_ways_have_one_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(1, "wait", name="first"))
        await begun(waiting, "first")
        client.say(call(2))
        await client.hear()
        client.say(call(1, "wait", name="second"), call("1", "wait", name="third"))
        await begun(waiting, "first", "second", "third")
        client.say(cancel(1), call(3))
        await client.hear()
        assert waiting.cancelled == ["third"]
        waiting.may_end.set()
        await client.hear(2)
        await client.end()

    heard, taken = await told_both_ways(monkeypatch, story)
    assert len(taken) == 3
    assert [json.loads(line)["id"] for line in heard[-2:]] == [1, 1]


async def test_a_call_that_takes_long_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(call(2, "wait", name="x"), call(3), {"id": 4, "method": "ping"}, call(5))
        await client.hear(3)
        waiting.may_end.set()
        await client.hear()
        await client.end()

    heard, _ = await told_both_ways(monkeypatch, story)
    assert [json.loads(line)["id"] for line in heard[1:]] == [1, 3, 4, 5, 2]


async def test_the_end_of_the_input_waits_for_calls_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(call(2, "wait", name="x"))
        await begun(waiting, "x")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.end)
            await anyio.wait_all_tasks_blocked()
            waiting.may_end.set()
        assert not waiting.cancelled

    heard, taken = await told_both_ways(monkeypatch, story)
    assert len(taken) == 1
    assert json.loads(heard[-1])["id"] == 2


async def test_a_call_that_does_not_end_in_time_is_cut_off_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "LONGEST_WAIT", 0)

    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(call(2, "wait", name="x"))
        await begun(waiting, "x")
        await client.end()
        assert waiting.cancelled == ["x"]

    heard, taken = await told_both_ways(monkeypatch, story)
    assert len(taken) == 1
    assert json.loads(heard[-1])["error"]["message"] == "Connection closed"
