"""Logins under kill -9, and two processes that renew one login at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.providers.oauth.authorisation import Authorisation, authorising

from postroom.providers.oauth.keeping import Keeping, Login

# Reads one line, renews the login, and either tells the token or dies with it in its hands.
PROCESS = """
import json, os, signal, sys
import anyio
from postroom.providers.oauth.source import OAuthTokens
from postroom.settings import ImapAccount

order = json.loads(sys.argv[1])
account = ImapAccount.model_validate(order["account"])
tokens = OAuthTokens(account, account.oauth, proxies=False)
print("ready", flush=True)
sys.stdin.readline()
print("asking", flush=True)
token = anyio.run(tokens.refreshed, order["old"])
if order["dies"]:
    os.kill(os.getpid(), signal.SIGKILL)
print(token, flush=True)
"""


@pytest.fixture
def idp() -> Iterator[Authorisation]:
    with authorising() as told:
        yield told


@pytest.fixture
def home(tmp_path: Path, idp: Authorisation) -> Path:
    Keeping("work", {"POSTROOM_HOME": str(tmp_path)}).write(Login("access-0", 4e9, idp.issue()), in_file=True)
    return tmp_path


def start(home: Path, idp: Authorisation, *, dies: bool = False) -> subprocess.Popen[str]:
    account: dict[str, Any] = {
        "name": "work",
        "provider": "imap",
        "address": "alice@example.com",
        "host": "imap.example.com",
        "auth": "xoauth2",
        "oauth": idp.settings(),
    }
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, json.dumps({"account": account, "old": "access-0", "dies": dies})],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "POSTROOM_HOME": str(home), "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"},
    )


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    assert line(process) == "ready"
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def kept(home: Path) -> Login:
    return Keeping("work", {"POSTROOM_HOME": str(home)}).read()


def test_a_token_received_and_never_used_is_not_lost_with_its_process(home: Path, idp: Authorisation) -> None:
    victim = start(home, idp, dies=True)
    go(victim)
    assert victim.wait() == -signal.SIGKILL
    assert kept(home).refresh_token in idp.refresh_tokens, "the old one is void: only the new one opens the mailbox"
    heir = start(home, idp)
    go(heir)
    assert line(heir) == "asking"
    assert line(heir) == kept(home).access_token
    assert heir.wait() == 0
    assert len(idp.refreshes) == 1, "what was received before is still good"


def test_a_process_killed_in_the_middle_of_a_refresh_locks_nobody_out(home: Path, idp: Authorisation) -> None:
    idp.rotates = False
    victim = start(home, idp)
    idp.on_token = lambda: os.kill(victim.pid, signal.SIGKILL) if len(idp.forms) == 1 else None
    go(victim)
    assert victim.wait() == -signal.SIGKILL
    heir = start(home, idp)
    go(heir)
    assert line(heir) == "asking"
    assert line(heir) == kept(home).access_token != "access-0"
    assert heir.wait() == 0


def test_two_processes_that_renew_at_once_ask_once(home: Path, idp: Authorisation) -> None:
    both_ask = threading.Event()

    def wait_for_both() -> None:
        assert both_ask.wait(30)

    idp.on_token = wait_for_both
    processes = [start(home, idp), start(home, idp)]
    for process in processes:
        go(process)
    for process in processes:
        assert line(process) == "asking"
    both_ask.set()
    tokens = {line(process) for process in processes}
    assert [process.wait() for process in processes] == [0, 0]
    assert tokens == {kept(home).access_token}
    assert len(idp.refreshes) == 1
