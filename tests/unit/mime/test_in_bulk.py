from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.unit.mime import odd_mails

from postroom.mime.processes import in_bulk, readers, streams
from postroom.mime.processes.in_bulk import next_of, read_many


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_bulk, "cores", lambda: 2)


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_bulk, "FEW", 5)
    monkeypatch.setattr(in_bulk, "_CHUNK", 4)


def results(mails: Iterable[str], *, patience: float = readers.PATIENCE) -> list[tuple[str, tuple[str, int]]]:
    return list(read_many(odd_mails.read, mails, instead=odd_mails.instead, size=len, patience=patience))


def texts(found: list[tuple[str, tuple[str, int]]]) -> list[str]:
    return [text for _, (text, _) in found]


def test_few_mails_are_read_by_the_caller_itself() -> None:
    found = results(["a", "raise", "b"])
    assert texts(found) == ["A", "instead of raise", "B"]
    assert {process for _, (_, process) in found} == {os.getpid()}


@pytest.mark.usefixtures("few_are_many")
def test_many_are_read_by_others_and_come_in_order() -> None:
    mails = [f"m{number}" for number in range(200)]
    found = results(mails)
    assert [mail for mail, _ in found] == mails
    assert texts(found) == [mail.upper() for mail in mails]
    assert os.getpid() not in {process for _, (_, process) in found}


@pytest.mark.usefixtures("few_are_many")
def test_large_mails_are_much_work_even_when_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_bulk, "FEW_BYTES", 100)
    found = results(["x" * 60, "y" * 60])
    assert os.getpid() not in {process for _, (_, process) in found}


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("deed", ["raise", "die", "hang"])
def test_one_bad_mail_costs_the_others_nothing(deed: str) -> None:
    mails = [f"m{number}" for number in range(50)]
    mails[17] = deed
    expected = [f"instead of {deed}" if mail == deed else mail.upper() for mail in mails]
    assert texts(results(mails, patience=1.0)) == expected


@pytest.mark.usefixtures("few_are_many")
def test_readers_that_die_while_they_have_nothing_to_do_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_bulk, "_AHEAD", 1)
    found = read_many(odd_mails.read, ["x"] * 40, instead=odd_mails.instead, size=len)
    with closing(found):
        process = next(found)[1][1]
        os.kill(process, signal.SIGKILL)
        assert {text for _, (text, _) in found} == {"X"}


@pytest.mark.usefixtures("few_are_many")
def test_where_every_mail_ends_its_reader_the_caller_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_MOST_LOST", 2)
    found = results(["die", "die", *"abcdefgh"])
    assert texts(found) == ["instead of die", "instead of die", *"ABCDEFGH"]
    assert found[-1][1][1] == os.getpid()


@pytest.mark.usefixtures("few_are_many")
def test_however_many_mails_end_their_readers_the_caller_reads_none_where_others_were_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readers, "_MOST_LOST", 2)
    mails = [*"abcd", *["die"] * 4, *"ef", "die", "g"]
    found = results(mails)
    assert texts(found) == ["instead of die" if mail == "die" else mail.upper() for mail in mails]
    assert found[-1][1][1] != os.getpid()


def test_what_a_lost_reader_was_given_does_not_end_the_readers_that_replace_it() -> None:
    with readers.Readers(odd_mails.read, odd_mails.instead, 1) as ours:
        lost = [ours.give(mails) for mails in (["die"], ["a"], ["b"])]
        assert ours.results(lost[0]) is None
        assert ours.read_alone("die")[0] == "instead of die"
        later = [ours.give([mail]) for mail in "cdef"]
        for mail, given in zip("ab", lost[1:], strict=True):
            assert ours.results(given) is None
            assert ours.read_alone(mail)[0] == mail.upper()
        found = [ours.results(given) for given in later]
    assert [[text for text, _ in one or []] for one in found] == [["C"], ["D"], ["E"], ["F"]]


def test_what_neither_can_do_is_raised_where_the_results_are_taken_and_costs_no_reader() -> None:
    with readers.Readers(odd_mails.read, odd_mails.raise_instead, 1) as ours:
        given = [ours.give([mail]) for mail in ("raise", "a")]
        with pytest.raises(RecursionError):
            ours.results(given[0])
        assert [text for text, _ in ours.results(given[1]) or []] == ["A"]


def test_a_mail_that_is_read_alone_is_not_blamed_for_what_others_do_to_their_reader() -> None:
    with readers.Readers(odd_mails.read, odd_mails.instead, 1) as ours:
        assert ours.results(ours.give(["die"])) is None
        process = ours.read_alone("a")[1]
        assert ours.results(ours.give(["die"])) is None
        assert ours.read_alone("b") == ("B", process)
        os.kill(process, signal.SIGKILL)
        assert ours.read_alone("c")[0] == "C"


