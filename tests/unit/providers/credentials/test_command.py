"""Tokens that a real program prints."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import anyio
import pytest

from postroom.model.errors import AuthRequired
from postroom.providers.credentials.command import TokenFromCommand


def printing(code: str, **options: float) -> TokenFromCommand:
    return TokenFromCommand("work", [sys.executable, "-S", "-c", code], **options)


def counting(counter: Path) -> TokenFromCommand:
    """A new token each time it is run."""
    code = f"f = open({str(counter)!r}, 'a'); f.write('x'); f.close(); print('token', open({str(counter)!r}).read())"
    return printing(code.replace("print('token',", "print('token' +"))


async def test_the_first_line_it_prints_is_the_token() -> None:
    assert await printing("print('abc\\nexpires soon')").token() == "abc"


async def test_it_is_run_once_and_again_only_after_a_refusal(tmp_path: Path) -> None:
    source = counting(tmp_path / "runs")
    assert [await source.token(), await source.token()] == ["tokenx", "tokenx"]
    assert await source.refreshed("tokenx") == "tokenxx"
    assert await source.token() == "tokenxx"


async def test_many_that_were_refused_the_same_token_run_it_once(tmp_path: Path) -> None:
    source = counting(tmp_path / "runs")
    first = await source.token()
    got: list[str] = []

    async def ask() -> None:
        got.append(await source.refreshed(first))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
    assert set(got) == {"tokenxx"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; print('CANARY'); sys.exit(3)", "exited with code 3"),
        ("print()", "printed no token"),
        ("print('two words CANARY')", "printed no token"),
        ("print('CANARY' * 10_000)", "printed no token"),
        ("while True: print('CANARY')", "printed no token"),
        ("import sys; sys.stdout.buffer.write(b'CANARY\\xff')", "printed no token"),
        ("import sys; print('CANARY', file=sys.stderr)", "printed no token"),
    ],
)
async def test_what_is_no_token_is_said_without_repeating_it(
    code: str, words: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(AuthRequired, match=words) as caught:
        await printing(code).token()
    seen = capfd.readouterr()
    assert "CANARY" not in caught.value.message + caplog.text + seen.out + seen.err


async def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(AuthRequired, match="did not finish"):
        await printing("import time; time.sleep(600)", patience=0.1).token()


async def test_it_cannot_wait_for_somebody_to_type() -> None:
    with pytest.raises(AuthRequired, match="exited with code"):
        await printing("input()").token()


async def test_a_program_that_is_not_there_is_named_by_its_setting() -> None:
    with pytest.raises(AuthRequired, match=r"token_command of account work cannot be started"):
        await TokenFromCommand("work", ["/no/such/program"]).token()
