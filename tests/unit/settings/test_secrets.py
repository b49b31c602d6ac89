"""Secrets come from where the settings say, at the moment they are needed, and are never shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from postroom.model.errors import AuthRequired
from postroom.settings import ImapAccount, ServerSettings, SettingsError, build
from postroom.settings.exposure import is_exposed
from postroom.settings.secrets import resolve, resolve_tokens


def account(**more: object) -> ImapAccount:
    return ImapAccount.model_validate(
        {"name": "work", "provider": "imap", "address": "alice@example.com", "host": "imap.example.com", **more}
    )


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture(autouse=True)
def empty_keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring in memory in place of the system's."""
    entries: dict[tuple[str, str], str] = {}
    keyring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    errors.KeyringError = type("KeyringError", (Exception,), {})  # type: ignore[attr-defined]
    keyring.errors = errors  # type: ignore[attr-defined]
    keyring.get_password = lambda service, user: entries.get((service, user))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    return entries


def test_a_secret_written_in_the_file_is_resolved_but_never_printed() -> None:
    written = account(password="hunter2")
    assert resolve(written, "password") == "hunter2"
    assert "hunter2" not in f"{written!r} {written}"


def test_a_secret_is_taken_from_the_variable_it_names() -> None:
    assert resolve(account(password_env="MAIL_PW"), "password", environ={"MAIL_PW": "hunter2"}) == "hunter2"


def test_a_secret_is_taken_from_the_file_it_names_without_its_line_end(tmp_path: Path) -> None:
    assert resolve(account(password_file=written(tmp_path / "pw", "hunter2\n")), "password") == "hunter2"


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602, 0o620, 0o666])
def test_a_secret_file_that_others_can_get_at_is_refused_where_it_is_read(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "pw", "hunter2", mode)
    with pytest.raises(AuthRequired, match=r"account work: password_file: other users .* chmod 600") as caught:
        resolve(account(password_file=path), "password")
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("key", ["password_file", "token_file"])
def test_a_secret_file_that_others_can_get_at_is_an_error_at_the_start_and_names_the_key(
    tmp_path: Path, key: str
) -> None:
    path = written(tmp_path / "secret", "hunter2", 0o644)
    one = {
        "name": "work",
        "provider": "imap",
        "address": "alice@example.com",
        "host": "imap.example.com",
        key: "secret",
    }
    with pytest.raises(SettingsError, match=rf"^accounts\[0\]\.{key}: other users .*chmod 600"):
        build({"accounts": [one]}, home=tmp_path)
    path.chmod(0o600)
    assert build({"accounts": [one]}, home=tmp_path).accounts
    path.unlink()
    assert build({"accounts": [one]}, home=tmp_path).accounts


def test_a_file_of_tokens_that_others_can_get_at_is_an_error_at_the_start(tmp_path: Path) -> None:
    written(tmp_path / "tokens", "four", 0o640)
    with pytest.raises(SettingsError, match=r"^server\.tokens_file: other users"):
        build({"server": {"tokens_file": "tokens"}}, home=tmp_path)


@pytest.mark.parametrize("user", [1000, 0])
def test_a_group_may_read_what_root_gave_to_it(monkeypatch: pytest.MonkeyPatch, user: int) -> None:
    def state(uid: int, mode: int) -> os.stat_result:
        return os.stat_result((mode, 0, 0, 1, uid, 10001, 0, 0, 0, 0))

    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert not is_exposed(state(0, 0o100640))
    assert is_exposed(state(0, 0o100660))
    assert is_exposed(state(0, 0o100644))
    assert is_exposed(state(1000, 0o100640))
    assert not is_exposed(state(1000, 0o100600))


@pytest.mark.parametrize("pointer", [{"password_env": "MAIL_PW"}, {"password_file": "absent"}])
def test_a_pointer_to_nothing_says_what_is_missing(pointer: dict[str, str]) -> None:
    with pytest.raises(
        AuthRequired, match=f"account work: {next(iter(pointer))} names .*{next(iter(pointer.values()))}"
    ):
        resolve(account(**pointer), "password", environ={})


def test_what_an_editor_or_a_shell_adds_to_a_secret_is_not_part_of_it(tmp_path: Path) -> None:
    marked = written(tmp_path / "pw", "\ufeffhunter2\r\n")
    assert resolve(account(password_file=marked), "password") == "hunter2"
    assert resolve(account(password_env="PW"), "password", environ={"PW": " hunter2 \r\n"}) == " hunter2 "
    tokens = ServerSettings.model_validate({"tokens_file": written(tmp_path / "tokens", "\ufeffone\r\ntwo\r\n")})
    assert resolve_tokens(tokens) == ("one", "two")


def test_an_empty_place_of_a_secret_is_said_to_be_empty(tmp_path: Path) -> None:
    empty = written(tmp_path / "pw", "\n")
    with pytest.raises(AuthRequired, match=r"account work: password_file names .*pw, which is empty"):
        resolve(account(password_file=empty), "password")
    with pytest.raises(AuthRequired, match=r"account work: password_env names the variable PW, which is not set"):
        resolve(account(password_env="PW"), "password", environ={"PW": "\n"})


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_a_place_for_tokens_without_one_does_not_open_the_server_to_everybody(tmp_path: Path, content: str) -> None:
    server = ServerSettings.model_validate({"tokens_file": written(tmp_path / "tokens", content)})
    with pytest.raises(AuthRequired, match=r"server\.tokens_file names .*empty"):
        resolve_tokens(server)
    server = ServerSettings.model_validate({"tokens": ["one"], "tokens_env": "TOKENS"})
    with pytest.raises(AuthRequired, match=r"server\.tokens_env names a place without a token"):
        resolve_tokens(server, environ={"TOKENS": " , "})


def test_the_keyring_is_asked_last(empty_keyring: dict[tuple[str, str], str]) -> None:
    assert resolve(account(), "password") is None
    empty_keyring["postroom", "work/password"] = "from the ring"
    assert resolve(account(), "password") == "from the ring"
    assert resolve(account(password="hunter2"), "password") == "hunter2"


def test_a_machine_without_a_keyring_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(service: str, user: str) -> str:
        raise sys.modules["keyring.errors"].KeyringError

    monkeypatch.setattr(sys.modules["keyring"], "get_password", refuse)
    assert resolve(account(), "password") is None
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert resolve(account(), "password") is None


def test_tokens_are_gathered_from_all_three_places(tmp_path: Path) -> None:
    written(tmp_path / "tokens", "four\nfive\n\n")
    server = ServerSettings.model_validate(
        {"tokens": ["first"], "tokens_env": "TOKENS", "tokens_file": tmp_path / "tokens"}
    )
    assert resolve_tokens(server, environ={"TOKENS": "two, three"}) == ("first", "two", "three", "four", "five")
    assert "first" not in repr(server)
