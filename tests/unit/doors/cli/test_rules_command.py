"""postroom rules, as somebody at a shell uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postroom.__main__ import main

RULE = """\
version: 1
name: newsletters
conditions: [{field: from, operator: contains, value: circuitweekly}]
actions: [{type: apply_label, label: news}, {type: archive}]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rule in a file, and the sample mailbox in a home of its own."""
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("POSTROOM_CONFIG", "")
    path = tmp_path / "news.yaml"
    path.write_text(RULE)
    return str(path)


def test_a_rule_is_planned_run_and_undone(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "plan", file]) == 0
    planned = capsys.readouterr().out
    count = int(re.search(r"(\d+) messages, ", planned)[1])  # type: ignore[index]
    assert count > 1
    assert planned.count("apply_label news, archive") == count

    assert main(["rules", "run", file]) == 2
    assert "no terminal" in capsys.readouterr().err
    assert main(["rules", "run", file, "--yes"]) == 0
    done = capsys.readouterr().out
    assert f"done: {count} done, 0 skipped, 0 failed." in done
    operation = re.search(r"rules undo (\w+)", done)[1]  # type: ignore[index]
    assert main(["rules", "undo", operation]) == 0
    assert f"{count} of {count} messages" in capsys.readouterr().out


def test_a_plan_that_a_person_declines_can_be_run_later(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert main(["rules", "run", file]) == 1
    plan = re.search(r"rules run (p\w+)", capsys.readouterr().out)[1]  # type: ignore[index]
    monkeypatch.setattr("builtins.input", lambda _: "yes")
    assert main(["rules", "run", plan]) == 0
    assert "done:" in capsys.readouterr().out


def test_rules_are_saved_listed_compiled_and_deleted_by_name(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "save", file]) == 0
    assert main(["rules", "list"]) == 0
    assert "newsletters" in capsys.readouterr().out
    assert main(["rules", "compile", "newsletters", "--to", "sieve"]) == 0
    written = capsys.readouterr()
    assert 'fileinto "Archive";' in written.out
    assert "no undo on the server" in written.err
    assert main(["rules", "upload", "newsletters"]) == 1
    assert "does not support server-side rules" in capsys.readouterr().err
    assert main(["rules", "delete", "newsletters"]) == 0
    capsys.readouterr()
    assert main(["rules"]) == 0
    assert capsys.readouterr().out == "no rules\n"


def test_a_schedule_starts_after_a_first_run_that_had_nothing_to_do(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text(RULE.replace("circuitweekly", "nobody-writes-so") + "schedule: daily\n")
    assert main(["rules", "save", file]) == 0
    said = capsys.readouterr().out
    rule = re.search(r"saved as (\w+)", said)[1]  # type: ignore[index]
    assert f"after a first run: postroom rules run {rule}" in said
    assert main(["rules"]) == 0
    assert "waits for a first run" in capsys.readouterr().out
    assert main(["rules", "run", rule, "--yes"]) == 0
    assert main(["rules"]) == 0
    assert "waits" not in capsys.readouterr().out


def test_mistakes_are_said_in_one_line(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(RULE.replace("contains", "holds"))
    for words, said in (
        (["rules", "plan", file], "line 3: conditions[0].operator must be one of"),
        (["rules", "plan", "nothing"], "There is no file and no saved rule 'nothing'"),
        (["rules", "plan", "gone.yaml"], "gone.yaml cannot be read (No such file"),
    ):
        assert main(words) in (1, 2)
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
