"""`postroom read`: a mail for a person's eyes, with nothing in it that could deceive them or their terminal."""

from __future__ import annotations

import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from postroom.doors.cli import main


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    path = tmp_path / "postroom.toml"
    path.write_text('[[accounts]]\nname = "box"\nprovider = "local"\naddress = "box@example.com"\n')
    return str(path)


def run(*argv: str) -> int:
    return main.run(argv, serve=lambda *args, **kwargs: None)


def received(config: str, capsys: pytest.CaptureFixture[str], subject: str, body: str, subtype: str = "plain") -> str:
    """The id of a mail that was taken in."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Mia <mia@example.com>", "box@example.com", subject
    mail["Message-ID"], mail["Date"] = "<1@example.com>", "Mon, 02 Nov 2026 10:00:00 +0000"
    mail.set_content(body, subtype=subtype)
    mail.add_attachment(b"plan", maintype="text", subtype="plain", filename="plan.txt")
    box = mailbox.mbox(Path(config).with_name("one.mbox"))
    box.add(mail)
    box.close()
    assert run("import", str(Path(config).with_name("one.mbox")), "--config", config) == 0
    capsys.readouterr()
    assert run("search", "in:anywhere", "--config", config) == 0
    return capsys.readouterr().out.splitlines()[1].split()[0]


def test_a_mail_is_markdown_with_its_headers_first(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    email_id = received(config, capsys, "Tulips", "<p>Plant <b>them</b> in autumn.</p>", "html")

    assert run("read", email_id, "--config", config) == 0

    out = capsys.readouterr().out
    assert out.startswith("# Tulips\n\n- From: Mia <mia@example.com>\n")
    assert "- Attachment: plan.txt (text/plain, 4 bytes)" in out
    assert "Plant **them** in autumn." in out


def test_links_that_were_shortened_can_be_read_whole(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    link = f"https://meet.example/j/7?pwd={'a1B2c3D4' * 6}"
    email_id = received(config, capsys, "Call", f'<p><a href="{link}">Join</a> at ten.</p>', "html")

    assert run("read", email_id, "--config", config) == 0
    shown = capsys.readouterr().out
    assert run("read", email_id, "--links", "--config", config) == 0

    assert link not in shown
    assert "- Shortened: links that end in …; --links shows them in full\n" in shown
    assert f"\n1. {link}\n" in capsys.readouterr().out


def test_reading_does_not_mark_a_mail_as_read(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    email_id = received(config, capsys, "Tulips", "Plant them.")
    run("search", "is:unread", "--config", config)
    before = capsys.readouterr().out

    assert run("read", email_id, "--config", config) == 0

    capsys.readouterr()
    run("search", "is:unread", "--config", config)
    assert capsys.readouterr().out == before


def test_nothing_in_a_mail_steers_the_terminal_or_hides_from_the_eye(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "a\x1b[2Jb\u202ec\x9b31md\x07e\u200bf"
    email_id = received(config, capsys, f"Hello {hostile}", f"Body {hostile}\nnext line")

    assert run("read", email_id, "--config", config) == 0

    out = capsys.readouterr().out
    assert "next line" in out
    assert not set(out) & set("\x1b\x9b\x07\u202e\u200b\r")


def test_a_mail_that_is_not_there_is_said_in_one_line(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("read", "m00000000", "--config", config) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("postroom: ")
    assert len(err.splitlines()) == 1
