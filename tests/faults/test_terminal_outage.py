"""`postroom search` while the mail server is away: what it shows is what the mirror has, and it says so."""

from __future__ import annotations

import imaplib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot

AWAY = "The mail server of account mine has been out of reach since "
LETTER = b"From: ada@friends.example\r\nSubject: Tulips\r\nMessage-ID: <1@seed.example>\r\n\r\nin autumn\r\n"


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The settings of an account whose headers were mirrored before its server went away."""
    folder = tmp_path_factory.mktemp("outage")
    with running_dovecot() as dovecot:
        settings = _settings(dovecot, folder)
        with imaplib.IMAP4(dovecot.host, dovecot.imap) as client:
            client.login("me@example.test", PASSWORD)
            client.append("INBOX", "", None, LETTER)  # type: ignore[arg-type]
        assert postroom(settings, "sync").returncode == 0
        dovecot.kill()
        _grow_old(folder / "home" / "mirrors" / "mine.db")
        yield settings


def _grow_old(mirror: Path) -> None:
    """A fresh one is not behind its server: that would not be asked."""
    with closing(sqlite3.connect(mirror)) as connection, connection:
        connection.execute("UPDATE mirrored_folder SET as_of = as_of - 600")


def _settings(dovecot: Dovecot, folder: Path) -> Path:
    path = folder / "postroom.toml"
    path.write_text(
        '[[accounts]]\nname = "mine"\nprovider = "imap"\naddress = "me@example.test"\nmirror = "headers"\n'
        f'host = "{dovecot.host}"\nport = {dovecot.imap}\nsecurity = "none"\npassword = "{PASSWORD}"\n'
    )
    path.chmod(0o600)
    return path


def postroom(settings: Path, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    called = [sys.executable, "-m", "postroom", command, *arguments, "--config", str(settings)]
    env = {"POSTROOM_HOME": str(settings.parent / "home"), "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(called, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_a_search_says_since_when_the_server_has_been_out_of_reach(mirrored: Path) -> None:
    lines = postroom(mirrored, "search", "subject:tulips").stdout.splitlines()

    assert lines[-2] == "1 of 1"
    assert lines[-1].startswith(AWAY)


def test_a_search_of_what_the_mirror_does_not_have_says_that_not_everything_was_searched(mirrored: Path) -> None:
    lines = postroom(mirrored, "search", "autumn").stdout.splitlines()

    assert lines[0].startswith("no messages found")
    assert lines[1].startswith("Not all mail of account mine was searched, only what its mirror has, as of 20")
    assert lines[2].startswith(AWAY)


def test_a_search_as_json_has_it_among_its_notices(mirrored: Path) -> None:
    assert f'"notices": ["{AWAY}' in postroom(mirrored, "search", "subject:tulips", "--json").stdout
