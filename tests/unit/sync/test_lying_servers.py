"""Servers that say what is not so: an answer or a clear error, never a hang, never a fill that begins anew for ever."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.lying_imap import MODERN, POOR, Lie, LyingImap, lying_imap
from tests.unit.sync.lied_to import OPENING, about_it, moments, refs, subjects, synced, without_its_status

from postroom.model.errors import NotFound, ProviderError, ProviderUnavailable
from postroom.model.query.tree import Query, Text
from postroom.sync.answering.lookup import Lookup
from postroom.sync.file.contents import message_of
from postroom.sync.file.mirror import Mirror
from postroom.sync.following.syncing import Syncing

pytestmark = pytest.mark.anyio


def saying(pattern: bytes, instead: bytes | Callable[[re.Match[bytes]], bytes], *, to: str = "") -> Lie:
    """In every answer, or in those to commands that match `to`."""

    def lie(command: str, lines: list[bytes]) -> list[bytes]:
        spoken = instead if callable(instead) else lambda _: instead
        return [re.sub(pattern, spoken, line) for line in lines] if re.search(to, command) else lines

    return lie


def adding(*lines: bytes, to: str) -> Lie:
    return lambda command, told: [*lines, *told] if to in command else told


_HARMLESS: dict[str, Lie] = {
    "counts that are no numbers": saying(rb"(MESSAGES|UNSEEN) \d+", b"MESSAGES abc"),
    "counts of 5,000 digits": saying(rb"MESSAGES \d+", b"MESSAGES " + b"9" * 5_000),
    "a count of 2^64": saying(rb"MESSAGES \d+", b"MESSAGES 18446744073709551616"),
    "a count below zero": saying(rb"MESSAGES \d+", b"MESSAGES -3"),
    "sizes of 2^63": saying(rb"RFC822.SIZE \d+", b"RFC822.SIZE 9223372036854775809"),
    "no sizes": saying(rb" RFC822.SIZE \d+", b""),
    "UIDVALIDITY missing": saying(rb"UIDVALIDITY \d+", b"X 1"),
    "UIDVALIDITY of 30 digits": saying(rb"UIDVALIDITY \d+", b"UIDVALIDITY " + b"9" * 30),
    "modification sequences below zero": saying(rb"HIGHESTMODSEQ \d+", b"HIGHESTMODSEQ -5"),
    "half LIST and STATUS lines": adding(
        b"* LIST", b"* LIST ()", b"* LIST () NIL", b"* STATUS", b"* STATUS x", b'* STATUS "INBOX"', to="LIST"
    ),
    "every folder twice": lambda command, lines: [*lines, *lines] if command.startswith("LIST") else lines,
    "a status of a folder that is not listed": adding(b'* STATUS "Ghost" (MESSAGES 5 UIDVALIDITY 3)', to="LIST"),
    "UIDs that are none": saying(
        rb"(ALL|SEARCH) ([\d, ]+)",
        lambda found: found[1] + b" " + found[2] + (b",x,0,-1,9223372036854775809" if found[1] == b"ALL" else b" x -1"),
        to="SEARCH",
    ),
    "UIDs of 5,000 digits": saying(rb"SEARCH ([\d ]+)", lambda found: found[0] + b" " + b"9" * 5_000, to="SEARCH"),
    "odd flags": saying(
        rb"FLAGS \(\)",
        b"FLAGS (Gr\xc3\xbcn xn--\xff $ \\ a=00b =ZZ xn--99999999 \x01 =D8=00 (nested) " + b"x" * 10_000 + b")",
        to="FETCH",
    ),
    "flags that are no list": saying(rb"FLAGS \(\)", b"FLAGS NIL", to="FETCH"),
    "dates that are none": saying(rb'"01-Jun-2026 10:00:00 \+0000"', b'"99-Foo-9999 99:99:99 +9999"'),
    "FETCH answers that are none": adding(b"* 1 FETCH x", b"* 1 FETCH (((((", b"* 1 FETCH", to="FETCH"),
}  # fmt: skip


@pytest.mark.parametrize("lie", _HARMLESS.values(), ids=_HARMLESS)
async def test_what_can_be_read_all_the_same_is_mirrored(liar: LyingImap, mirror: Mirror, lie: Lie) -> None:
    liar.lie = lie
    assert (await synced(liar, mirror)).complete
    liar.put(letter("letter4"))
    assert (await synced(liar, mirror)).complete
    assert subjects(mirror) == {"letter1", "letter2", "letter3", "letter4"}


@pytest.mark.parametrize("capability", [MODERN, f"{POOR} ENABLE"], ids=["modern", "poor"])
@pytest.mark.parametrize("name", [b"a\r\nb", b"a\0b"], ids=["a line break", "a NUL"])
async def test_a_folder_whose_name_cannot_be_said_keeps_no_other_from_being_mirrored(
    mirror: Mirror, capability: str, name: bytes
) -> None:
    folder = b'* LIST () "/" {%d}\r\n%s' % (len(name), name)
    with lying_imap(capability=f"{capability} UTF8=ACCEPT", lie=adding(folder, to="LIST")) as liar:
        liar.put(letter("letter1"))
        assert (await synced(liar, mirror)).complete
        assert subjects(mirror) == {"letter1"}


@pytest.mark.parametrize("to", [OPENING, ""], ids=["when it is opened", "always"])
async def test_a_server_that_numbers_its_folders_anew_all_the_time_is_left_with_an_error(
    liar: LyingImap, mirror: Mirror, to: str
) -> None:
    counter = itertools.count(100)
    liar.lie = saying(rb"UIDVALIDITY \d+", lambda _: b"UIDVALIDITY %d" % next(counter), to=to)
    with pytest.raises(ProviderError, match="renumbered"):
        await synced(liar, mirror)
    assert "renumbered" in mirror.status().last_error
    assert not mirror.status().complete


async def test_an_answer_that_a_library_cannot_read_is_a_clear_error(mirror: Mirror) -> None:
    lie = saying(rb"UIDVALIDITY \d+", b"UIDVALIDITY abc", to=OPENING)
    with lying_imap(lie=lie) as liar, pytest.raises(ProviderError, match="cannot be understood"):
        await synced(liar, mirror)


async def test_a_message_that_the_server_refuses_to_hand_out_takes_no_other_with_it(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.refuses = lambda command: "PEEK[]" in command and re.search(r"FETCH (1:3|2:3|2) ", command) is not None
    assert (await synced(liar, mirror)).complete
    assert subjects(mirror) == {"letter1", "letter2", "letter3"}
    with mirror.snapshot() as connection:
        found = Lookup(threads_by_headers=True).search(connection, Query(Text("word3")), 10, 0)
        assert [row.subject for row in found.items] == ["letter3"]


@pytest.mark.parametrize("told", [b"1", b"99999"])
async def test_a_message_whose_size_is_only_estimated_is_kept_whole(
    liar: LyingImap, mirror: Mirror, told: bytes
) -> None:
    liar.lie = saying(rb"RFC822.SIZE \d+", b"RFC822.SIZE " + told)
    await synced(liar, mirror)
    with mirror.snapshot() as connection:
        (message,) = [
            message_of(connection, ref)
            for (ref,) in connection.execute("SELECT ref FROM mail WHERE subject = 'letter2'")
        ]
    assert message is not None
    assert message.body.text.strip() == "word2"


async def test_messages_of_which_nothing_was_handed_out_are_not_taken_for_one_another(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.lie = saying(rb"(?s)BODY\[\]<0> \{\d+\}.*\)", b"BODY[] NIL)", to="PEEK")
    assert (await synced(liar, mirror)).messages == 3
    with mirror.snapshot() as connection:
        assert {identity for (identity,) in connection.execute("SELECT identity FROM mirrored")} == {""}


async def test_a_new_folder_is_not_taken_for_a_deleted_one_where_all_are_numbered_alike(
    liar: LyingImap, mirror: Mirror
) -> None:
    """RFC 9051 asks only that a name, its UIDVALIDITY and a UID together never mean another message."""
    liar.put(letter("old1"), letter("old2"), box=b"Old")
    await synced(liar, mirror)
    del liar.boxes[b"Old"]
    liar.put(letter("new1"), letter("new2"), box=b"New")
    assert (await synced(liar, mirror)).complete
    assert subjects(mirror) == {"letter1", "letter2", "letter3", "new1", "new2"}
    with mirror.snapshot() as connection:
        assert connection.execute("SELECT * FROM renamed").fetchall() == []


@pytest.mark.parametrize(
    "name", [b"a/&2D0-", b"&AOQ", b"\xff\xfe", b"a|1|2", b"'; DROP TABLE mail;--", b"\x0112", b"&AAo-", b"", b"NIL"]
)
async def test_a_folder_with_an_odd_name_takes_no_other_with_it(liar: LyingImap, mirror: Mirror, name: bytes) -> None:
    liar.put(letter("odd"), box=name)
    for _ in range(2):
        await synced(liar, mirror)
        assert subjects(mirror) >= {"letter1", "letter2", "letter3"}


async def test_a_server_that_refuses_to_list_its_folders_has_not_lost_them(liar: LyingImap, mirror: Mirror) -> None:
    account = imap_account(liar, mirror="full", timeout=5)  # type: ignore[arg-type]
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account) as syncing:
        await syncing.once()
        kept, before = refs(mirror), moments(mirror)
        liar.refuses = lambda command: command.startswith("LIST")
        with pytest.raises(ProviderError, match="refused"):
            await syncing.once()
        with pytest.raises(ProviderError, match="refused"):
            await mailbox.folders()
    assert (refs(mirror), moments(mirror)) == (kept, before)


async def test_a_server_that_refuses_to_tell_its_namespace_gives_a_clear_error(mirror: Mirror) -> None:
    with lying_imap(capability=f"{MODERN} NAMESPACE", refuses=lambda command: command == "NAMESPACE") as liar:
        with pytest.raises(ProviderError, match="refused"):
            await synced(liar, mirror)
        liar.refuses = lambda _: False
        assert (await synced(liar, mirror)).complete


@pytest.mark.parametrize("refusal", [b"NO not now", b"NO [SERVERBUG] oops", b"NO [CONTACTADMIN] ask", b"BAD what"])
async def test_a_folder_whose_state_the_server_does_not_tell_stays_and_is_not_confirmed(
    liar: LyingImap, mirror: Mirror, refusal: bytes
) -> None:
    liar.put(letter("sum1"), letter("sum2"), box=b"Sums")
    await synced(liar, mirror)
    kept, before = refs(mirror), moments(mirror)
    liar.lie, liar.refuses, liar.refusal = without_its_status, about_it("STATUS|SELECT|EXAMINE"), refusal
    liar.put(letter("letter4"))
    status = await synced(liar, mirror)
    assert refs(mirror) > kept
    assert "letter4" in subjects(mirror)
    assert status.messages == 6
    assert [folder.server_total for folder in status.folders] == [4, 2]
    assert moments(mirror)["Sums"] == before["Sums"] == status.as_of
    assert moments(mirror)["INBOX"] != before["INBOX"]
    liar.refuses = lambda _: False
    liar.put(letter("sum3"), box=b"Sums")
    assert (await synced(liar, mirror)).complete
    assert refs(mirror) > kept
    assert "sum3" in subjects(mirror)
    assert moments(mirror)["Sums"] == moments(mirror)["INBOX"]


async def test_a_folder_whose_state_is_not_told_is_looked_at_where_it_can_be_opened(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    await synced(liar, mirror)
    liar.lie, liar.refuses = without_its_status, about_it("STATUS")
    liar.put(letter("sum2"), box=b"Sums")
    status = await synced(liar, mirror)
    assert status.complete
    assert {"sum1", "sum2"} < subjects(mirror)
    assert moments(mirror)["Sums"] == moments(mirror)["INBOX"]


async def test_a_folder_whose_state_is_not_told_is_not_taken_for_a_new_one_with_its_epoch(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    liar.boxes[b"Sums"].validity = 8
    await synced(liar, mirror)
    kept = refs(mirror)
    liar.lie, liar.refuses = without_its_status, about_it("STATUS|SELECT|EXAMINE")
    liar.put(letter("other1"), box=b"Other")
    liar.boxes[b"Other"].validity = 8
    await synced(liar, mirror)
    assert refs(mirror) > kept
    assert subjects(mirror) == {"letter1", "letter2", "letter3", "sum1", "other1"}
    with mirror.snapshot() as connection:
        assert connection.execute("SELECT * FROM renamed").fetchall() == []


@pytest.mark.parametrize("refusal", [b"NO [NONEXISTENT] gone", b"NO [NOPERM] not yours"])
async def test_a_folder_that_is_listed_and_does_not_exist_or_may_not_be_read_goes(
    liar: LyingImap, mirror: Mirror, refusal: bytes
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    await synced(liar, mirror)
    liar.lie, liar.refuses, liar.refusal = without_its_status, about_it("STATUS|SELECT|EXAMINE"), refusal
    assert (await synced(liar, mirror)).complete
    assert subjects(mirror) == {"letter1", "letter2", "letter3"}
    assert list(moments(mirror)) == ["INBOX"]


async def test_a_folder_that_is_listed_and_never_told_of_does_not_keep_the_others_from_being_complete(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    liar.lie, liar.refuses = without_its_status, about_it("STATUS|SELECT|EXAMINE")
    assert (await synced(liar, mirror)).complete
    assert list(moments(mirror)) == ["INBOX"]


async def test_messages_of_a_folder_that_cannot_be_opened_for_a_moment_are_not_taken_for_gone(liar: LyingImap) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    liar.refuses = about_it(OPENING)
    async with opened(imap_account(liar, mirror="full", timeout=5)) as mailbox:  # type: ignore[arg-type]
        with pytest.raises(ProviderUnavailable, match="a folder that it has"):
            await anext(mailbox.bulk("Sums", "7", [1], max_bytes=1_000))
        with pytest.raises(ProviderUnavailable, match="a folder that it has"):
            await mailbox.identify("Sums", "7", [1])
        liar.refuses = lambda _: False
        assert len(await anext(mailbox.bulk("Sums", "7", [1], max_bytes=1_000))) == 1


async def test_messages_of_a_folder_that_is_not_there_are_not_taken_for_gone(liar: LyingImap) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    async with opened(imap_account(liar, mirror="full", timeout=5)) as mailbox:  # type: ignore[arg-type]
        await mailbox.folders()
        del liar.boxes[b"Sums"]
        liar.refuses = about_it(OPENING)
        with pytest.raises(NotFound):
            await anext(mailbox.bulk("Sums", "7", [1], max_bytes=1_000))
        with pytest.raises(NotFound):
            await mailbox.identify("Sums", "7", [1])
