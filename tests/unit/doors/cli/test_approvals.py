"""postroom approvals: a person reads, then says yes; without a person there is no yes by accident."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.doors.cli import main
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.sending.order import Wishes
from postroom.service.writing.composing import DraftRequest
from postroom.settings import load
from postroom.wiring import open_gateway

CONFIG = """
[safety]
gate = "approval"
[[accounts]]
name = "alice"
provider = "local"
address = "alice@demo.example"
[[accounts]]
name = "bob"
provider = "local"
address = "bob@demo.example"
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    path = tmp_path / "postroom.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def approval_id(config: Path) -> str:
    """Of a mail that waits."""

    async def ask() -> str:
        async with open_gateway(load(config)) as gateway:
            request = DraftRequest(to=("bob@demo.example",), subject="Lunch?", body="Shall we say noon?\x1b[2K\u202e")
            view = await send.send(gateway, await send.order_mail(gateway, request, Wishes(confirm=True)))
            assert view.approval is not None
            return view.approval.approval_id

    return asyncio.run(ask())


def arrived(config: Path) -> list[str]:
    async def look() -> list[str]:
        async with open_gateway(load(config)) as gateway:
            return [row.subject for row in (await search.list_emails(gateway, account="bob")).results]

    return asyncio.run(look())


def audited(config: Path) -> str:
    async def look() -> str:
        async with open_gateway(load(config)) as gateway:
            return str(gateway.store.audit.recent(10))

    return asyncio.run(look())


def run(config: Path, *argv: str) -> int:
    def no_server(*_: object, **__: object) -> None:
        raise AssertionError("this command serves nothing")

    return main.run((*argv[:2], "--config", str(config), *argv[2:]), serve=no_server)


@pytest.mark.parametrize(
    ("typed", "sent"), [("yes\n", True), ("YES \n", True), ("\n", False), ("y\n", False), ("no\n", False)]
)
def test_at_a_terminal_the_letter_is_shown_and_only_a_typed_yes_sends(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed, sent
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert run(config, "approvals", "approve", approval_id) == (0 if sent else 1)
    shown = capsys.readouterr().out
    assert "Shall we say noon?⟨U+001B⟩[2K⟨U+202E⟩" in shown
    assert "To: bob@demo.example" in shown
    assert arrived(config) == (["Lunch?"] if sent else [])


def test_the_question_is_asked_at_a_real_terminal(config: Path, approval_id: str) -> None:
    leader, follower = pty.openpty()
    os.write(leader, b"yes\n")
    command = [sys.executable, "-m", "postroom", "approvals", "approve", "--config", str(config), approval_id]
    done = subprocess.run(command, stdin=follower, capture_output=True, text=True, check=False, timeout=120)
    os.close(leader)
    os.close(follower)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.index("Shall we say noon?") < done.stdout.index("Type yes") < done.stdout.index(" sent: ")
    assert arrived(config) == ["Lunch?"]


@pytest.mark.parametrize("argv", [(), ("--yes",), ("--yes", "--reason", "  "), ("--reason", "because")])
def test_without_a_terminal_a_yes_needs_a_reason_and_nothing_is_sent_by_accident(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    assert run(config, "approvals", "approve", approval_id, *argv) == 2
    assert "--reason" in capsys.readouterr().err
    assert arrived(config) == []


def test_of_a_reason_only_its_length_is_kept(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert run(config, "approvals", "approve", approval_id, "--yes", "--reason", "Ada said so") == 0
    assert "Shall we say noon?" in capsys.readouterr().out
    assert arrived(config) == ["Lunch?"]
    assert "reason of 11 characters" in audited(config)
    assert "Ada said so" not in audited(config)


@pytest.mark.parametrize("stdin", [Terminal("no\n"), Terminal(""), io.StringIO("")], ids=["no", "silent", "script"])
def test_to_reject_nothing_is_asked(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stdin
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run(config, "approvals", "reject", approval_id) == 0
    assert "Type yes" not in capsys.readouterr().out
    assert run(config, "approvals", "list") == 0
    assert capsys.readouterr().out == "0 waiting\n"
    assert arrived(config) == []


@pytest.mark.parametrize("decided", ["approve", "reject"])
def test_nobody_is_asked_again_about_what_was_decided(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], decided
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    assert run(config, "approvals", decided, approval_id) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    assert run(config, "approvals", "approve", approval_id) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "cannot be decided again. postroom outbox show s" in shown.err


@pytest.mark.parametrize("verb", ["show", "approve"])
def test_a_tampered_letter_is_refused_with_the_reason(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb
) -> None:
    (path,) = (config.parent / "home" / "vault" / "Pending_Approval").iterdir()
    path.write_text(path.read_text().replace("noon", "dusk"))
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    assert run(config, "approvals", verb, approval_id) != 0
    out, err = capsys.readouterr()
    assert "dusk" not in out + err
    assert "no longer matches the approval request" in err
    assert arrived(config) == []
    assert run(config, "approvals", "reject", approval_id) == 0


def test_the_list_shows_no_file_name_that_could_move_the_cursor(
    config: Path, approval_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approved = config.parent / "home" / "vault" / "Approved"
    (approved / "a\x1b[2K\u202e.md").write_text("no front matter")
    assert run(config, "approvals", "list") == 0
    shown = capsys.readouterr().out
    assert approval_id in shown
    assert "a⟨U+001B⟩[2K⟨U+202E⟩.md" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_what_waits_is_listed_with_its_subject_and_the_offset_of_its_time(
    config: Path, approval_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(config, "approvals", "list") == 0
    header, row, total = capsys.readouterr().out.splitlines()
    assert header.split() == ["ID", "CREATED", "(+00:00)", "ACCOUNT", "KIND", "RECIPIENTS", "SUBJECT"]
    assert (row.split()[0], row.split()[-1], total) == (approval_id, "Lunch?", "1 waiting")


def test_a_send_is_shown_with_its_subject_and_its_states(
    config: Path, approval_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(config, "outbox", "list") == 0
    send_id = capsys.readouterr().out.splitlines()[1].split()[0]
    assert run(config, "outbox", "show", send_id) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == ["to bob@demo.example", "subject Lunch?"]
    assert shown[-1].endswith("awaiting_approval")


def test_a_send_that_is_done_is_shown_as_sent(
    config: Path, approval_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(config, "approvals", "approve", approval_id, "--yes", "--reason", "Lunch is fine.") == 0
    capsys.readouterr()
    assert run(config, "outbox", "list", "--all") == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert "sent" in row
    assert "done" not in row
    assert run(config, "outbox", "show", row[0]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith(": sent")
    assert shown[-1].endswith(" sent #1")


def test_a_user_without_a_name_can_approve(
    config: Path, approval_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)  # as in a container that was given any number
    assert run(config, "approvals", "approve", approval_id, "--yes", "--reason", "they agreed") == 0
    assert arrived(config) == ["Lunch?"]


def test_a_person_is_told_the_commands_to_decide_with_and_a_failed_resend_is_no_success(
    config: Path, approval_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = CONFIG.replace('name = "bob"', 'name = "carol"').replace("bob@", "carol@")
    config.write_text(text)  # nobody receives it any more
    assert run(config, "approvals", "approve", approval_id, "--yes", "--reason", "they agreed") == 1
    send_id, status, *_ = capsys.readouterr().out.splitlines()[-2].split()
    assert status == "needs_human:"
    assert run(config, "outbox", "resolve", "resend", send_id) == 1
    assert f"postroom outbox resolve resend {send_id}" in capsys.readouterr().out.splitlines()[-1]
    assert run(config, "outbox", "resolve", "drop", send_id) == 0
