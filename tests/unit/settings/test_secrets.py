"""Secrets come from where the settings say, at the moment they are needed, and are never shown."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from postroom.model.errors import AuthRequired
from postroom.settings import ImapAccount, ServerSettings
from postroom.settings.secrets import resolve, resolve_tokens


def account(**more: object) -> ImapAccount:
    return ImapAccount.model_validate(
        {"name": "work", "provider": "imap", "address": "alice@example.com", "host": "imap.example.com", **more}
    )


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
    (tmp_path / "pw").write_text("hunter2\n")
    assert resolve(account(password_file=tmp_path / "pw"), "password") == "hunter2"


@pytest.mark.parametrize("pointer", [{"password_env": "MAIL_PW"}, {"password_file": "absent"}])
def test_a_pointer_to_nothing_says_what_is_missing(pointer: dict[str, str]) -> None:
    with pytest.raises(
        AuthRequired, match=f"account work: {next(iter(pointer))} names .*{next(iter(pointer.values()))}"
    ):
        resolve(account(**pointer), "password", environ={})


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
    (tmp_path / "tokens").write_text("four\nfive\n\n")
    server = ServerSettings.model_validate(
        {"tokens": ["one"], "tokens_env": "TOKENS", "tokens_file": tmp_path / "tokens"}
    )
    assert resolve_tokens(server, environ={"TOKENS": "two, three"}) == ("one", "two", "three", "four", "five")
    assert "one" not in repr(server)
