"""Calls that are taken before the SDK sees them keep their place among the others, and end as those do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from tests.unit.doors.mcp.both_ways import begun, told_both_ways
from tests.unit.doors.mcp.conversation import Client, Waiting, call, cancel, initialize, server_of_tools, talking

from postroom.doors.mcp import unanswered
from postroom.doors.mcp.direct_calls import DirectCalls
from postroom.doors.mcp.sdk_internals import Started
from postroom.doors.mcp.stdio import Lines, Output, converse


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
        waiting.may_end["first"].set()
        waiting.may_end["second"].set()
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
        waiting.may_end["x"].set()
        await client.hear()
        await client.end()

    heard, _ = await told_both_ways(monkeypatch, story)
    assert [json.loads(line)["id"] for line in heard[1:]] == [1, 3, 4, 5, 2]


async def test_the_end_of_the_input_waits_for_calls_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_end, answered = anyio.Event(), unanswered.Unanswered.answered

    async def noted(self: unanswered.Unanswered) -> None:
        at_the_end.set()
        await answered(self)

    monkeypatch.setattr(unanswered.Unanswered, "answered", noted)

    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(1))
        await client.hear()
        client.say(call(2, "wait", name="x"))
        await begun(waiting, "x")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.end)
            await at_the_end.wait()
            await anyio.wait_all_tasks_blocked()
            waiting.may_end["x"].set()
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


async def test_a_file_of_calls_is_answered_call_by_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [initialize(), *(call(number) for number in range(1, 1500))]
    (tmp_path / "in").write_text("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked))

    async def answered(name: str) -> bytes:
        descriptors = os.open(tmp_path / "in", os.O_RDONLY), os.open(tmp_path / name, os.O_WRONLY | os.O_CREAT)
        server = server_of_tools(Waiting())
        async with server.gateway(server):
            assert await converse(server, Lines(descriptors[0]), Output(descriptors[1]))
        for each in descriptors:
            os.close(each)
        return (tmp_path / name).read_bytes()

    directly = await answered("directly")
    monkeypatch.setattr(DirectCalls, "takes", lambda self, line: False)
    assert sorted(directly.splitlines()) == sorted((await answered("usually")).splitlines())
    assert directly.count(b"\n") == 1500


@pytest.mark.parametrize("is_direct", [True, False])
async def test_a_client_that_does_not_read_the_answer_ends_the_conversation(
    is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = Waiting()
    server = server_of_tools(waiting)
    if not is_direct:
        monkeypatch.setattr(DirectCalls, "takes", lambda self, line: False)
    (server_in, client_out), (client_in, server_out) = os.pipe(), os.pipe()
    ended: list[bool] = []

    async def serve() -> None:
        async with server.gateway(server):
            ended.append(await converse(server, Lines(server_in), Output(server_out)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        client = Client(client_out, client_in)
        client.say(initialize(), call(1))
        await client.hear(2)
        client.say(call(2, "wait", name="a"), call(3, "wait", name="b"))
        await begun(waiting, "a", "b")
        client.hang_up()
        os.close(client_in)
        for name in "ab":
            waiting.may_end[name].set()
    assert ended == [False]
    for descriptor in (server_in, client_out, server_out):
        os.close(descriptor)


async def test_a_call_that_ends_leaves_the_later_one_with_its_id_to_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(client: Client, waiting: Waiting) -> None:
        client.say(call(0))
        await client.hear()
        client.say(call(1, "wait", name="first"), call("1", "wait", name="second"))
        await begun(waiting, "first", "second")
        waiting.may_end["first"].set()
        await client.hear()
        client.say(cancel(1), call(2))
        await client.hear()
        assert waiting.cancelled == ["second"]
        assert await client.end() == []

    _, taken = await told_both_ways(monkeypatch, story)
    assert len(taken) == 2


async def test_a_call_that_was_answered_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Started] = []
    began = Started.__init__

    def noted(self: Started, *given: Any) -> None:
        seen.append(self)
        began(self, *given)

    monkeypatch.setattr(Started, "__init__", noted)
    async with talking(server_of_tools(Waiting())) as client:
        client.say(call(1))
        await client.hear()
        client.say(call(2), call(3, "fail", how="protocol"))
        await client.hear(2)
        assert len(seen) == 2
        assert not seen[0]._dispatcher._in_flight
        await client.end()


async def test_only_a_call_that_nothing_has_followed_opens_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(client: Client, _waiting: Waiting) -> None:
        client.say(call(1), {"id": "p", "method": "ping"}, call(2))
        await client.hear(3)
        client.say(call(3))
        await client.end()

    _, taken = await told_both_ways(monkeypatch, story)
    assert [json.loads(line)["id"] for line in taken] == [3]


async def test_a_call_begins_before_the_next_line_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, takes, looks = Waiting(), DirectCalls.takes, list[int]()

    def looked(self: DirectCalls, line: str) -> bool:
        looks.append(len(waiting.begun))
        return takes(self, line)

    monkeypatch.setattr(DirectCalls, "takes", looked)
    async with talking(server_of_tools(waiting)) as client:
        client.say(call(1))
        await client.hear()
        looks.clear()
        client.say(*(call(number, "wait", name="x") for number in range(2, 6)))
        waiting.may_end["x"].set()
        await client.hear(4)
        await client.end()
    assert looks == [0, 1, 2, 3]
