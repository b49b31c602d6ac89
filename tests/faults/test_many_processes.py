"""Several processes on one home: servers, the command line, all on the same mailbox files. Nothing is lost.

What used to be lost was lost by locks: any descriptor on a database file that a process closes takes all its locks on
the file with it, and the next process to leave deletes a log that is still written to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.flows.served import Served
from tests.gate.mailboxes import everything_in
from tests.gate.rigs import gate_rig

from postroom.store import State

ROOT = Path(__file__).parents[2]
CONFIG = """
[safety]
gate = "confirm"
sends_per_hour = 1000000

[[accounts]]
name = "alex"
provider = "local"
address = "alex@demo.example"

[[accounts]]
name = "sam"
provider = "local"
address = "sam@demo.example"
"""

on_linux = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see what a process has open")


def command(home: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "postroom", *words, "--config", str(home / "postroom.toml")],
        env={**os.environ, "POSTROOM_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def found_by_command(home: Path, account: str) -> Counter[str]:
    page = json.loads(command(home, "search", "subject:mail", "--account", account, "--limit", "100", "--json"))
    return Counter(row["subject"] for row in page["results"])


def send(served: Served, subjects: Iterable[str]) -> None:
    for subject in subjects:
        answer = served.call("send_email", to="sam@demo.example", subject=subject, body="Hello.", confirm=True)
        assert answer["structuredContent"]["status"] == "sent"


def deleted_files(served: Served) -> list[str]:
    folder = Path(f"/proc/{served.pid}/fd")
    targets = [os.readlink(folder / name) for name in os.listdir(folder)]
    return [target for target in targets if target.endswith(" (deleted)")]


@on_linux
def test_a_search_beside_a_server_costs_no_mail(tmp_path: Path) -> None:
    served = Served(tmp_path, CONFIG)
    served.call("list_emails", account="sam")
    send(served, [f"mail {number}" for number in range(5)])
    assert sum(found_by_command(tmp_path, "sam").values()) == 5

    send(served, [f"mail {number}" for number in range(5, 15)])
    assert deleted_files(served) == []
    served.end()

    everything = Counter(f"mail {number}" for number in range(15))
    assert found_by_command(tmp_path, "sam") == everything
    assert command(tmp_path, "outbox", "list") == "the outbox is empty\n"
    again = Served(tmp_path, CONFIG)
    assert again.call("list_emails", account="sam", limit=50)["structuredContent"]["total_count"] == 15
    again.end()


@on_linux
def test_two_servers_on_one_home_keep_every_mail(tmp_path: Path) -> None:
    for turn in range(3):
        one, two = Served(tmp_path, CONFIG), Served(tmp_path, CONFIG)
        for served in (one, two):
            served.call("list_emails", account="sam")
        for number in range(5):
            send(one, [f"mail {turn} one {number}"])
            send(two, [f"mail {turn} two {number}"])
        two.end()
        send(one, [f"mail {turn} alone"])
        assert deleted_files(one) == []
        one.end()
    arrived = found_by_command(tmp_path, "sam")
    assert sum(arrived.values()) == 33
    assert set(arrived.values()) == {1}


@on_linux
def test_an_archive_folder_that_holds_the_mailboxes_themselves_does_them_no_harm(tmp_path: Path) -> None:
    served = Served(tmp_path, CONFIG)
    send(served, ["mail 1"])
    (tmp_path / "old.mbox").write_text("From ada Mon Jan  1 10:00:00 2024\nSubject: mail of old\n\nHello.\n")
    command(tmp_path, "import", str(tmp_path), "--account", "sam")
    send(served, ["mail 2"])
    assert deleted_files(served) == []
    served.end()
    assert found_by_command(tmp_path, "sam") == Counter(["mail 1", "mail 2", "mail of old"])


@on_linux
def test_a_mailbox_file_is_not_attached_and_keeps_its_locks(tmp_path: Path) -> None:
    served = Served(tmp_path, CONFIG.replace("[safety]", f'[safety]\nattachment_dirs = ["{tmp_path}"]'))
    send(served, ["mail 1"])
    for name in ("mail/sam.db", "mail/sam.db-wal", "mail/sam.db-shm", "state.db"):
        answer = served.call("send_email", to="sam@demo.example", subject="x", body="x", attachments=[name])
        assert answer["isError"]
        assert "Postroom's own" in answer["content"][0]["text"]
    found_by_command(tmp_path, "sam")
    send(served, ["mail 2"])
    assert deleted_files(served) == []
    served.end()
    assert found_by_command(tmp_path, "sam") == Counter(["mail 1", "mail 2"])


def test_servers_that_start_first_and_together_agree_on_one_sample(tmp_path: Path) -> None:
    """Both make the files, both bring the tables, both want to fill them."""
    together = [
        subprocess.Popen(
            [sys.executable, "-m", "postroom", "search", "in:anywhere", "--account", "all", "--json"],
            env={**os.environ, "POSTROOM_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    ended = [(process.communicate(timeout=120)[1].decode(), process.returncode) for process in together]
    assert [code for _, code in ended] == [0] * 4, ended
    alone = tmp_path / "alone"
    for home in (tmp_path, alone):
        subprocess.run(
            [sys.executable, "-m", "postroom", "search", "x"],
            env={**os.environ, "POSTROOM_HOME": str(home), "XDG_CONFIG_HOME": str(tmp_path)},
            check=True,
            capture_output=True,
        )
    assert sample_size(tmp_path) == sample_size(alone)


def sample_size(home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "postroom", "search", "before:2100-01-01", "--account", "alex", "--json"],
        env={**os.environ, "POSTROOM_HOME": str(home), "XDG_CONFIG_HOME": str(home)},
        check=True,
        capture_output=True,
    )
    return str(json.loads(done.stdout)["total_count"])


@pytest.mark.slow
async def test_a_thousand_sends_of_two_processes_that_come_and_go_all_arrive(memory_home, record_fault) -> None:
    home, sends = memory_home(), 1000
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.sender", str(home), name, str(sends // 2)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    answers = [json.loads(process.communicate(timeout=300)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    sent = {subject for answer in answers for subject, status in answer.items() if status == "sent"}
    assert len(sent) == sends
    async with gate_rig(home) as gate:
        for account, mailbox in (("bob", "INBOX"), ("alice", "Sent")):
            assert await everything_in(gate, account, mailbox) == Counter(sent)
        assert gate.gateway.store.outbox.list(states=set(State) - {State.DONE}).total == 0
        assert gate.gateway.store.audit.verify().ok
    record_fault("send by one of two processes that come and go", sends, {"arrived": len(sent)})
