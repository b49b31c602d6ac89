"""Names that mean a role, however they are written, and those that do not."""

from __future__ import annotations

import pytest

from postroom.model.folder import ALIASES, Folder, Role
from postroom.model.role_names import _BY_NAME, read_as, role_by_name, role_to_come


def test_whatever_gives_a_folder_its_role_or_finds_one_by_it_is_read_as_that() -> None:
    names = {**_BY_NAME, **ALIASES, **{role.value: role for role in Role}}

    missed = {name for name, role in names.items() if role is not Role.ARCHIVE and read_as(name) is not role}

    assert missed == set()
    assert {name for name in names if read_as(name.upper()) is not read_as(name)} == set()


@pytest.mark.parametrize(
    "name",
    [
        *("Sent", "SENT", "s e n t", "Sent-Items", "SentItems", "_sent_", "Projects/Sent", "Sent/2026"),
        *("\uff33\uff45\uff4e\uff54", "S\u0435nt", "\u017fent", "5ent", "Se\u0301nt", "Se\u200bnt", "\\Sent", "[Sent]"),
        *("\U0001d412ent", "\U0001d5e6\U0001d5d8\U0001d5e1\U0001d5e7", "送信済みトレイ", "العناصر المرسلة"),
        *("&AFMAZQBuAHQ-", "S&AGU-nt", "[Gmail]/Sent Mail", "Gesendete Elemente", "\u5df2\u53d1\u9001"),
    ],
)
def test_sent_is_recognised_in_every_dress(name: str) -> None:
    assert read_as(name) is Role.SENT


def test_any_part_of_a_path_is_enough() -> None:
    assert read_as("INBOX.Sent") is Role.INBOX
    assert read_as("a/b.sent/c") is Role.SENT


@pytest.mark.parametrize(
    "name", ["Sentiment", "Presents", "Overdraft", "Archive", "Archive/2026", "v1.2", "R&D", "Billing", "", "Work & Co"]
)
def test_other_names_are_nobodys(name: str) -> None:
    assert read_as(name) is None


def test_a_name_promises_a_role_only_where_no_server_speaks_for_it() -> None:
    told = Folder("1", "Gesendet", Role.SENT)
    guessed = Folder("2", "Sent", Role.SENT, is_guess=True)
    spare = Folder("3", "Sent Items")

    assert role_by_name(spare.name) is Role.SENT
    assert role_to_come(spare, [told, spare]) is None
    assert role_to_come(spare, [guessed, spare]) is Role.SENT
