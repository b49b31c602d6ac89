"""Setting up an account from its address, on a real Dovecot and a real Postfix."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from tests.peers.daemon import free_ports
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.postfix import Postfix
from tests.peers.tokens import make_token

from postroom.doors.cli import main
from postroom.model.errors import AuthRequired
from postroom.providers.discovery import finding
from postroom.providers.discovery.dns_message import Kind, Record
from postroom.providers.discovery.found import Server
from postroom.service import logins, setup
from postroom.settings import ImapAccount, load

WRONG = "not-the-password-of-anybody"


def run(*argv: str) -> int:
    def no_server(*args: object, **kwargs: object) -> None:
        raise AssertionError("this command serves nothing")

    return main.run(argv, serve=no_server)


class Typed:
    """What the person types, and every prompt that was shown."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.secret = PASSWORD

    def ask_secret(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.secret


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the settings will be; a home of our own, no keyring, and nobody to ask on the network."""
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(finding, "Reach", lambda: reach())
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    monkeypatch.setattr("getpass.getpass", lambda prompt: pytest.fail("nobody is to be asked for a password"))
    yield_to = tmp_path / "config" / "postroom" / "postroom.toml"
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.callback = keyring.set_keyring, before  # type: ignore[attr-defined]
    return yield_to


def hand_over(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(secret + "\n"))


def reach(xml: str = "", records: dict[str, list[Record]] | None = None) -> finding.Reach:
    async def fetch(url: str) -> bytes | None:
        return xml.encode() or None

    async def resolve(name: str, kind: Kind) -> list[Record]:
        return (records or {}).get(name, [])

    async def probe(protocol: str, server: Server) -> bool:
        return False

    return finding.Reach(fetch, resolve, probe)


def named(dovecot: Dovecot, postfix: Postfix, **changes: object) -> list[str]:
    flags: dict[str, object] = {
        "host": "localhost",
        "port": dovecot.imaps,
        "security": "tls",
        "smtp-host": "localhost",
        "smtp-port": postfix.starttls,
        "smtp-security": "starttls",
        "ca-file": dovecot.certificates.ca,
    }
    return [str(word) for key, value in (flags | changes).items() if value for word in (f"--{key}", value)]


def published(dovecot: Dovecot, postfix: Postfix) -> str:
    return f"""<clientConfig><emailProvider id="example.test">
      <incomingServer type="imap"><hostname>localhost</hostname><port>{dovecot.imaps}</port><socketType>SSL</socketType>
        <username>%EMAILADDRESS%</username><authentication>password-cleartext</authentication></incomingServer>
      <outgoingServer type="smtp"><hostname>localhost</hostname><port>{postfix.tls}</port><socketType>SSL</socketType>
        <username>%EMAILADDRESS%</username><authentication>password-cleartext</authentication></outgoingServer>
    </emailProvider></clientConfig>"""


def written(tmp_path: Path) -> list[str]:
    return [path.name for folder in ("config", "home") for path in (tmp_path / folder).rglob("*") if path.is_file()]


def test_an_address_and_a_password_are_enough(
    dovecot: Dovecot,
    postfix: Postfix,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    user = dovecot.new_user()
    monkeypatch.setattr(finding, "Reach", lambda: reach(published(dovecot, postfix)))
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", user, "--password-stdin", "--ca-file", str(dovecot.certificates.ca)) == 0
    out, err = capsys.readouterr()
    assert f"localhost:{dovecot.imaps} (tls)" in out
    assert "postroom doctor" in out
    assert PASSWORD not in out + err + config.read_text()
    assert config.stat().st_mode & 0o777 == 0o600
    (account,) = load().accounts
    assert (account.name, account.address, account.provider) == ("example", user, "imap")
    assert run("accounts", "--check") == 0
    assert run("doctor") == 0
    assert "FAIL" not in capsys.readouterr().out