def test_a_reader_that_is_stopped_is_lost_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No alarm of its own goes off in it."""
    monkeypatch.setattr(readers, "_START", 5.0)
    with readers.Readers(odd_mails.read, odd_mails.instead, 1, patience=1.0) as ours:
        ((_, process),) = ours.results(ours.give(["a"])) or [("", 0)]
        assert process
        os.kill(process, signal.SIGSTOP)
        given = [ours.give([mail]) for mail in ("b", "c")]
        assert [ours.results(one) for one in given] == [None, None]
        assert [ours.read_alone(mail)[0] for mail in "bc"] == ["B", "C"]
        assert not Path(f"/proc/{process}").exists()


@pytest.mark.usefixtures("few_are_many")
def test_where_no_process_can_be_had_the_caller_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_pool", lambda _count, _patience: None)
    mails = [f"m{number}" for number in range(20)]
    found = results(mails)
    assert texts(found) == [mail.upper() for mail in mails]
    assert {process for _, (_, process) in found} == {os.getpid()}


@pytest.fixture
def room_for_one_process() -> Iterator[None]:
    """Descriptors for the pipes of one, but not of two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    taken: list[int] = []
    with suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    for descriptor in taken[-8:]:
        os.close(descriptor)
    yield
    for descriptor in taken[:-8]:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("few_are_many", "room_for_one_process")
def test_where_only_some_processes_can_be_had_the_caller_reads_and_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def started(module: str) -> subprocess.Popen[bytes]:
        begun.append(process := streams_started(module))
        return process

    streams_started = streams.started
    monkeypatch.setattr(streams, "started", started)
    mails = [f"m{number}" for number in range(20)]
    found = results(mails)
    assert texts(found) == [mail.upper() for mail in mails]
    assert {process for _, (_, process) in found} == {os.getpid()}
    assert [process.returncode is None for process in begun] == [False]


@pytest.mark.usefixtures("few_are_many")
def test_readers_that_cannot_even_start_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_MODULE", "no_such_module")
    mails = [f"m{number}" for number in range(20)]
    assert texts(results(mails)) == [mail.upper() for mail in mails]


@pytest.mark.usefixtures("few_are_many")
def test_mails_are_taken_only_some_way_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_bulk, "_AHEAD", 3)
    taken = 0

    def source() -> Iterator[str]:
        nonlocal taken
        for taken in range(1, 1_000):  # noqa: B007 - looked at from outside
            yield "x"

    with closing(read_many(odd_mails.read, source(), instead=odd_mails.instead, size=len)) as found:
        next(found)
        assert taken <= 3 * 4


@pytest.mark.usefixtures("few_are_many")
def test_closing_it_early_ends_the_readers() -> None:
    with closing(read_many(odd_mails.read, ["x"] * 500, instead=odd_mails.instead, size=len)) as found:
        process = next(found)[1][1]
        assert _is_alive(process)
    assert not _is_alive(process)


def test_the_next_mails_are_bounded_by_number_and_by_size() -> None:
    mails = iter(["a", "bb", "ccc", "dddd", "e"])
    assert next_of(mails, len, 2, 100) == ["a", "bb"]
    assert next_of(mails, len, 100, 7) == ["ccc", "dddd"]
    assert next_of(mails, len, 100, 7) == ["e"]
    assert next_of(mails, len, 100, 7) == []


_ORPHANED = """
import sys
from tests.unit.mime import odd_mails
from postroom.mime.processes import in_bulk

if __name__ == "__main__":
    in_bulk.FEW = 5
    in_bulk.cores = lambda: 2
    found = in_bulk.read_many(odd_mails.read, ["x"] * 5000, instead=odd_mails.instead, size=len)
    print(next(found)[1][1], flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_readers_do_not_outlive_a_caller_that_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "caller.py"
    script.write_text(_ORPHANED)
    root = Path(__file__).resolve().parents[3]
    caller = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    with caller:
        assert caller.stdout
        process = int(caller.stdout.readline())
        watch = os.pidfd_open(process)
        caller.send_signal(signal.SIGKILL)
    ended, _, _ = select.select([watch], [], [], 10.0)
    os.close(watch)
    assert ended


def _is_alive(process: int) -> bool:
    """Nobody may be there to bury it: dead is dead."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/status").read_text() if Path("/proc/self").exists() else ""
    except (ProcessLookupError, FileNotFoundError):
        return False
    return "\nState:\tZ" not in status
