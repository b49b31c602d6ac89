"""Gmail's labels are folders, and its history says nothing of one that was renamed: no message changes by that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.unit.sync.cloud import Cloud, cloud_of
from tests.unit.sync.cloud_checking import handles_lead_there, same

from postroom.model.query.tree import In, Label
from postroom.providers.gmail.mail import labels
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.sync.following import by_listing
from postroom.sync.following.syncing import Syncing, Tools

pytestmark = pytest.mark.anyio


@pytest.fixture
async def gmail(tmp_path: Path) -> AsyncIterator[Cloud]:
    async with cloud_of("gmail", tmp_path) as cloud:
        yield cloud


def label(gmail: Cloud, name: str) -> str:
    return gmail.side.user.labels.create(name).id


def deliver(gmail: Cloud, key: str, *labels: str) -> Any:
    return gmail.side.peer.deliver(gmail.side.user, mail(key), labels)


def with_label(gmail: Cloud, name: str) -> set[str]:
    return {row.subject.removeprefix("Subject of ") for row in gmail.found(Label(name))}


def lying_in(gmail: Cloud, name: str) -> set[str]:
    return {row.subject.removeprefix("Subject of ") for row in gmail.found(In(name))}


def read_messages(gmail: Cloud) -> int:
    return sum(1 for one in gmail.side.peer.requests if one.operation in ("messages.get", "threads.get"))


async def test_a_renamed_label_shows_everywhere_and_no_message_is_read_for_it(gmail: Cloud, tmp_path: Path) -> None:
    work = label(gmail, "Work")
    deliver(gmail, "one", work, "INBOX")
    deliver(gmail, "archived", work)
    deliver(gmail, "trashed", work, "TRASH")
    deliver(gmail, "other", "INBOX")
    handles, shown = Handles(Database(tmp_path / "state.db")), dict[str, str]()
    await gmail.sync(Tools(handles))
    handles_lead_there(gmail, handles, shown)
    gmail.side.rename(work, "Office")
    gmail.side.peer.forget()
    await gmail.sync(Tools(handles))
    assert read_messages(gmail) == 0
    assert (with_label(gmail, "Work"), with_label(gmail, "Office")) == (set(), {"one", "archived", "trashed"})
    assert lying_in(gmail, "Office") == {"one", "archived"}
    handles_lead_there(gmail, handles, shown)
    assert len(shown) == 4
    await same(gmail)


async def test_labels_that_exchange_their_names_exchange_no_messages(gmail: Cloud) -> None:
    ours, theirs = label(gmail, "Ours"), label(gmail, "Theirs")
    deliver(gmail, "our own", ours)
    deliver(gmail, "their own", theirs, "TRASH")
    deliver(gmail, "of both", ours, theirs)
    await gmail.sync()
    gmail.side.rename(ours, "Theirs")
    gmail.side.rename(theirs, "Ours")
    gmail.side.peer.forget()
    await gmail.sync()
    assert read_messages(gmail) == 0
    assert with_label(gmail, "Theirs") == {"our own", "of both"}
    assert with_label(gmail, "Ours") == {"their own", "of both"}
    await same(gmail)


@pytest.mark.parametrize("names", [("b", "a/b"), ("a/b", "b"), ("a/b", "a/c/b"), ("work", "WORK")])
async def test_a_label_is_put_below_another_or_above_it_or_spelt_otherwise(
    gmail: Cloud, names: tuple[str, str]
) -> None:
    label(gmail, "a")
    moved = label(gmail, names[0])
    deliver(gmail, "one", moved)
    await gmail.sync()
    gmail.side.rename(moved, names[1])
    await gmail.sync()
    (row,) = gmail.rows().values()
    assert (row.folder, row.labels) == (names[1], (names[1],))
    await same(gmail)


async def test_a_message_with_labels_alone_is_shown_in_the_first_by_their_names_of_now(gmail: Cloud) -> None:
    first, second = label(gmail, "alpha"), label(gmail, "beta")
    deliver(gmail, "one", first, second)
    deliver(gmail, "in the inbox", first, second, "INBOX")
    await gmail.sync()
    gmail.side.rename(first, "Zeta")
    await gmail.sync()
    assert {row.folder for row in gmail.rows().values()} == {"beta", "INBOX"}
    await same(gmail)


@pytest.mark.parametrize("is_reported", [True, False])
@pytest.mark.parametrize("name", ["Work", "WORK"])
async def test_a_label_made_anew_has_only_the_messages_that_were_given_it(
    gmail: Cloud, is_reported: bool, name: str
) -> None:
    old = label(gmail, "Work")
    for key, place in (("before", "INBOX"), ("again", "INBOX"), ("trashed", "TRASH")):
        deliver(gmail, key, old, place)
    await gmail.sync()
    gmail.side.take_label_away(old, is_reported=is_reported)
    new = label(gmail, name)
    again = next(one for one in gmail.side.user if "again" in one.subject)
    gmail.side.user.change_labels(again, [new])
    await gmail.sync()
    assert with_label(gmail, name) == {"again"}
    await same(gmail)


@pytest.mark.parametrize("is_reported", [True, False])
async def test_a_label_that_takes_the_name_of_a_deleted_one_does_not_take_its_messages(
    gmail: Cloud, is_reported: bool
) -> None:
    gone, kept = label(gmail, "Work"), label(gmail, "Office")
    deliver(gmail, "of the deleted one", gone, "TRASH")
    deliver(gmail, "of both", gone, kept)
    deliver(gmail, "of the other", kept)
    await gmail.sync()
    gmail.side.take_label_away(gone, is_reported=is_reported)
    gmail.side.rename(kept, "Work")
    await gmail.sync()
    assert with_label(gmail, "Work") == {"of both", "of the other"}
    await same(gmail)


async def test_the_last_label_goes_from_messages_in_the_trash_too(gmail: Cloud) -> None:
    only = label(gmail, "Work")
    deliver(gmail, "trashed", only, "TRASH")
    await gmail.sync()
    gmail.side.take_label_away(only, is_reported=False)
    await gmail.sync()
    await same(gmail)


async def test_a_label_that_is_hidden_in_gmail_is_still_there(gmail: Cloud) -> None:
    hidden = label(gmail, "Work")
    deliver(gmail, "one", hidden)
    await gmail.sync()
    gmail.side.user.labels.get(hidden).label_list = "labelHide"
    gmail.side.user.labels.get(hidden).message_list = "hide"
    gmail.side.peer.forget()
    await gmail.sync()
    assert read_messages(gmail) == 0
    assert with_label(gmail, "Work") == {"one"}
    await same(gmail)


@pytest.mark.parametrize("verb", ["folders", "changed_since", "search", "envelopes", "fetch_many"])
@pytest.mark.parametrize("number", range(1, 5))
async def test_labels_that_exchange_their_names_at_any_moment_of_a_run_exchange_no_messages(
    gmail: Cloud, verb: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a first fill, and of a run that finds changes; and wherever names are kept for a while, that is over."""
    monkeypatch.setattr(labels, "_KEPT", 0.0)
    monkeypatch.setattr(by_listing, "_FIRST_PAGE", 2)
    monkeypatch.setattr(by_listing, "_PAGE", 3)
    ours, theirs = label(gmail, "Ours"), label(gmail, "Theirs")
    for run in range(2):
        for n in range(6):
            deliver(gmail, f"{run} {n}", (ours, theirs)[n % 2], *(["TRASH"] if n > 3 else []))
        gmail.before = at(verb, number, lambda: exchange(gmail, ours, theirs))
        await gmail.sync(Tools(clock=quick()))
        gmail.before = lambda verb: None
        await gmail.sync()
        await same(gmail)


