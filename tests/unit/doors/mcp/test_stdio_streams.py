"""Standard input and output as the event loop reads and writes them: whole lines, and nothing lost to a slow client."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, RequestId

from postroom.doors.mcp.direct_calls import DirectCalls
from postroom.doors.mcp.server import PostroomServer
from postroom.doors.mcp.stdio import Lines, Output, Read, Written
from postroom.doors.mcp.unanswered import Unanswered

LONG = "ä" * 300_000  # more than a pipe holds


async def read_all(descriptor: int) -> list[str]:
    return [line async for line in Lines(descriptor)]


def shared_with_stderr(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> Output:
    """As after `2>&1`: written to in a thread."""
    with os.fdopen(os.dup(descriptor), "w") as errors, monkeypatch.context() as patched:
        patched.setattr("sys.stderr", errors)
        return Output(descriptor)


async def test_lines_come_whole_however_they_were_cut_empty_ones_not_at_all_and_the_last_needs_no_line_break() -> None:
    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb", buffering=0) as file:
            for piece in (b"one\ntw", b"o\n", b"\n \r\n", f"{LONG}\n".encode(), b"\xff\nlast"):
                file.write(piece)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, write)
        assert await read_all(ours) == ["one\n", "two\n", f"{LONG}\n", "\ufffd\n", "last"]
    os.close(ours)


async def test_lines_can_be_ended_while_the_client_says_nothing() -> None:
    ours, theirs = os.pipe()
    lines, read_so_far = Lines(ours), list[str]()

    async def read() -> None:
        async for line in lines:
            read_so_far.append(line)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        os.write(theirs, b"one\n")
        with anyio.fail_after(60):
            while len(read_so_far) < 1:
                await anyio.sleep(0)
        lines.end()
    assert read_so_far == ["one\n"]
    os.close(theirs)
    os.close(ours)


async def test_what_was_written_before_the_end_is_read_and_nothing_after_it() -> None:
    ours, theirs = os.pipe()
    lines = Lines(ours)
    os.write(theirs, b"one\ntwo\n")
    assert await anext(lines) == "one\n"
    os.write(theirs, b"three\n")
    lines.end()
    os.write(theirs, b"four\n")
    assert [line async for line in lines] == ["two\n", "three\n"]
    os.close(theirs)
    os.close(ours)


async def test_what_is_read_at_the_end_follows_what_was_just_read(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    lines, read, sizes = Lines(ours), os.read, [5]

    def read_as_the_end_comes(descriptor: int, size: int) -> bytes:
        if not sizes:
            return read(descriptor, size)
        asyncio.get_running_loop().call_soon(lines.end)
        return read(descriptor, sizes.pop())

    with monkeypatch.context() as patched, anyio.fail_after(60):
        patched.setattr("os.read", read_as_the_end_comes)
        os.write(theirs, b"one\ntwo\nthree\n")
        assert [line async for line in lines] == ["one\n", "two\n", "three\n"]
    os.close(theirs)
    os.close(ours)


async def test_of_a_file_nothing_more_is_read_after_the_end(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\n" * 100_000)
    descriptor = os.open(tmp_path / "lines", os.O_RDONLY)
    lines = Lines(descriptor)
    assert await anext(lines) == "one\n"
    lines.end()
    assert len([line async for line in lines]) < 50_000
    os.close(descriptor)


async def test_a_file_and_the_null_device_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    for path, expected in ((tmp_path / "lines", ["one\n", "two\n"]), (Path(os.devnull), [])):
        descriptor = os.open(path, os.O_RDONLY)
        assert await read_all(descriptor) == expected
        os.close(descriptor)


async def test_a_client_that_reads_slowly_gets_everything_and_the_loop_goes_on_meanwhile() -> None:
    theirs, ours = os.pipe()
    output, wrote = Output(ours), anyio.Event()

    async def write() -> None:
        await output.write(f"{LONG}\n".encode())
        wrote.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await anyio.wait_readable(theirs)
        assert not wrote.is_set()  # the pipe is full, and this still runs
        received = b""
        while not received.endswith(b"\n"):
            received += await anyio.to_thread.run_sync(os.read, theirs, 4096)
    assert received.decode() == f"{LONG}\n"
    output.release()
    assert os.get_blocking(ours)
    os.close(ours)
    os.close(theirs)


async def test_a_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT, 0o600)
    output = Output(descriptor)
    assert os.get_blocking(descriptor)
    await output.write(b"one\n")
    await output.write(b"two\n")
    os.close(descriptor)
    assert (tmp_path / "out").read_text() == "one\ntwo\n"


async def test_what_a_cancelled_writer_left_comes_before_the_next_line() -> None:
    theirs, ours = os.pipe()
    output, received = Output(ours), bytearray()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.write, f"{LONG}\n".encode())
        await anyio.wait_readable(theirs)  # the pipe is full, and the rest waits
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.write, b"next\n")
        while not received.endswith(b"next\n"):
            received += await anyio.to_thread.run_sync(os.read, theirs, 65_536)
    assert received.decode() == f"{LONG}\nnext\n"
    os.close(ours)
    os.close(theirs)


async def test_two_writers_at_once_do_not_mix_their_lines() -> None:
    theirs, ours = os.pipe()
    output, received = Output(ours), bytearray()
    async with anyio.create_task_group() as tasks:
        for letter in "ab":
            tasks.start_soon(output.write, f"{letter * 300_000}\n".encode())
        while received.count(b"\n") < 2:
            received += await anyio.to_thread.run_sync(os.read, theirs, 65_536)
    assert sorted(received.decode().split()) == ["a" * 300_000, "b" * 300_000]
    os.close(ours)
    os.close(theirs)


async def test_lines_that_were_read_before_the_end_are_still_told(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    lines = Lines(ours)
    os.write(theirs, b"one\ntwo\n")
    assert await anext(lines) == "one\n"
    lines.end()
    assert [line async for line in lines] == ["two\n"]
    os.close(theirs)
    os.close(ours)


async def test_messages_are_lines_and_what_is_none_is_told_as_an_exception(server: PostroomServer) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\nno JSON\n')
    os.close(theirs)
    tally = Unanswered()

    async def never(_number: RequestId, _line: bytes) -> None:
        pytest.fail("nothing was asked")

    read = Read(Lines(ours), DirectCalls(server.plain_calls, tally.asked, never))
    first, second = await read.receive(), await read.receive()
    assert isinstance(first, SessionMessage)
    assert isinstance(first.message, JSONRPCNotification)
    assert isinstance(second, ValueError)
    with pytest.raises(anyio.EndOfStream):
        await read.receive()
    os.close(ours)


async def test_a_client_that_stopped_reading_is_told_of_once_and_nothing_more_is_written() -> None:
    theirs, ours = os.pipe()
    os.close(theirs)
    told: list[str] = []
    written = Written(Output(ours), lambda: told.append("lost"))
    for _ in range(2):
        with pytest.raises(anyio.BrokenResourceError):
            await written.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="x")))
    await written.flush()
    assert written.is_lost
    assert told == ["lost"]
    os.close(ours)


async def test_input_that_another_process_has_read_is_not_the_end() -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    lines, found = Lines(ours), list[str]()

    async def read() -> None:
        found.extend([line async for line in lines])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        lines._chunks._arrived()  # as when it was there a moment ago
        os.write(theirs, b"ours\n")
        os.close(theirs)
    assert found == ["ours\n"]
    os.close(ours)


async def test_a_line_after_a_cancelled_one_waits_for_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = os.pipe()
    output, received = shared_with_stderr(ours, monkeypatch), bytearray()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.write, f"{'a' * 600_000}\n".encode())
        await anyio.wait_readable(theirs)
        tasks.cancel_scope.cancel()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.write, f"{'b' * 600_000}\n".encode())
        await anyio.wait_all_tasks_blocked()
        while received.count(b"\n") < 2:
            received += await anyio.to_thread.run_sync(os.read, theirs, 4096)
    assert received.decode() == f"{'a' * 600_000}\n{'b' * 600_000}\n"
    os.close(ours)
    os.close(theirs)


async def test_what_another_program_made_non_blocking_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = os.pipe()
    output, received = shared_with_stderr(ours, monkeypatch), bytearray()
    os.set_blocking(ours, False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(output.write, f"{LONG}\n".encode())
        while not received.endswith(b"\n"):
            received += await anyio.to_thread.run_sync(os.read, theirs, 4096)
    assert received.decode() == f"{LONG}\n"
    os.close(ours)
    os.close(theirs)


async def test_a_disk_that_is_full_is_like_a_client_that_stopped_reading() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    lost: list[bool] = []
    written = Written(Output(full), lambda: lost.append(True))
    with pytest.raises(anyio.BrokenResourceError):
        await written.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/x")))
    assert (lost, written.is_lost) == ([True], True)
    os.close(full)
