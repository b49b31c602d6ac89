"""What a server may send between the responses to a FETCH, and instead of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.accounts import imap_account
from tests.peers.lying_imap import Lie, LyingImap, lying_imap

from postroom.model.errors import ProviderError
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.failures import CONNECTION_LOST

RAWS = {uid: b"Subject: %d\r\n\r\n%s\r\n" % (uid, b"* 9 FETCH (UID 9)\r\n" * uid * 50) for uid in (1, 2, 3)}


@pytest.fixture
def liar() -> Iterator[LyingImap]:
    with lying_imap() as server:
        server.put(*RAWS.values())
        yield server


@pytest.fixture(params=["full", "off"], ids=["in large pieces", "in small pieces"])
def session(liar: LyingImap, request: pytest.FixtureRequest) -> Iterator[Session]:
    session = Session(imap_account(liar, mirror=request.param, timeout=5))  # type: ignore[arg-type]
    session.open("INBOX")
    yield session
    session.abort()


def to_fetch(*more: bytes) -> Lie:
    """Before, between and after what is fetched."""

    def lie(command: str, lines: list[bytes]) -> list[bytes]:
        return [*more, *(part for line in lines for part in (line, *more))] if "FETCH" in command else lines

    return lie


def bodies(session: Session) -> dict[int, bytes]:
    return {uid: item["BODY[]"] for uid, item in session.fetch(RAWS, "UID BODY.PEEK[]").items() if "BODY[]" in item}


def test_messages_are_fetched_as_they_are(session: Session) -> None:
    assert bodies(session) == RAWS


@pytest.mark.parametrize(
    "said",
    [
        b"* 4 EXISTS",
        b"* OK [ALERT] * 1 FETCH (UID 1 BODY[] {3} x",
        b"* 2 FETCH (FLAGS (\\Seen))",
        b"* 2 FETCH (UID 2 FLAGS (\\Seen))",
        b"* 8 FETCH (UID 8 BODY[] {3}\r\nabc)",
        b'* LIST () "/" {3}\r\na b',
        b"* 1 FETCH",
        b"* 1 FETCH {1}\r\nx FLAGS",
        b"+ go on",
    ],
)
def test_what_else_is_said_meanwhile_changes_nothing(liar: LyingImap, session: Session, said: bytes) -> None:
    liar.lie = to_fetch(said)
    assert bodies(session) == RAWS


def test_what_is_announced_meanwhile_is_noticed(liar: LyingImap, session: Session) -> None:
    session.remember("fact", lambda: "old")
    liar.lie = to_fetch(b"* 4 EXISTS")
    session.fetch(RAWS, "UID FLAGS")
    assert session.remember("fact", lambda: "new") == "new"


def test_a_refusal_is_an_error_and_the_connection_goes_on(liar: LyingImap, session: Session) -> None:
    liar.refuses = lambda command: "FETCH" in command
    with pytest.raises(ProviderError):
        bodies(session)
    liar.refuses = lambda _: False
    assert bodies(session) == RAWS


@pytest.mark.parametrize("said", [b"* BYE enough", b"nonsense"])
def test_a_server_that_ends_in_between_is_a_lost_connection(liar: LyingImap, session: Session, said: bytes) -> None:
    liar.lie = to_fetch(said)
    with pytest.raises(CONNECTION_LOST):
        bodies(session)


@pytest.mark.parametrize("size", [b"9" * 13, b"9" * 20])
@pytest.mark.parametrize("said", [b"* 1 FETCH (UID 1 BODY[] {%s}", b'* LIST () "/" {%s}'])
def test_a_literal_larger_than_any_memory_is_a_lost_connection(
    liar: LyingImap, session: Session, said: bytes, size: bytes
) -> None:
    liar.lie = to_fetch(said % size)
    with pytest.raises(CONNECTION_LOST):
        bodies(session)
