"""The small rooms: duplicates, previews, recipients."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.kit import WORK, FakeTime, sha

from postroom.store import Store, open_store
from postroom.store.sends.history import digest

MAIL = (["bob@example.org", "Ann@example.org"], "Hello", "x" * 300)


def test_the_same_mail_has_the_same_digest_however_it_is_spelt() -> None:
    assert digest(*MAIL) == digest(["ANN@example.org", "bob@example.org"], "hELLO", "x" * 200 + "y")


@pytest.mark.parametrize(
    "other",
    [
        (["bob@example.org"], "Hello", "x" * 300),
        (MAIL[0], "Hello!", "x" * 300),
        (MAIL[0], "Hello", "x" * 199 + "y"),
        (["bob@example.org"], "ann@example.orgHello", "x" * 300),
    ],
)
def test_another_mail_has_another_digest(other: tuple[list[str], str, str]) -> None:
    assert digest(*other) != digest(*MAIL)


def test_a_mail_is_a_duplicate_for_two_minutes(store: Store, other: Store, time: FakeTime) -> None:
    seen = other.duplicates.seen_recently
    assert not seen(WORK, digest(*MAIL))
    store.duplicates.remember(WORK, digest(*MAIL))
    assert seen(WORK, digest(*MAIL))
    assert not seen("home", digest(*MAIL))
    time.passes(120)
    store.prune()
    assert seen(WORK, digest(*MAIL))
    time.passes(1)
    assert not seen(WORK, digest(*MAIL))
    assert seen(WORK, digest(*MAIL), now=time.wall - 1)
    store.prune()
    assert not seen(WORK, digest(*MAIL), now=time.wall - 1)


def test_a_second_sending_starts_the_two_minutes_anew(store: Store, time: FakeTime) -> None:
    store.duplicates.remember(WORK, digest(*MAIL))
    store.duplicates.remember(WORK, digest(*MAIL), now=time.wall + 100)
    assert store.duplicates.seen_recently(WORK, digest(*MAIL), now=time.wall + 220)


def test_a_preview_counts_once(store: Store, other: Store) -> None:
    store.previews.remember(WORK, sha("hello"))
    assert not other.previews.consume(WORK, sha("hello!"))
    assert not other.previews.consume("home", sha("hello"))
    assert other.previews.consume(WORK, sha("hello"))
    assert not store.previews.consume(WORK, sha("hello"))


@pytest.mark.parametrize(("later", "counts"), [(0, True), (600, True), (600.5, False), (-1, False)])
def test_a_preview_counts_for_ten_minutes(store: Store, time: FakeTime, later: float, counts: bool) -> None:
    store.previews.remember(WORK, sha("hello"))
    time.passes(later)
    assert store.previews.is_valid(WORK, sha("hello")) is counts
    assert store.previews.consume(WORK, sha("hello")) is counts


def test_previews_nobody_used_are_forgotten(store: Store, time: FakeTime) -> None:
    store.previews.remember(WORK, sha("hello"))
    time.passes(601)
    store.previews.remember(WORK, sha("world"))
    store.prune()
    time.passes(-601)
    assert not store.previews.is_valid(WORK, sha("hello"))
    time.passes(601)
    assert store.previews.consume(WORK, sha("world"))


@pytest.mark.parametrize("set_by", [-7200, -1800, 7200])
def test_no_setting_of_the_clock_keeps_an_old_preview_valid(store: Store, time: FakeTime, set_by: float) -> None:
    store.previews.remember(WORK, sha("hello"))
    time.passes(1900)
    time.is_set(set_by)
    assert not store.previews.is_valid(WORK, sha("hello"))
    assert not store.previews.consume(WORK, sha("hello"))


def test_a_preview_does_not_outlive_the_boot_it_was_made_in(store: Store, path: Path, time: FakeTime) -> None:
    store.previews.remember(WORK, sha("hello"))
    time.reboots()
    again = open_store(path, clock=time.clock())
    assert not again.previews.consume(WORK, sha("hello"))
    again.close()


def test_correspondents_are_known_in_any_spelling_and_by_account(store: Store, other: Store) -> None:
    store.recipients.remember(WORK, ["Bob@Example.org", "bob@example.org", "ann@M\u00dcLLER.example"])
    asked = ["BOB@example.ORG", "eve@example.org", "ann@xn--mller-kva.example"]
    assert other.recipients.known(WORK, asked) == {"BOB@example.ORG", "ann@xn--mller-kva.example"}
    assert other.recipients.known("home", asked) == set()
    assert other.recipients.known(WORK, []) == set()


def test_another_domain_that_only_looks_alike_is_not_known(store: Store) -> None:
    store.recipients.remember(WORK, ["bob@stra\u00dfe.example"])
    assert store.recipients.known(WORK, ["bob@strasse.example", "bob@Stra\u00dfe.example"]) == {
        "bob@Stra\u00dfe.example"
    }


def test_addresses_for_leaving_a_list_are_kept_apart_from_those_somebody_chose_to_write_to(
    store: Store, other: Store
) -> None:
    store.recipients.note_lists(WORK, ["Leave@List.example", "leave@list.example"])
    store.recipients.remember(WORK, ["bob@example.org"])
    asked = ["leave@LIST.example", "bob@example.org"]
    assert other.recipients.lists(WORK, asked) == {"leave@LIST.example"}
    assert other.recipients.known(WORK, asked) == {"bob@example.org"}
    assert other.recipients.lists("home", asked) == set()
