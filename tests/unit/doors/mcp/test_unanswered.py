"""The end of the input waits for answers, and for nothing that cannot come any more."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from postroom.doors.mcp import unanswered
from postroom.doors.mcp.unanswered import Heard, Said, Unanswered


def message(**fields: Any) -> SessionMessage:
    return SessionMessage(jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **fields}))


def request(number: int | str, method: str = "tools/call") -> SessionMessage:
    return message(id=number, method=method, params={})


ANSWER = {"result": {}}
FAILURE = {"error": {"code": -32603, "message": "failed"}}


async def is_waiting(tally: Unanswered) -> bool:
    with anyio.move_on_after(0) as limit:
        await tally.answered()
    return limit.cancelled_caught


@pytest.mark.parametrize("outcome", [ANSWER, FAILURE])
async def test_the_end_comes_with_the_last_answer(outcome: dict[str, Any]) -> None:
    tally = Unanswered()
    for number in (1, "two"):
        tally.heard(request(number))
    tally.said(message(id=1, **outcome))
    assert await is_waiting(tally)
    tally.said(message(id="two", **outcome))
    assert not await is_waiting(tally)


async def test_requests_that_wait_for_the_client_are_not_waited_for() -> None:
    tally = Unanswered()
    tally.heard(request(1))
    tally.said(request(1, "elicitation/create"))
    assert not await is_waiting(tally)
    tally.heard(message(id=1, **ANSWER))
    assert await is_waiting(tally)


async def test_neither_cancelled_requests_nor_streams_nor_what_is_no_message_are_waited_for() -> None:
    tally = Unanswered()
    tally.heard(request(1))
    tally.heard(message(method="notifications/cancelled", params={"requestId": 1}))
    tally.heard(request(2, "subscriptions/listen"))
    tally.heard(ValueError("no JSON"))
    assert not await is_waiting(tally)


async def test_an_answer_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "LONGEST_WAIT", 0)
    tally = Unanswered()
    tally.heard(request(1))
    await tally.answered()


async def test_a_client_that_does_not_read_any_more_is_not_waited_for() -> None:
    tally = Unanswered()
    tally.heard(request(1))
    assert await is_waiting(tally)
    tally.give_up()
    assert not await is_waiting(tally)


async def test_messages_pass_unchanged_and_the_stream_ends_after_the_answer() -> None:
    tally = Unanswered()
    client_end, server_end = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    answers_in, answers_out = anyio.create_memory_object_stream[SessionMessage](1)
    asked, answered = request(1), message(id=1, **ANSWER)
    client_end.send_nowait(asked)
    client_end.close()
    seen: list[SessionMessage | Exception] = []
    async with Said(answers_in, tally) as said, Heard(server_end, tally, said) as heard:
        async for item in heard:
            seen.append(item)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(said.send, answered)
    assert seen == [asked]
    assert answers_out.receive_nowait() is answered
    answers_out.close()


async def test_an_id_that_is_used_twice_is_waited_for_twice() -> None:
    tally = Unanswered()
    tally.heard(request(1))
    tally.heard(request("1"))
    tally.said(message(id=1, result={}))
    assert await is_waiting(tally)
    tally.said(message(id="1", result={}))
    assert not await is_waiting(tally)


@pytest.mark.parametrize(("cancelled", "is_waited_for"), [("1", False), (1, False), (True, True), (None, True)])
async def test_a_request_is_cancelled_by_what_the_sdk_takes_for_its_id(cancelled: object, is_waited_for: bool) -> None:
    tally = Unanswered()
    tally.heard(request(1))
    tally.heard(message(method="notifications/cancelled", params={"requestId": cancelled}))
    assert await is_waiting(tally) == is_waited_for
