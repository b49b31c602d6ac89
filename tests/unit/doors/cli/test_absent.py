"""What the settings may name but a dialect does not have is refused at the start, by name, and in `doctor` too."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.__main__ import main
from postroom.model.ids import Kind, is_handle

LOCAL = '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "alice@example.com"\n'


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    return tmp_path / "postroom.toml"


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (
            'dialect = "intentmail"\ntoolsets = ["drafts"]',
            "server.toolsets: dialect intentmail has no toolset drafts; choose from read,",
        ),
        ('dialect = "drafts"\ntoolsets = ["send"]', "server.toolsets: dialect drafts has no toolset send; choose from"),
    ],
)
def test_a_toolset_that_the_dialect_does_not_have_is_refused(
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
