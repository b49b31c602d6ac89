"""Looking at the accounts and taking one away: settings and secret go together, the mailbox is left alone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from postroom.doors.cli import main
from postroom.service.accounts import mirrors
from postroom.settings import load, secrets
from postroom.sync.file.mirror import Mirror, mirror_files, mirror_path

LOCAL = '# mine\n[[accounts]]\nname = "box"\nprovider = "local"\naddress = "box@example.com"\n'


def run(*argv: str) -> int:
    def no_server(*args: object, **kwargs: object) -> None:
        raise AssertionError("this command serves nothing")

    return main.run(argv, serve=no_server)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A settings file with a local account and one whose password lies in an encrypted file."""
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("s3cret\n"))
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    path = tmp_path / "config" / "postroom" / "postroom.toml"
    path.parent.mkdir(parents=True)
    path.write_text(LOCAL)
    assert run("accounts", "add", "alice@gmx.de", "--no-check", "--password-stdin") == 0
    yield path
    keyring.set_keyring(before)


def secrets_of(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "home" / "secrets").iterdir())


@pytest.mark.parametrize("name", ["gmx", "alice@gmx.de"])
def test_an_account_goes_with_its_secret(
    tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert len(secrets_of(tmp_path)) == 1
    assert run("accounts", "remove", name) == 0
    assert "gmx" in capsys.readouterr().out
    assert config.read_text() == LOCAL
    assert secrets_of(tmp_path) == []
    assert [account.name for account in load().accounts] == ["box"]


def test_what_another_settings_file_has_under_the_name_alone_stays(tmp_path: Path) -> None:
    """Stored by an earlier version, for the same name and another address."""
    secrets.keep("gmx", "oauth", "{}", environ=os.environ)
    assert run("accounts", "remove", "gmx") == 0
    assert secrets_of(tmp_path) == ["gmx.oauth"]


def test_no_secret_is_called_deleted_that_never_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts", "remove", "gmx") == 0
    assert "its stored secret was deleted" in capsys.readouterr().out
    assert run("accounts", "remove", "box") == 0
    assert "its stored secret" not in capsys.readouterr().out


@pytest.mark.parametrize("is_followed", [True, False])
def test_the_mirror_goes_too_and_a_server_that_would_fill_it_again_is_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_followed: bool
) -> None:
    monkeypatch.setattr(mirrors, "_UNTIL_LEFT", 0.1)
    mirror = Mirror(mirror_path(tmp_path / "home", "gmx"))
    with mirror.transaction():
        pass
    mirror.close()
    lock = mirror.lock()
    assert lock is not None
    with lock if is_followed else nullcontext(lock.close()):
        assert run("accounts", "remove", "gmx") == 0
    assert mirror_files(tmp_path / "home") == {}
    assert ("still follows it" in capsys.readouterr().out) == is_followed


def test_an_unknown_name_changes_nothing(tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = config.read_bytes()
    assert run("accounts", "remove", "nobody") == 2
    assert "box, gmx" in capsys.readouterr().err
    assert config.read_bytes() == before
    assert len(secrets_of(tmp_path)) == 1


def test_a_file_that_cannot_be_changed_keeps_the_secret(
    tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(
        'accounts = [{name = "gmx", provider = "imap", address = "alice@gmx.de", host = "imap.gmx.net"}]\n'
    )
    assert run("accounts", "remove", "gmx") == 2
    assert "yourself" in capsys.readouterr().err
    assert len(secrets_of(tmp_path)) == 1


def test_an_account_of_the_environment_is_not_in_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTROOM_ACCOUNTS", '[{"name": "env", "provider": "local", "address": "e@example.com"}]')
    assert run("accounts", "remove", "env") == 2
    assert "POSTROOM_ACCOUNTS" in capsys.readouterr().err


def test_the_sample_mailbox_cannot_be_removed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.unlink()
    assert run("accounts", "remove", "alex") == 2
    assert "sample mailbox" in capsys.readouterr().err


def test_after_the_last_account_it_is_said_how_to_add_one(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts", "remove", "gmx") == 0
    assert run("accounts", "remove", "box") == 0
    assert run("accounts") == 2
    assert "postroom accounts add" in capsys.readouterr().err
    assert config.read_text() == "# mine\n"


def test_the_list_has_a_verb_of_its_own(tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts") == 0
    bare = capsys.readouterr().out
    for argv in (["list"], ["list", "--config", str(config)], ["--config", str(config), "list"]):
        assert run("accounts", *argv) == 0
        assert capsys.readouterr().out == bare
    config.write_text(LOCAL)
    for argv in (["list", "--check"], ["--check", "list"]):
        assert run("accounts", *argv) == 0
        assert "ok" in capsys.readouterr().out