def at(verb: str, number: int, action: Callable[[], None]) -> Callable[[str], None]:
    """Before that verb reaches the server for the n-th time."""
    calls = count(1)
    return lambda called: action() if called == verb and next(calls) == number else None


def quick() -> Callable[[], float]:
    """Ten seconds pass between two looks at this clock."""
    moments = count(1_900_000_000.0, 10.0)
    return lambda: next(moments)


def exchange(gmail: Cloud, one: str, other: str) -> None:
    names = [gmail.side.user.labels.get(label).name for label in (one, other)]
    gmail.side.rename(one, names[1])
    gmail.side.rename(other, names[0])


async def test_the_archive_is_another_folder_than_labels_that_are_called_like_it(gmail: Cloud) -> None:
    """Such labels come from other programs."""
    first, second = label(gmail, "one"), label(gmail, "two")
    for key, *labels_of_it in (("one", first), ("two", second), ("archived",)):
        deliver(gmail, key, *labels_of_it)
    await gmail.sync()
    for name, other in (("Archive", "two"), ("Archive", "Archived"), ("one", "Archived")):
        gmail.side.rename(first, name)
        gmail.side.rename(second, other)
        await gmail.sync()
        await same(gmail)


async def test_a_mirror_from_before_names_were_followed_gets_the_names_of_now(gmail: Cloud) -> None:
    """Only messages with a label that no longer has that name are looked at."""
    work = label(gmail, "Work")
    deliver(gmail, "one", work, "TRASH")
    deliver(gmail, "other", "INBOX")
    await gmail.sync()
    with gmail.mirror.transaction() as connection:
        connection.execute("UPDATE label SET name = 'Formerly', folded = 'formerly'")
    gmail.side.peer.forget()
    await gmail.sync()
    assert read_messages(gmail) == 1
    await same(gmail)


async def test_a_reader_who_catches_up_sees_the_new_name(gmail: Cloud) -> None:
    work = label(gmail, "Work")
    deliver(gmail, "one", work, "INBOX")
    await gmail.sync()
    gmail.side.rename(work, "Office")
    async with gmail.mailbox() as mailbox, Syncing(gmail.mirror, mailbox, gmail.side.settings) as syncing:
        await syncing.catch_up()
    assert with_label(gmail, "Office") == lying_in(gmail, "Office") == {"one"}
