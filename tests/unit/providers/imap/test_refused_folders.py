"""What a server refuses of one folder says nothing about the others, and is told apart from all else it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.lying_imap import MODERN, POOR, LyingImap, lying_imap

from postroom.model.changes import Rest
from postroom.model.errors import NotFound, PostroomError, ProviderError, ProviderUnavailable, RateLimited
from postroom.model.query.tree import In, Query, Text
from postroom.providers.imap.session import connection

pytestmark = pytest.mark.anyio

REFUSALS = {
    b"NO [INUSE] locked": ProviderUnavailable,
    b"NO [UNAVAILABLE] later": ProviderUnavailable,
    b"NO [LIMIT] enough": RateLimited,
    b"NO [SERVERBUG] oops": ProviderError,
    b"NO no": ProviderUnavailable,
}
WITHOUT_UNSELECT = POOR.replace(" UNSELECT", "")


@pytest.fixture(params=[MODERN, POOR, WITHOUT_UNSELECT], ids=["modern", "poor", "without UNSELECT"])
def liar(request: pytest.FixtureRequest) -> Iterator[LyingImap]:
    with lying_imap(capability=request.param) as server:
        server.put(letter("letter1"))
        server.put(letter("sum1"), box=b"Sums")
        yield server


def refuse(liar: LyingImap, commands: str, answer: bytes) -> None:
    liar.refuses, liar.refusal = lambda command: re.match(commands, command) is not None, answer


@pytest.mark.parametrize(("answer", "kind"), REFUSALS.items(), ids=[answer.decode() for answer in REFUSALS])
@pytest.mark.parametrize("commands", ["(SELECT|EXAMINE) .?Sums", "UID FETCH"], ids=["opened", "read"])
async def test_a_refusal_names_the_folder_that_is_refused(
    liar: LyingImap, answer: bytes, kind: type[PostroomError], commands: str
) -> None:
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        refuse(liar, commands, answer)
        with pytest.raises(ProviderError if commands == "UID FETCH" and answer == b"NO no" else kind) as refused:
            await mailbox.identify("Sums", "7", [1])
        assert refused.value.refused_folder == "Sums"


async def test_a_refusal_of_the_search_alone_is_not_one_of_the_folder(liar: LyingImap) -> None:
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        refuse(liar, "UID SEARCH", b"NO what is that")
        with pytest.raises(ProviderError) as refused:
            await mailbox.search(Query(Text("word")), limit=5, offset=0)
        assert refused.value.refused_folder == ""


async def test_a_folder_that_is_not_listed_any_more_is_absent_and_not_refused(liar: LyingImap) -> None:
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        await mailbox.folders()
        del liar.boxes[b"Sums"]
        refuse(liar, "(SELECT|EXAMINE) .?Sums", b"NO no")
        with pytest.raises(NotFound):
            await mailbox.folder_changes("Sums", "7", None)


async def test_folders_are_listed_without_the_counts_that_are_refused(liar: LyingImap) -> None:
    liar.lie = lambda _, lines: [line for line in lines if not line.startswith(b'* STATUS "Sums"')]
    refuse(liar, "STATUS .?Sums", b"NO [INUSE] locked")
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        assert {folder.ref: folder.total for folder in await mailbox.folders()} == {"INBOX": 1, "Sums": None}


async def test_a_search_of_all_folders_goes_on_without_one_that_nobody_may_open(liar: LyingImap) -> None:
    refuse(liar, "(SELECT|EXAMINE) .?Sums", b"NO no")
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        found = await mailbox.search(Query(), limit=5, offset=0)
        assert [row.subject for row in found.items] == ["letter1"]
        with pytest.raises(ProviderUnavailable, match="a folder that it has"):
            await mailbox.search(Query(In("Sums")), limit=5, offset=0)


async def test_a_folder_of_which_the_rest_is_wanted_is_not_taken_for_empty_when_it_is_refused(liar: LyingImap) -> None:
    refuse(liar, "(SELECT|EXAMINE) .?Sums", b"NO no")
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        with pytest.raises(ProviderUnavailable, match="a folder that it has"):
            await mailbox.search_rest(Query(), [Rest("INBOX"), Rest("Sums", "7", 2)], wanted=5)


async def test_an_inbox_in_use_keeps_no_connection_in_a_folder(liar: LyingImap) -> None:
    refuse(liar, "(SELECT|EXAMINE) .?INBOX", b"NO [INUSE] locked")
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        states = {state.folder.ref: state.epoch for state in await mailbox.folder_states()}
        assert states == {"INBOX": "7", "Sums": "7"}


async def test_an_open_folder_that_cannot_be_refreshed_is_opened_again(liar: LyingImap) -> None:
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        refuse(liar, "NOOP", b"NO [SERVERBUG] oops")
        for _ in range(2):
            found = await mailbox.search(Query(In("INBOX")), limit=5, offset=0)
            assert [row.subject for row in found.items] == ["letter1"]


async def test_a_connection_that_refuses_to_say_whether_it_is_there_is_replaced(
    liar: LyingImap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_QUIET", -1.0)
    async with opened(imap_account(liar)) as mailbox:  # type: ignore[arg-type]
        refuse(liar, "NOOP", b"NO [SERVERBUG] oops")
        assert len(await mailbox.known_folders()) == 2
        assert sum(command.startswith(("LOGIN", "AUTHENTICATE")) for command in liar.heard) == 2
