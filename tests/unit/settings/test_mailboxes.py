"""Which settings make another mailbox of an account."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.settings import ImapAccount, LocalAccount
from postroom.settings.mailboxes import owner_of

MINE = {"name": "work", "address": "ann@example.org", "host": "imap.example.org", "username": "ann"}


@pytest.mark.parametrize(
    "change", [{"address": "zoe@example.org"}, {"host": "imap.elsewhere.example"}, {"username": "zoe"}]
)
def test_another_address_host_or_user_is_another_mailbox(change: dict[str, Any]) -> None:
    assert owner_of(ImapAccount(**MINE | change)) != owner_of(ImapAccount(**MINE))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "job"}, {"address": "Ann@Example.org"}, {"port": 143, "security": "starttls"}, {"password": "new"},
        {"timeout": 5}, {"mirror": "full", "mirror_days": 30}, {"smtp_host": "smtp.example.org"}, {"display_name": "A"},
    ],
)  # fmt: skip
def test_the_way_to_the_mailbox_and_what_is_made_of_it_do_not_count(change: dict[str, Any]) -> None:
    assert owner_of(ImapAccount(**MINE | change)) == owner_of(ImapAccount(**MINE))


def test_an_embedded_mailbox_with_the_same_address_is_another_than_the_servers() -> None:
    assert owner_of(LocalAccount(name="work", address="ann@example.org")) != owner_of(ImapAccount(**MINE))
