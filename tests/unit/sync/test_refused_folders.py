"""One folder that a server refuses, for now or for ever: the others are synchronized and confirmed, and it is named."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.peers.accounts import letter, opened
from tests.peers.lying_imap import Held, LyingImap
from tests.unit.sync.lied_to import (
    OPENING,
    about_it,
    account_of,
    moments,
    refs,
    subjects,
    synced,
    without_its_status,
)

from postroom.model.errors import AuthRequired, PostroomError, ProviderUnavailable
from postroom.sync.file.mirror import Mirror
from postroom.sync.file.status import FolderStatus, MirrorStatus
from postroom.sync.following import by_folder
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio

INUSE = b"NO [INUSE] locked by a program"
REFUSALS = [INUSE, b"NO [UNAVAILABLE] later", b"NO [LIMIT] too many", b"NO [SERVERBUG] oops", b"NO not now"]
INBOX = {"letter1", "letter2", "letter3"}


@pytest.fixture(params=REFUSALS, ids=lambda refusal: refusal.split()[1].decode().strip("[]"))
def refusing(request: pytest.FixtureRequest, liar: LyingImap) -> LyingImap:
    """It will refuse in these words what it is told to refuse, and has a second folder."""
    liar.put(letter("sum1"), letter("sum2"), box=b"Sums")
    liar.refusal = request.param
    return liar


def willing(liar: LyingImap) -> None:
    liar.refuses, liar.refuses_in = lambda _: False, lambda *_: False
    liar.lie = lambda _, lines: lines


def named(status: MirrorStatus) -> list[str]:
    return [folder.name for folder in status.folders if folder.refusal]


def folder(status: MirrorStatus, name: str) -> FolderStatus:
    return next(one for one in status.folders if one.name == name)


def is_as_told(liar: LyingImap, mirror: Mirror) -> bool:
    """Every message once, and none under another ref than before."""
    with mirror.snapshot() as connection:
        there = sorted(subject for (subject,) in connection.execute("SELECT subject FROM mail"))
        renamed = connection.execute("SELECT * FROM renamed").fetchall()
    wanted = [re.search(rb"Subject: (\w+)", mail.raw) for box in liar.boxes.values() for mail in box.mails]
    return not renamed and there == sorted(found[1].decode() for found in wanted if found)


async def test_a_refused_folder_stays_and_the_others_are_confirmed_until_it_heals(
    refusing: LyingImap, mirror: Mirror
) -> None:
    await synced(refusing, mirror)
    kept, before = refs(mirror), moments(mirror)
    refusing.put(letter("letter4"))
    refusing.put(letter("sum3"), box=b"Sums")
    refusing.lie, refusing.refuses = without_its_status, about_it(f"STATUS|{OPENING}")
    for _ in range(2):
        status = await synced(refusing, mirror)
        assert refs(mirror) > kept
        assert subjects(mirror) == {*INBOX, "letter4", "sum1", "sum2"}
        assert (named(status), status.last_error) == (["Sums"], "")
        assert moments(mirror)["Sums"] == before["Sums"]
        assert moments(mirror)["INBOX"] != before["INBOX"]
        before["INBOX"] = moments(mirror)["INBOX"]
    willing(refusing)
    status = await synced(refusing, mirror)
    assert (status.complete, named(status)) == (True, [])
    assert moments(mirror)["Sums"] == moments(mirror)["INBOX"]
    assert is_as_told(refusing, mirror)


async def test_a_folder_that_is_refused_when_it_is_opened_and_whose_state_is_told_is_named(
    refusing: LyingImap, mirror: Mirror
) -> None:
    await synced(refusing, mirror)
    before = moments(mirror)
    refusing.refuses = about_it(OPENING)
    refusing.put(letter("sum3"), box=b"Sums")
    refusing.put(letter("letter4"))
    status = await synced(refusing, mirror)
    assert (named(status), moments(mirror)["Sums"]) == (["Sums"], before["Sums"])
    assert "letter4" in subjects(mirror)
    willing(refusing)
    assert (await synced(refusing, mirror)).complete
    assert is_as_told(refusing, mirror)


async def test_a_folder_is_confirmed_that_cannot_be_opened_and_is_told_to_be_as_it_was(
    liar: LyingImap, mirror: Mirror
) -> None:
    if "CONDSTORE" not in liar.capability:
        pytest.skip("only a comparison tells")
    liar.put(letter("sum1"), box=b"Sums")
    await synced(liar, mirror)
    liar.refuses, liar.refusal = about_it(OPENING), INUSE
    status = await synced(liar, mirror)
    assert named(status) == []
    assert moments(mirror)["Sums"] == moments(mirror)["INBOX"]


async def test_a_folder_that_is_refused_from_the_beginning_is_missing_and_named(
    refusing: LyingImap, mirror: Mirror
) -> None:
    refusing.refuses = about_it(OPENING)
    status = await synced(refusing, mirror)
    assert (status.complete, named(status)) == (False, ["Sums"])
    assert (folder(status, "INBOX").complete, subjects(mirror)) == (True, INBOX)
    willing(refusing)
    assert (await synced(refusing, mirror)).complete
    assert is_as_told(refusing, mirror)


@pytest.mark.parametrize("refusal", REFUSALS[:-1], ids=bytes.decode)
async def test_a_new_folder_of_which_nothing_is_told_for_a_reason_is_missing_and_named(
    liar: LyingImap, mirror: Mirror, refusal: bytes
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    liar.lie, liar.refuses, liar.refusal = without_its_status, about_it(f"STATUS|{OPENING}"), refusal
    status = await synced(liar, mirror)
    assert (status.complete, named(status), subjects(mirror)) == (False, ["Sums"], INBOX)
    willing(liar)
    assert (await synced(liar, mirror)).complete
    assert is_as_told(liar, mirror)


@pytest.mark.parametrize("is_first", [True, False], ids=["in a first fill", "later"])
async def test_an_inbox_that_is_refused_keeps_nothing_else_from_being_synchronized(
    refusing: LyingImap, mirror: Mirror, is_first: bool
) -> None:
    if not is_first:
        await synced(refusing, mirror)
    refusing.refuses = about_it(OPENING, "INBOX")
    refusing.put(letter("letter4"))
    refusing.put(letter("sum3"), box=b"Sums")
    async with opened(account_of(refusing)) as mailbox:
        assert (await mailbox.connect()).can_label, "as another folder tells"
    status = await synced(refusing, mirror)
    assert named(status) == ["INBOX"]
    assert (folder(status, "Sums").complete, folder(status, "Sums").messages) == (True, 3)
    willing(refusing)
    assert (await synced(refusing, mirror)).complete
    assert is_as_told(refusing, mirror)


async def test_an_inbox_that_is_the_only_folder_and_refused_leaves_the_account_reachable(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.refuses, liar.refusal = about_it(OPENING, "INBOX"), INUSE
    async with opened(account_of(liar)) as mailbox:
        assert [folder.ref for folder in await mailbox.folders()] == ["INBOX"]
    status = await synced(liar, mirror)
    assert (status.complete, named(status)) == (False, ["INBOX"])
    willing(liar)
    assert (await synced(liar, mirror)).complete
    assert is_as_told(liar, mirror)


def fetching(pattern: str, box: bytes = b"Sums") -> Callable[[bytes, str], bool]:
    return lambda name, command: name == box and re.match(rf"UID FETCH {pattern}", command) is not None


def with_many(liar: LyingImap) -> None:
    """More than a fill takes of a folder in its first turn."""
    liar.boxes[b"Sums"].mails = [Held(number, letter(f"sum{number}")) for number in range(1, 81)]


@pytest.mark.parametrize("mode", ["full", "headers"])
async def test_what_was_fetched_before_a_refusal_is_kept_and_the_rest_follows(
    refusing: LyingImap, mirror: Mirror, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_folder, "_TURN", 10)
    with_many(refusing)
    refusing.refuses_in = fetching(r"21:30 ")  # which two more turns would follow
    status = await synced(refusing, mirror, mode)
    sums = folder(status, "Sums")
    assert (named(status), sums.complete, sums.messages) == (["Sums"], False, 50)
    assert folder(status, "INBOX").complete
    refusing.put(letter("letter4"))
    assert folder(await synced(refusing, mirror, mode), "INBOX").messages == 4
    willing(refusing)
    assert (await synced(refusing, mirror, mode)).complete
    assert is_as_told(refusing, mirror)


async def test_a_folder_that_is_filled_after_it_was_refused_is_no_longer_named_meanwhile(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.put(letter("sum"), box=b"Sums")
    with_many(liar)
    liar.refuses_in, liar.refusal = fetching(r"1:30 "), INUSE
    assert named(await synced(liar, mirror)) == ["Sums"]
    willing(liar)
    account, told = account_of(liar), list[tuple[bool, list[str]]]()
    tools = Tools(on_progress=lambda *_: told.append((mirror.status().complete, named(mirror.status()))))
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account, tools) as syncing:
        await syncing.once()
    assert (False, []) in told


async def test_a_folder_that_is_told_to_be_as_it_was_after_a_refusal_is_confirmed_and_no_longer_named(
    refusing: LyingImap, mirror: Mirror
) -> None:
    await synced(refusing, mirror)
    refusing.lie, refusing.refuses = without_its_status, about_it(f"STATUS|{OPENING}")
    assert named(await synced(refusing, mirror)) == ["Sums"]
    willing(refusing)
    assert named(await synced(refusing, mirror)) == []
    assert moments(mirror)["Sums"] == moments(mirror)["INBOX"]


async def test_a_first_page_that_is_refused_does_not_keep_the_others_waiting(
    refusing: LyingImap, mirror: Mirror
) -> None:
    refusing.refuses_in = fetching(r"\S+ \(.*BODY.PEEK", b"INBOX")
    status = await synced(refusing, mirror)
    assert (named(status), folder(status, "Sums").complete, subjects(mirror)) == (["INBOX"], True, {"sum1", "sum2"})
    willing(refusing)
    assert (await synced(refusing, mirror)).complete
    assert is_as_told(refusing, mirror)


async def test_changes_that_are_refused_in_the_middle_are_taken_over_later(refusing: LyingImap, mirror: Mirror) -> None:
    await synced(refusing, mirror)
    before = moments(mirror)
    refusing.put(letter("letter4"))
    refusing.put(letter("sum3"), box=b"Sums")
    del refusing.boxes[b"Sums"].mails[0]
    refusing.refuses_in = fetching("1:")  # what changed, by whatever means
    status = await synced(refusing, mirror)
    assert (named(status), moments(mirror)["Sums"]) == (["Sums"], before["Sums"])
    assert subjects(mirror) == {*INBOX, "letter4", "sum1", "sum2"}


async def test_new_messages_of_a_folder_that_hands_out_none_are_not_taken_for_empty_ones(
    refusing: LyingImap, mirror: Mirror
) -> None:
    await synced(refusing, mirror)
    before = moments(mirror)
    refusing.put(letter("letter4"))
    refusing.put(letter("sum3"), letter("sum4"), box=b"Sums")
    refusing.refuses_in = fetching(r"\S+ \(UID BODY")
    status = await synced(refusing, mirror)
    assert (named(status), moments(mirror)["Sums"]) == (["Sums"], before["Sums"])
    assert subjects(mirror) == {*INBOX, "letter4", "sum1", "sum2"}
    willing(refusing)
    assert (await synced(refusing, mirror)).complete
    assert is_as_told(refusing, mirror)


async def test_a_message_that_is_never_handed_out_does_not_make_its_folder_a_refused_one(
    liar: LyingImap, mirror: Mirror
) -> None:
    liar.refusal = b"NO [SERVERBUG] oops"
    liar.refuses_in = lambda _, command: "BODY" in command and re.search(r"FETCH (1:3|1:2|2:3|2) ", command) is not None
    status = await synced(liar, mirror)
    assert (status.complete, named(status), status.messages) == (True, [], 3)
    assert subjects(mirror) == {"letter1", "", "letter3"}


async def test_one_new_message_that_is_not_handed_out_is_found_by_its_headers_where_others_are(
    liar: LyingImap, mirror: Mirror
) -> None:
    await synced(liar, mirror)
    liar.put(letter("letter4"))
    liar.refusal = b"NO cannot convert"
    liar.refuses_in = lambda _, command: command.startswith("UID FETCH 4 (UID BODY.PEEK[]")
    status = await synced(liar, mirror)
    assert (status.complete, named(status)) == (True, [])
    assert is_as_told(liar, mirror)


@pytest.mark.parametrize("last_words", [b"", b"* BYE shutting down\r\n"], ids=["silent", "BYE"])
async def test_a_connection_that_breaks_ends_the_round(liar: LyingImap, mirror: Mirror, last_words: bytes) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    await synced(liar, mirror)
    before = moments(mirror)
    liar.put(letter("sum2"), box=b"Sums")
    liar.hangs_up = lambda command: last_words if re.match(r'EXAMINE "?Sums', command) else None
    with pytest.raises(ProviderUnavailable):
        await synced(liar, mirror)
    assert mirror.status().last_error
    assert (named(mirror.status()), moments(mirror)) == ([], before)


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [(INUSE, ProviderUnavailable), (b"NO [UNAVAILABLE] later", ProviderUnavailable), (b"NO wrong", AuthRequired)],
    ids=["INUSE", "UNAVAILABLE", "wrong"],
)
async def test_a_login_that_is_refused_in_the_middle_ends_the_round(
    liar: LyingImap, mirror: Mirror, refusal: bytes, kind: type[PostroomError]
) -> None:
    liar.put(letter("sum1"), box=b"Sums")
    await synced(liar, mirror)
    account = account_of(liar)
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account) as syncing:
        liar.put(letter("sum2"), box=b"Sums")
        liar.hangs_up = lambda command: b"" if re.match(r'EXAMINE "?Sums', command) else None
        liar.refuses, liar.refusal = lambda command: command.startswith(("LOGIN", "AUTH")), refusal
        with pytest.raises(kind):
            await syncing.once()
    assert named(mirror.status()) == []
