"""The `oauth` table of an account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.settings import ImapAccount, SettingsError, load
from postroom.settings.writing import append_account

BASE = """
[[accounts]]
name = "work"
provider = "imap"
address = "alice@example.com"
host = "imap.gmail.com"
auth = "xoauth2"
"""


def written(folder: Path, oauth: str, base: str = BASE, mode: int = 0o600) -> Path:
    path = folder / "postroom.toml"
    path.write_text(f"{base}\n{oauth}\n")
    path.chmod(mode)
    return path


def read(path: Path, environ: dict[str, str] | None = None) -> Any:
    (account,) = load(path, environ={"POSTROOM_HOME": str(path.parent), **(environ or {})}).accounts
    assert isinstance(account, ImapAccount)
    return account


def test_it_may_stand_in_one_line_or_as_a_table(tmp_path: Path) -> None:
    one = read(written(tmp_path, 'oauth = { service = "google", client_id = "id" }')).oauth
    other = read(written(tmp_path, '[accounts.oauth]\nservice = "google"\nclient_id = "id"')).oauth
    assert one == other
    assert (one.service, one.client_id) == ("google", "id")


def test_the_environment_reaches_into_it(tmp_path: Path) -> None:
    path = written(tmp_path, 'oauth = { service = "google", client_id = "id" }')
    oauth = read(path, {"POSTROOM_ACCOUNTS__WORK__OAUTH__CLIENT_ID": "other"}).oauth
    assert (oauth.service, oauth.client_id) == ("google", "other")


@pytest.mark.parametrize(
    ("oauth", "says"),
    [
        ('oauth = { service = "google" }', "accounts[0].oauth.client_id: missing"),
        ('oauth = { service = "google", client_id = "" }', "accounts[0].oauth.client_id"),
        ('oauth = { service = "gogle", client_id = "i" }', "did you mean google?"),
        ('oauth = { service = "google", client_idd = "i" }', "accounts[0].oauth.client_idd: unknown key; did you mean"),
        ('oauth = "google"', "accounts[0].oauth: wrong type; write a table"),
        ('oauth = { service = "other", client_id = "i" }', "token_url"),
        ('oauth = { service = "google", client_id = "i", token_url = "http://evil.example/t" }', "https://"),
        ('oauth = { service = "google", client_id = "i", token_url = "https://[" }', "https://"),
        ('token_env = "T"\noauth = { service = "google", client_id = "i" }', "token_env and oauth are set"),
        ('token_env = "T"\ntoken_command = ["pass"]', "token_env and token_command are set"),
        (
            'oauth = { service = "google", client_id = "i", client_secret_env = "A", client_secret_file = "b" }',
            "keep one of them",
        ),
    ],
)
def test_a_mistake_in_it_is_named_by_its_key(tmp_path: Path, oauth: str, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(written(tmp_path, oauth))
    assert says in caught.value.message


def test_a_password_login_and_oauth_do_not_go_together(tmp_path: Path) -> None:
    base = BASE.replace('auth = "xoauth2"', "")
    with pytest.raises(SettingsError, match="xoauth2"):
        read(written(tmp_path, 'oauth = { service = "google", client_id = "i" }', base))


def test_a_client_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="client_secret"):
        read(written(tmp_path, 'oauth = { service = "google", client_id = "i", client_secret = "s" }', mode=0o644))
    (tmp_path / "secret").write_text("s")
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(SettingsError, match=r"oauth\.client_secret_file"):
        read(written(tmp_path, 'oauth = { service = "google", client_id = "i", client_secret_file = "secret" }'))


def test_an_account_with_it_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    oauth = {"service": "microsoft", "client_id": 'a"b', "scopes": ["one", "two"]}
    append_account(
        path,
        {
            "name": "work",
            "provider": "imap",
            "address": "alice@example.com",
            "host": "outlook.office365.com",
            "auth": "xoauth2",
            "oauth": oauth,
        },
    )
    found = read(path).oauth
    assert (found.client_id, found.scopes) == ('a"b', ("one", "two"))
