"""Accounts that are taken out of the settings while a server runs."""

from __future__ import annotations

import pytest

from postroom.model.errors import InvalidRequest
from postroom.service.open_accounts import Accounts
from postroom.settings import LocalAccount


@pytest.fixture
def accounts() -> Accounts:
    made = [LocalAccount(name=name, address=f"{name}@example.test") for name in ("first", "second", "third")]
    return Accounts(made, opener=None)  # type: ignore[arg-type] - nothing is opened here


def test_it_is_unknown_here_and_to_every_client_until_it_is_back(accounts: Accounts) -> None:
    view = accounts.only(["second", "third"])
    accounts.withdraw({"second"})
    for one in (accounts, view):
        for wanted in ("second", "second@example.test", "second/shared@example.test"):
            with pytest.raises(InvalidRequest, match="There is no account"):
                one.named(wanted)
        assert "second" not in one.names("all")
        assert "second" not in [account.name for account in one.configured]
    accounts.withdraw(())
    assert view.named("second").name == "second"


def test_it_is_back_also_for_a_client_that_came_while_it_was_away(accounts: Accounts) -> None:
    accounts.withdraw({"second"})
    view = accounts.only(["second", "third"])
    assert view.names("all") == ["third"]
    accounts.withdraw(())
    assert view.names("all") == ["second", "third"]


def test_whoever_left_out_the_account_does_not_get_another_one_for_it(accounts: Accounts) -> None:
    accounts.withdraw({"first"})
    with pytest.raises(InvalidRequest, match=r"The default account first was removed.*second, third"):
        accounts.named(None)
    accounts.withdraw({"first", "second", "third"})
    with pytest.raises(InvalidRequest, match="No account is configured"):
        accounts.named(None)
