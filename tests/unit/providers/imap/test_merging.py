"""One page out of many folders."""

from __future__ import annotations

from datetime import UTC, datetime

from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.search.searching import Hit, Hits, merged


def hit(folder: str, day: int, identity: bytes = b"") -> Hit:
    return Hit(MailRef(folder, 1, day), datetime(2026, 6, day, tzinfo=UTC), identity)


def hits(*found: Hit, total: int | None = None) -> Hits:
    return Hits(found, len(found) if total is None else total)


def places(page: list[Hit]) -> list[tuple[str, int]]:
    return [(found.ref.folder, found.ref.uid) for found in page]


def test_the_newest_come_first_whichever_folder_they_lie_in() -> None:
    found = [hits(hit("INBOX", 3), hit("INBOX", 1)), hits(hit("Sent", 2))]
    page, total, has_more = merged(found, limit=2, offset=0)
    assert (places(page), total, has_more) == ([("INBOX", 3), ("Sent", 2)], 3, True)


def test_totals_add_up_even_where_not_every_hit_is_at_hand() -> None:
    found = [hits(hit("INBOX", 3), total=40), hits(hit("Sent", 2), total=2)]
    assert merged(found, limit=1, offset=0)[1] == 42
    assert merged([*found, Hits((hit("Old", 1),), None)], limit=1, offset=0)[1] is None


def test_a_mail_in_several_folders_is_shown_once_from_the_first_of_them() -> None:
    found = [hits(hit("INBOX", 3, b"m3"), hit("INBOX", 1, b"m1")), hits(hit("work", 3, b"m3"), hit("work", 2, b"m2"))]
    page, total, has_more = merged(found, limit=2, offset=0)
    assert (places(page), total, has_more) == ([("INBOX", 3), ("work", 2)], 3, True)
    rest, total, has_more = merged(found, limit=2, offset=2)
    assert (places(rest), total, has_more) == ([("INBOX", 1)], 3, False)


def test_how_many_different_mails_there_are_is_unknown_until_all_were_seen() -> None:
    found = [hits(hit("INBOX", 3, b"m3"), total=40), hits(hit("work", 3, b"m3"))]
    assert merged(found, limit=1, offset=0)[1] is None
