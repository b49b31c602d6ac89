"""postroom accounts add for Gmail: from the client id to a login that was tried on its API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.methods import MODIFY
from tests.unit.doors.cli.test_oauth_login import browser, config, run  # noqa: F401 (fixtures)
from tests.unit.providers.oauth.authorisation import Authorisation, authorising

from postroom.providers.gmail.setup import GmailSetup
from postroom.providers.oauth.keeping import Keeping
from postroom.providers.oauth.services import SERVICES
from postroom.settings import GmailAccount, load

CLIENT = ("--client-id", "client-1", "--client-secret-env", "CLIENT_SECRET")


@pytest.fixture
def gmail(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGmail]:
    table = GmailSetup._table
    with FakeGmail.started() as gmail:
        gmail.user("alice@gmail.com")
        monkeypatch.setattr(GmailSetup, "_table", lambda self, wishes: {**table(self, wishes), "base_url": gmail.url})
        yield gmail


@pytest.fixture
def idp(gmail: FakeGmail, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authorisation]:
    """Stands in for Google's endpoints; whoever logs in there is alice."""
    with authorising() as told:
        told.make_access_token = lambda: gmail.token(gmail.user("alice@gmail.com"), {MODIFY})
        told.client_secret = "hush"
        own = replace(SERVICES["google"], authorize_url=f"{told.url}/authorize", token_url=f"{told.url}/token")
        monkeypatch.setitem(SERVICES, "google", own)
        yield told


def test_a_gmail_address_and_a_login_are_all_that_is_needed(
    idp: Authorisation,
    browser: list[str],  # noqa: F811
    config: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("accounts", "add", "alice@gmail.com", *CLIENT) == 0, capsys.readouterr().err
    (account,) = load(config).accounts
    assert isinstance(account, GmailAccount)
    assert (account.name, account.oauth and account.oauth.client_id) == ("gmail", "client-1")
    assert idp.authorised[0]["scope"].endswith("gmail.modify")
    assert Keeping("gmail").read().refresh_token in idp.refresh_tokens
    assert run("accounts", "--check") == 0
    assert "ok" in capsys.readouterr().out


def test_the_login_of_somebody_else_is_refused_and_nothing_is_written(
    idp: Authorisation,
    gmail: FakeGmail,
    browser: list[str],  # noqa: F811
    config: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("accounts", "add", "bob@gmail.com", *CLIENT) == 1
    said = capsys.readouterr().err
    assert "a***@gmail.com" in said
    assert "Nothing was written" in said
    assert not config.exists()
