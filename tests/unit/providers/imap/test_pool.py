"""The pool alone, over sessions that only pretend to be connections."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from postroom.providers.imap.session import pool
from postroom.providers.imap.session.pool import Pool
from postroom.settings import ImapAccount

ACCOUNT = ImapAccount(name="mine", address="me@example.test", host="localhost", max_connections=4)


class Pretended:
    """`asked` counts over all of them how often one was asked whether it is still there."""

    asked: ClassVar[int] = 0
    made: ClassVar[list[Pretended]] = []
    opened = None

    is_over = False

    def __init__(self, account: ImapAccount, credentials: object = None, dialled: object = None) -> None:
        self.is_gone = self.is_closed = False
        self.made.append(self)

    def is_alive(self) -> bool:
        type(self).asked += 1
        return not self.is_gone

    def abort(self) -> None:
        self.is_closed = True

    interrupt = close = abort


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[Pretended]:
    monkeypatch.setattr(pool, "Session", Pretended)
    monkeypatch.setattr(Pretended, "asked", 0)
    monkeypatch.setattr(Pretended, "made", [])
    return Pretended.made


async def filled(sessions: list[Pretended]) -> Pool:
    """With three connections idle."""
    lending = Pool(ACCOUNT)
    lending._idle += [Pretended(ACCOUNT) for _ in range(3)]  # type: ignore[misc]
    return lending


async def test_when_one_idle_connection_is_gone_the_others_are_not_waited_for(sessions: list[Pretended]) -> None:
    lending = await filled(sessions)
    for session in sessions:
        session.is_gone = True
    fresh: Any = await lending.run("INBOX", lambda session: session)
    assert fresh is sessions[3]
    assert Pretended.asked == 1, "each could take a whole timeout to find out"
    assert all(session.is_closed for session in sessions[:3])


async def test_a_finished_call_never_cuts_off_the_connection_it_gave_back(sessions: list[Pretended]) -> None:
    lending = await filled(sessions)
    for _ in range(3):
        await lending.run("INBOX", lambda session: None)
        await lending.run_once("INBOX", lambda session: None)
    assert not any(session.is_closed for session in sessions)
    assert len(sessions) == 3


async def test_all_connections_are_closed_with_the_pool(sessions: list[Pretended]) -> None:
    lending = await filled(sessions)
    await lending.close()
    await lending.run("INBOX", lambda session: None)
    assert len(sessions) == 4
    assert all(session.is_closed for session in sessions)
