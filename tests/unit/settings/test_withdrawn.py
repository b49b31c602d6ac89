"""Which accounts a running process was started with are gone from its settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.settings import Settings, load
from postroom.settings.withdrawn import Withdrawn


def account(name: str) -> str:
    return f'[[accounts]]\nname = "{name}"\nprovider = "local"\naddress = "{name}@example.test"\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "postroom.toml"
    path.write_text(account("one") + account("two"))
    return path


@pytest.fixture
def settings(config: Path) -> Settings:
    return load(config, environ={"POSTROOM_HOME": str(config.parent)})


def test_one_that_was_removed_is_gone_once_it_is_missing_for_a_while(config: Path, settings: Settings) -> None:
    it = Withdrawn(settings, {})
    assert it.look() == set()
    config.write_text(account("two"))
    assert it.look() == set()
    assert it.look() == {"one"}
    assert it.look() == {"one"}


@pytest.mark.parametrize("half", ["", "[[accounts]]\nname = ", "[[accounts]]\n", "accounts = 1"])
def test_a_file_that_is_just_being_written_takes_no_account_away(config: Path, settings: Settings, half: str) -> None:
    it, whole = Withdrawn(settings, {}), config.read_text()
    config.write_text(half)
    assert it.look() == set()
    config.write_text(whole + "\n")
    assert it.look() == set()
    config.unlink()
    assert it.look() == set()


def test_one_that_is_there_again_is_back_at_once(config: Path, settings: Settings) -> None:
    it, whole = Withdrawn(settings, {}), config.read_text()
    config.write_text(account("two"))
    it.look()
    assert it.look() == {"one"}
    config.write_text(whole)
    assert it.look() == set()


@pytest.mark.parametrize("broken", ["", "[[accounts]]\nname = ", "[[accounts]]\n", "accounts = 1"])
def test_what_is_gone_stays_gone_and_what_is_there_stays_while_the_file_is_broken(
    config: Path, settings: Settings, broken: str
) -> None:
    it = Withdrawn(settings, {})
    config.write_text(account("two"))
    it.look()
    assert it.look() == {"one"}
    config.write_text(broken)
    assert [it.look(), it.look(), it.look()] == [{"one"}] * 3


def test_a_file_that_vanishes_while_it_is_read_takes_no_account_away(
    config: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    it, read = Withdrawn(settings, {}), Path.read_text

    def read_and_vanish(path: Path, encoding: str) -> str:
        text = read(path, encoding=encoding)
        path.unlink()
        return text

    monkeypatch.setattr(Path, "read_text", read_and_vanish)
    assert it.look() == set()
    assert it.look() == set()


def test_those_from_the_environment_are_not_looked_for_in_the_file(config: Path, settings: Settings) -> None:
    both = '[{"name": "one", "provider": "local"}, {"name": "two", "provider": "local"}]'
    it = Withdrawn(settings, {"POSTROOM_ACCOUNTS": both})
    config.write_text("")
    it.look()
    assert it.look() == set()
