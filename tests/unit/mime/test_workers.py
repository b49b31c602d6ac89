"""Whatever a worker is made to do, its caller gets an answer, and so does the next one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.unit.mime import odd_mails

from postroom.mime.processes.workers import BROKEN, BUSY, TOO_SLOW, Unreadable, Workers

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="there are no limits and no alarms of the system's")


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(count=1, seconds=5.0)  # to start a process on a busy machine takes its time
    yield made
    made.close()


def test_a_worker_is_another_process_and_is_kept(workers: Workers) -> None:
    first, second = workers.call(odd_mails.read_one, "a"), workers.call(odd_mails.read_one, "b")
    assert (first[0], second[0]) == ("A", "B")
    assert first[1] == second[1] != os.getpid()


@pytest.mark.parametrize(
    ("task", "args", "reason"),
    [
        (odd_mails.read_one, ("hang",), TOO_SLOW),
        (odd_mails.spin_in_the_regex_engine, (), TOO_SLOW),
        (odd_mails.read_one, ("raise",), BROKEN),
        (odd_mails.read_one, ("die",), BROKEN),
        pytest.param(odd_mails.ask_for_memory, (2_000_000_000,), BROKEN, marks=posix_only),
    ],
)
def test_what_a_mail_does_to_its_reader_is_told_and_the_next_mail_is_read(
    workers: Workers, task: object, args: tuple[object, ...], reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason):
        workers.call(task, *args)  # type: ignore[arg-type]
    assert workers.call(odd_mails.read_one, "next")[0] == "NEXT"


def test_a_worker_that_died_while_it_was_idle_is_replaced(workers: Workers) -> None:
    process = workers.call(odd_mails.read_one, "a")[1]
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert workers.call(odd_mails.read_one, "b")[0] == "B"


@posix_only
def test_a_worker_that_has_grown_is_not_used_again() -> None:
    patient = Workers(count=1, seconds=60.0)  # a busy machine takes its time to hand out that much memory
    before = patient.call(odd_mails.read_one, "a")[1]
    assert patient.call(odd_mails.ask_for_memory, 500_000_000) == 500_000_000
    after = patient.call(odd_mails.read_one, "b")[1]
    patient.close()
    assert after != before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux hands a parent's peak on")
def test_a_worker_is_kept_however_large_its_parent_has_been(tmp_path: Path) -> None:
    script = tmp_path / "large.py"
    script.write_text(
        "bytearray(600_000_000).decode('latin-1')\n"
        "from tests.unit.mime import odd_mails\n"
        "from postroom.mime.processes.workers import Workers\n"
        "workers = Workers(count=1, seconds=20.0)\n"
        "print(workers.call(odd_mails.read_one, 'a')[1] == workers.call(odd_mails.read_one, 'b')[1])\n"
        "workers.close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "True\n"


def test_what_is_printed_in_a_worker_does_not_reach_its_answers(workers: Workers) -> None:
    assert workers.call(odd_mails.say, "hello")[0] == "hello"


def test_who_finds_all_of_them_busy_is_told_so() -> None:
    made = Workers(count=1, seconds=2.0)
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(made.call, odd_mails.read_one, "hang") for _ in range(3)]
        reasons = {str(call.exception()) for call in calls}
    made.close()
    assert reasons <= {TOO_SLOW, BUSY}
    assert TOO_SLOW in reasons


def test_closing_ends_them(workers: Workers) -> None:
    process = workers.call(odd_mails.read_one, "a")[1]
    workers.close()
    with pytest.raises(ProcessLookupError):  # buried, too
        os.kill(process, 0)


def test_where_no_process_can_be_had_the_caller_reads(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    assert workers.call(odd_mails.read_one, "a") == ("A", os.getpid())
    with pytest.raises(Unreadable, match=BROKEN):
        workers.call(odd_mails.read_one, "raise")


_ORPHANED = """
import sys, threading
from tests.unit.mime import odd_mails
from postroom.mime.processes.workers import Workers

workers = Workers(count=1, seconds=3.0 if sys.argv[1] == "busy" else 30.0)  # starting takes long under load
print(workers.call(odd_mails.read_one, "a")[1], flush=True)
if sys.argv[1] == "busy":
    threading.Thread(target=workers.call, args=(odd_mails.spin_in_the_regex_engine,), daemon=True).start()
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system has no way to wait for a stranger's process")
@pytest.mark.parametrize("state", ["idle", "busy"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_workers_do_not_outlive_their_parent(tmp_path: Path, state: str, end: signal.Signals | None) -> None:
    script = tmp_path / "parent.py"
    script.write_text(_ORPHANED)
    path = os.pathsep.join([str(Path(__file__).resolve().parents[3])])
    parent = subprocess.Popen(
        [sys.executable, script, state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    with parent:
        assert parent.stdout
        assert parent.stdin
        worker = os.pidfd_open(int(parent.stdout.readline()))
        if end is None:
            parent.stdin.close()
        else:
            parent.send_signal(end)
        parent.wait()
    ended, _, _ = select.select([worker], [], [], 30)
    os.close(worker)
    assert ended
