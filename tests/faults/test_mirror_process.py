"""The process that a server starts for its mirrors: it fills them, and it ends with the server, however that ends."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.peers.accounts import letter
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.unit.sync.conftest import Mirrored

from postroom.service.accounts import mirrors
from postroom.settings import load
from postroom.sync.file.lock import Lock
from postroom.sync.file.mirror import Mirror, mirror_path
from postroom.sync.file.status import LAST_ERROR, note_fact
from postroom.wiring import open_gateway

CONFIG = """
[[accounts]]
name = "mine"
provider = "imap"
address = "{user}"
host = "{host}"
port = {port}
security = "none"
password_env = "MAIL_PASSWORD"
mirror = "full"
"""


@pytest.fixture
def home(dovecot: Dovecot, tmp_path: Path) -> Path:
    user = dovecot.new_user("served")
    with Mirrored(dovecot, user, Mirror(tmp_path / "none.db"), {}).client() as client:
        client.append("INBOX", "", None, letter("first", text="An elephant."))
    (tmp_path / "postroom.toml").write_text(CONFIG.format(user=user, host=dovecot.host, port=dovecot.imap))
    return tmp_path


def postroom(home: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "postroom", *words, "--config", str(home / "postroom.toml")],
        env={**os.environ, "POSTROOM_HOME": str(home), "MAIL_PASSWORD": PASSWORD},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until_complete(mirror: Mirror) -> None:
    end = time.monotonic() + 60
    while not mirror.status().complete:
        assert time.monotonic() < end, mirror.status()
        time.sleep(0.1)


def test_a_server_fills_its_mirrors_and_takes_their_process_with_it_when_it_is_killed(home: Path) -> None:
    mirror = Mirror(mirror_path(home, "mine"))
    server = postroom(home, "serve")
    try:
        wait_until_complete(mirror)
        refused = postroom(home, "sync")
        told, _ = refused.communicate(timeout=60)
        assert refused.returncode == 1
        assert "Another process is synchronizing the account mine" in told
        reset = postroom(home, "sync", "--reset")
        told, _ = reset.communicate(timeout=60)
        assert "Another process is synchronizing the account mine" in told
        assert "It starts over now." in told
        assert reset.returncode == 0, told
        wait_until_complete(mirror)
    finally:
        server.kill()
        server.communicate(timeout=60)
    with mirror.path.with_suffix(".lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits for the end of whoever has it
    mirror.close()


@pytest.mark.anyio
async def test_a_reset_that_the_process_in_charge_does_not_begin_has_failed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrors, "_UNTIL_BEGUN", 0.1)
    monkeypatch.setenv("POSTROOM_HOME", str(home))
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    settings = load(home / "postroom.toml")
    async with open_gateway(settings, ids="handle") as gateway:
        other = Lock.taken(mirror_path(home, "mine").with_suffix(".lock"))
        assert other is not None
        with other:
            (result,) = await mirrors.sync(gateway, settings.accounts, reset=True)
    assert "It was asked to start over, and has not begun to." in result.error


@pytest.mark.anyio
async def test_a_reset_that_cannot_be_asked_for_has_failed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_HOME", str(home))
    monkeypatch.setenv("MAIL_PASSWORD", PASSWORD)
    (home / "mirrors" / "mine.rebuild").mkdir(parents=True)
    settings = load(home / "postroom.toml")
    async with open_gateway(settings, ids="handle") as gateway:
        (result,) = await mirrors.sync(gateway, settings.accounts, reset=True)
    assert result.error.startswith("The mirror mine is not reset")


def test_sync_tells_what_it_did_and_doctor_shows_it(home: Path) -> None:
    done = postroom(home, "sync", "--account", "mine")
    told, _ = done.communicate(timeout=60)
    assert done.returncode == 0, told
    assert "mine: 1 messages" in told
    done = postroom(home, "sync", "--reset")
    assert "up to date" in done.communicate(timeout=60)[0]
    done = postroom(home, "doctor")
    found = re.search(r"^ok +mine: mirror: (.*)$", told := done.communicate(timeout=60)[0], re.MULTILINE)
    assert found is not None, told
    # The test draft that doctor saved and deleted awaits the next look at the server.
    assert re.fullmatch(r"\d of \d messages, \d MB, complete, (as of \d+ s ago|not yet compared .*)", found[1]), told
    done = postroom(home, "sync", "--account", "other")
    assert "There is no account 'other'. Use one of: mine." in done.communicate(timeout=60)[0]
    assert done.returncode == 2

    removed = postroom(home, "accounts", "remove", "mine")
    assert removed.wait(60) == 0
    assert list((home / "mirrors").iterdir()) == []


def test_a_mirror_that_all_folders_are_left_out_of_is_no_failure(home: Path) -> None:
    names = ("INBOX", "Archive", "Drafts", "Junk", "Sent", "Trash")
    with (home / "postroom.toml").open("a") as config:
        config.write(f"mirror_leave_out = {list(names)}\n")
    synced = postroom(home, "sync")
    said, _ = synced.communicate(timeout=60)
    assert (synced.returncode, said) == (0, "mine: 0 messages, 0 MB, all folders are in mirror_leave_out\n")
    told, _ = postroom(home, "doctor").communicate(timeout=60)
    assert "mine: mirror: empty; all folders are in mirror_leave_out\n" in told


def test_a_sync_beside_another_one_says_why_that_one_fails(home: Path) -> None:
    mirror = Mirror(mirror_path(home, "mine"))
    with mirror.transaction() as connection:
        note_fact(connection, LAST_ERROR, "The login was refused.")
    lock = mirror.lock()
    assert lock is not None
    with lock:
        told, _ = postroom(home, "sync").communicate(timeout=60)
    assert "Another process is synchronizing the account mine already. Its latest run failed: The login was" in told
    mirror.close()


def test_an_account_that_is_removed_leaves_the_running_server_and_nothing_behind(home: Path) -> None:
    with (home / "postroom.toml").open("a") as config:
        config.write('[[accounts]]\nname = "other"\nprovider = "local"\naddress = "other@example.test"\n')
    mirror = Mirror(mirror_path(home, "mine"))
    server = postroom(home, "serve")
    try:
        wait_until_complete(mirror)
        removed = postroom(home, "accounts", "remove", "mine")
        told, _ = removed.communicate(timeout=60)
        assert removed.returncode == 0, told
        assert "still running" not in told  # whoever followed it has stopped doing so
        assert list((home / "mirrors").iterdir()) == []
        assert server.poll() is None
    finally:
        server.kill()
        server.communicate(timeout=60)
    mirror.close()
