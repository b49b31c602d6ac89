"""What the settings may name but this version does not have is refused at the start, by name, and in `doctor` too."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.__main__ import main
from postroom.model.ids import Kind, is_handle
from postroom.providers.registry import MAILBOXES

LOCAL = '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "alice@example.com"\n'
TOKEN = 'token_env = "TOKEN"\nname = "work"\naddress = "alice@example.com"\n'
ABSENT = {
    "graph": f'[[accounts]]\nprovider = "graph"\n{TOKEN}',
    "jmap": f'[[accounts]]\nprovider = "jmap"\nsession_url = "https://mail.example.com"\n{TOKEN}',
    "rest": f'[[accounts]]\nprovider = "rest"\nbase_url = "https://mail.example.com"\nauth_{TOKEN}',
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    return tmp_path / "postroom.toml"


@pytest.mark.parametrize("kind", sorted(set(ABSENT) - set(MAILBOXES)))
@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_an_account_of_a_provider_that_is_not_there_is_refused_at_the_start(
    config: Path, capsys: pytest.CaptureFixture[str], command: str, kind: str
) -> None:
    config.write_text(LOCAL + ABSENT[kind].replace('"work"', '"other"'))

    assert main([command, "--config", str(config)]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    choices = ", ".join(sorted(MAILBOXES))
    assert line == f"postroom: accounts[1].provider: this version has no provider {kind}; choose one of {choices}"


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ('dialect = "intentmail"', "server.dialect: this version has no dialect intentmail; choose one of drafts, "),
        (
            'toolsets = ["read", "templates"]',
            "server.toolsets: dialect postroom has no toolset templates; choose from read,",
        ),
        ('dialect = "drafts"\ntoolsets = ["send"]', "server.toolsets: dialect drafts has no toolset send; choose from"),
    ],
)
def test_a_dialect_or_toolset_that_is_not_there_is_refused(
    config: Path, capsys: pytest.CaptureFixture[str], server: str, said: str
) -> None:
    config.write_text(f"{LOCAL}[server]\n{server}\n")

    assert main(["serve", "--config", str(config)]) == 2
    assert capsys.readouterr().err.startswith(f"postroom: {said}")

    assert main(["doctor", "--config", str(config)]) == 1
    assert f"FAIL  server: {said}" in capsys.readouterr().out


def test_the_default_toolsets_are_no_mistake_in_a_dialect_that_has_only_some(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f'{LOCAL}[server]\ndialect = "drafts"\n')

    assert main(["doctor", "--config", str(config)]) == 0
    assert "ok    server: 7 tools of dialect drafts" in capsys.readouterr().out


def test_people_find_and_read_mail_by_its_handle_whatever_the_dialect_shows_to_agents(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f'{LOCAL}[server]\ndialect = "drafts"\n')
    box = config.with_name("one.mbox")
    box.write_text("From eve@example.com Sun Nov 15 10:00:00 2026\nFrom: eve@example.com\nSubject: Ladder\n\nLong.\n")
    assert main(["import", str(box), "--config", str(config)]) == 0
    capsys.readouterr()

    assert main(["search", "ladder", "--config", str(config)]) == 0
    handle = next(word for word in capsys.readouterr().out.split() if is_handle(word, Kind.EMAIL))
    assert main(["read", handle, "--config", str(config)]) == 0
    assert "Long." in capsys.readouterr().out


def test_a_store_that_is_not_there_is_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(f'{LOCAL}[store]\nurl = "postgresql://db.example/postroom"\n')

    for command in ("serve", "doctor"):
        assert main([command, "--config", str(config)]) == 2
        assert capsys.readouterr().err.startswith("postroom: store.url: ")
