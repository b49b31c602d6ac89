"""Setting up and checking an account at a REST mail API, on a running one."""

from __future__ import annotations

import io
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from tests.contract.mails import mail
from tests.peers.rest import RestPeer
from tests.peers.rest.service import PASSWORD

from postroom.doors.cli import main
from postroom.doors.mcp.server import count_tools

ME = "me@demo.example"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestPeer]:
    with RestPeer(tmp_path_factory.mktemp("rest")).run() as peer:
        yield peer


@pytest.fixture
def api(running: RestPeer) -> Iterator[RestPeer]:
    running.add_user(ME)
    running.forget()
    yield running
    running.forget_faults()
    running.remove_user(ME)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield tmp_path / "config" / "postroom" / "postroom.toml"
    keyring.set_keyring(before)


def run(*argv: str) -> int:
    def no_server(*args: object, **kwargs: object) -> None:
        raise AssertionError("this command serves nothing")

    return main.run(argv, serve=no_server, count_tools=count_tools)


def add(monkeypatch: pytest.MonkeyPatch, *flags: str, password: str = PASSWORD) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{password}\n"))
    return run("accounts", "add", ME, "--provider", "rest", "--password-stdin", *flags)


def test_an_account_is_added_after_a_login_and_doctor_finds_it_well(
    api: RestPeer, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api.users[ME].store.add(mail("one"))
    assert add(monkeypatch, "--base-url", api.url) == 0
    (account,) = tomllib.loads(config.read_text())["accounts"]
    assert account == {"name": "demo", "provider": "rest", "address": ME, "base_url": api.url}
    assert PASSWORD not in capsys.readouterr().out
    assert run("doctor") == 0
    checked = capsys.readouterr().out
    assert "FAIL" not in checked
    assert "not tried: this provider has no drafts" in checked
    assert run("accounts", "list", "--check") == 0


def test_a_wrong_password_writes_nothing(
    api: RestPeer, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(monkeypatch, "--base-url", api.url, password="hunter2") == 1
    assert not config.exists()
    said = capsys.readouterr().err
    assert "Nothing was written" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("flags", "said"),
    [([], "--base-url"), (["--base-url", "mail.example.com"], "starts with https:// or http://"),
     (["--base-url", "https://x.example", "--smtp-host", "y.example"], "no use for --smtp-host")],
)  # fmt: skip
def test_what_is_missing_or_of_no_use_is_named_before_anything_is_asked(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    assert add(monkeypatch, *flags) == 2
    assert said in capsys.readouterr().err
    assert not config.exists()


def test_a_url_without_the_api_is_named(
    api: RestPeer, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(monkeypatch, "--base-url", f"{api.url}/elsewhere") == 1
    assert "Nothing was written" in capsys.readouterr().err
    assert not config.exists()


def test_a_token_from_the_settings_is_to_be_changed_there(
    api: RestPeer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'[mail_api]\nbase_url = "{api.url}"\nauth_token = "old"\n')
    path.chmod(0o600)
    assert run("accounts", "login", "mail", "--config", str(path)) == 2
    assert "takes its auth_token from auth_token. Change it there." in capsys.readouterr().err


def test_a_service_without_a_drafts_folder_is_well_too(
    api: RestPeer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(monkeypatch, "--base-url", api.url) == 0
    names = '[{"name": "INBOX"}, {"name": "Sent"}, {"name": "Trash"}]'
    api.answer_next("GET", "mailboxes.list", names, times=20)
    assert run("doctor") == 0
    assert "FAIL" not in capsys.readouterr().out
