"""A vault that nothing is read from is said to a person, wherever they may look."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.__main__ import main
from postroom.files import folders

CONFIG = """
[[accounts]]
name = "ada"
provider = "local"
address = "ada@example.com"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path))
    (tmp_path / "postroom.toml").write_text(CONFIG)
    (tmp_path / "vault" / "Approved").mkdir(parents=True)
    return str(tmp_path / "postroom.toml")


def test_doctor_and_the_list_of_approvals_say_why_a_vault_is_not_read(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--config", config]) == 0
    assert f"ok    vault: {tmp_path / 'vault'}" in capsys.readouterr().out

    (tmp_path / "vault" / "Approved").chmod(0o777)
    monkeypatch.setattr(folders.os, "fchmod", lambda *_: None)  # a file system without modes
    assert main(["doctor", "--config", config]) == 1
    assert "FAIL  vault: Approved: Other users can write" in capsys.readouterr().out
    main(["approvals", "list", "--config", config])
    assert "ignored: Approved: Other users can write" in capsys.readouterr().out
