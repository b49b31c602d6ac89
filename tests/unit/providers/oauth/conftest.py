"""An authorisation server, a home of one's own and no keyring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postroom.providers.oauth.keeping import Keeping, Login
from postroom.providers.oauth.source import OAuthTokens
from postroom.settings import ImapAccount

from .authorisation import Authorisation, authorising

NOW = 1_800_000_000.0


@pytest.fixture
def idp() -> Iterator[Authorisation]:
    with authorising() as told:
        yield told


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))
    monkeypatch.setattr("postroom.settings.secrets._into_keyring", lambda *args: False)
    monkeypatch.setattr("postroom.settings.secrets.from_keyring", lambda *args: None)
    return tmp_path


@pytest.fixture
def account(idp: Authorisation) -> ImapAccount:
    return ImapAccount.model_validate(
        {
            "name": "work",
            "provider": "imap",
            "address": "alice@example.com",
            "host": "imap.example.com",
            "auth": "xoauth2",
            "oauth": idp.settings(),
        }
    )


@pytest.fixture
def logged_in(idp: Authorisation) -> Login:
    login = Login("access-0", NOW + 3600, idp.issue())
    Keeping("work").write(login)
    return login


@pytest.fixture
def source(account: ImapAccount) -> Callable[..., OAuthTokens]:
    def make(now: float = NOW, **options: Any) -> OAuthTokens:
        assert account.oauth is not None
        return OAuthTokens(account, account.oauth, proxies=False, clock=lambda: now, **options)

    return make
