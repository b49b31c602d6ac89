"""Standard input and output as the event loop reads and writes them: whole lines, and nothing lost to a slow client."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.to_thread

from postroom.doors.mcp.stdio import Lines, Output

LONG = "ä" * 300_000  # more than a pipe holds


async def read_all(descriptor: int) -> list[str]:
    return [line async for line in Lines(descriptor)]


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
        await output.write(f"{LONG}\n")
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
    await output.write("one\n")
    await output.write("two\n")
    os.close(descriptor)
    assert (tmp_path / "out").read_text() == "one\ntwo\n"
