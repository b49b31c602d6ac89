"""postroom accounts add for services with an API of their own: from the client id to a login that was tried there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.peers.gmail import FakeGmail
from tests.peers.gmail.methods import MODIFY
from tests.peers.graph import FakeGraph
from tests.unit.doors.cli.test_oauth_login import browser, config, run  # noqa: F401 (fixtures)
from tests.unit.providers.oauth.authorisation import Authorisation, authorising

from postroom.providers.gmail.setup import GmailSetup
from postroom.providers.graph.setup import GraphSetup
from postroom.providers.oauth.keeping import Keeping
from postroom.providers.oauth.services import SERVICES
from postroom.settings import load
from postroom.settings.mailboxes import secrets_name

CLIENT = ("--client-id", "client-1")


@dataclass(frozen=True)
class Kind:
    """`flags` are what is given beside the address; `token` makes one of alice's on a fake."""

    name: str
    domain: str
    oauth: str
    setup: Any
    fake: Any
    flags: tuple[str, ...]
    scope: str
    token: Callable[[Any, str], str]
    secret: str = ""


KINDS = {
    "gmail": Kind(
        *("gmail", "gmail.com", "google", GmailSetup, FakeGmail),
        *(("--client-secret-env", "CLIENT_SECRET"), "gmail.modify"),
        lambda fake, address: fake.token(fake.user(address), {MODIFY}),
        "hush",
    ),
    "graph": Kind(
        *("graph", "contoso.example", "microsoft", GraphSetup, FakeGraph),
        *(("--provider", "graph"), "Mail.Send"),
        lambda fake, address: fake.token(fake.user(address), {"User.Read", "Mail.ReadWrite", "Mail.Send"}),
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def idp(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authorisation]:
    """Stands in for the endpoints of the service; whoever logs in there is alice."""
    table, address = kind.setup._table, f"alice@{kind.domain}"
    with kind.fake.started() as fake, authorising() as told:
        fake.user(address)
        place = getattr(fake, "base_url", fake.url)
        monkeypatch.setattr(kind.setup, "_table", lambda self, wishes: {**table(self, wishes), "base_url": place})
        told.make_access_token = lambda: kind.token(fake, address)
        told.client_secret = kind.secret
        own = replace(SERVICES[kind.oauth], authorize_url=f"{told.url}/authorize", token_url=f"{told.url}/token")
        monkeypatch.setitem(SERVICES, kind.oauth, own)
        yield told


def test_an_address_and_a_login_are_all_that_is_needed(
    kind: Kind,
    idp: Authorisation,
    browser: list[str],  # noqa: F811
    config: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("accounts", "add", f"alice@{kind.domain}", *CLIENT, *kind.flags) == 0, capsys.readouterr().err
    (account,) = load(config).accounts
    assert account.provider == kind.name
    assert account.oauth.client_id == "client-1"
    assert kind.scope in idp.authorised[0]["scope"]
    assert Keeping(secrets_name(account)).read().refresh_token in idp.refresh_tokens
    assert run("accounts", "--check") == 0
    assert "ok" in capsys.readouterr().out


def test_the_login_of_somebody_else_is_refused_and_nothing_is_written(
    kind: Kind,
    idp: Authorisation,
    browser: list[str],  # noqa: F811
    config: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("accounts", "add", f"bob@{kind.domain}", *CLIENT, *kind.flags) == 1
    said = capsys.readouterr().err
    assert f"a***@{kind.domain}" in said
    assert "Nothing was written" in said
    assert not config.exists()


def test_a_login_for_sending_alone_includes_what_replies_read(
    idp: Authorisation,
    kind: Kind,
    browser: list[str],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTROOM_SERVER__TOOLSETS", "send")
    assert run("accounts", "add", f"alice@{kind.domain}", *CLIENT, *kind.flags) == 0
    asked = {scope.rpartition("/")[2] for scope in idp.authorised[0]["scope"].split()}
    assert (
        asked
        == {
            "gmail": {"gmail.readonly", "gmail.compose"},
            "graph": {"offline_access", "User.Read", "Mail.ReadWrite", "Mail.Send"},
        }[kind.name]
    )


def test_a_login_with_an_unchecked_box_is_refused_and_nothing_is_written(
    kind: Kind,
    idp: Authorisation,
    browser: list[str],  # noqa: F811
    config: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Microsoft has no such boxes and calls its scopes by other names in the response."""
    idp.granted_scope = "https://www.googleapis.com/auth/gmail.readonly"
    status = run("accounts", "add", f"alice@{kind.domain}", *CLIENT, *kind.flags)
    said = capsys.readouterr().err
    assert (status, "does not include gmail.modify" in said, config.exists()) == (
        (1, True, False) if kind.name == "gmail" else (0, False, True)
    )


def test_a_server_or_a_password_for_such_an_account_is_refused(
    config: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = ("--provider", "graph", "--host", "imap.contoso.example")
    assert run("accounts", "add", "alice@contoso.example", *CLIENT, *flags) != 0
    assert "Leave out --host" in capsys.readouterr().err
    assert not config.exists()
