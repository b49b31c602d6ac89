"""Trying mutants: each in a forked process, by the tests that may notice, until the first one fails.

A mutant inside a function is put in place after everything was imported, by giving the function other code; that takes
milliseconds. One that runs at import needs its module, and all that import it, loaded anew.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.tests_of import ARGUMENTS, LEFT_OUT, SUITE, Small, Tests, is_own

_SURVIVED, _KILLED = 0, 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """`by` is the test that failed, or what else ended it. Empty for a survivor."""

    mutant: Mutant
    by: str
    tests: int

    @property
    def is_killed(self) -> bool:
        return bool(self.by)


class Trials:
    def __init__(self, tests: Tests, jobs: int, told: Callable[[Verdict], None]) -> None:
        self._tests = tests
        self._jobs = jobs
        self._told = told
        self._running: dict[int, tuple[Mutant, list[str], int, Path]] = {}
        self._killers: dict[tuple[str, str], Counter[str]] = {}

    def run(self, mutants: Iterable[Mutant], attempt: Callable[[Mutant, list[str]], Any]) -> None:
        """`attempt` runs in the child and answers by `_leave`; whatever else ends the child has killed the mutant."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
        try:
            for mutant in mutants:
                tests = self._in_order(mutant)
                if not tests:
                    self._told(Verdict(mutant, "", 0))
                    continue
                if len(self._running) >= self._jobs:
                    self._wait()
                self._start(mutant, tests, attempt)
            while self._running:
                self._wait()
        finally:
            for child in self._running:
                _kill(child)

    def _in_order(self, mutant: Mutant) -> list[str]:
        """What killed its neighbours comes first."""
        killers = self._killers.setdefault((mutant.path, mutant.where), Counter())
        return sorted(self._tests.that_may_notice(mutant), key=lambda test: -killers[test])

    def _start(self, mutant: Mutant, tests: list[str], attempt: Callable[[Mutant, list[str]], Any]) -> None:
        reader, writer = os.pipe()
        folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        child = os.fork()
        if child == 0:
            _alone(folder, writer)
            try:
                attempt(mutant, tests)
            finally:
                _leave(_KILLED, "it could not even be loaded")
        os.close(writer)
        self._running[child] = (mutant, tests, reader, folder)

    def _wait(self) -> None:
        child, status = os.wait()
        mutant, tests, reader, folder = self._running.pop(child)
        with os.fdopen(reader, "rb") as pipe:
            by = pipe.read().decode()
        _kill(child)  # whatever its tests left running
        shutil.rmtree(folder, ignore_errors=True)
        if os.WIFSIGNALED(status):
            by = "it took too long" if os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF) else "it crashed"
        elif os.WEXITSTATUS(status) == _SURVIVED:
            by = ""
        self._killers[mutant.path, mutant.where].update([by])
        self._told(Verdict(mutant, by, len(tests)))


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


_answer = -1


def _alone(folder: Path, writer: int) -> None:
    """In the child: a process group, a temporary folder and a silence of its own."""
    global _answer
    _answer = writer
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = str(folder)
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    _allow(20.0)


def _allow(seconds: float) -> None:
    """So much computing, and far more waiting, since others may want the machine too. Then the kernel ends us."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(int(100 + 10 * seconds))


def _leave(status: int, by: str = "") -> None:
    os.write(_answer, by.encode()[:4096])
    os._exit(status)


class _UntilOneFails(Small):
    def __init__(self, tests: Tests) -> None:
        self._tests = tests

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        _allow(5 + 10 * self._tests.seconds[nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            _leave(_KILLED, report.nodeid)


class Warm(Small):
    """Once all tests are collected, this runs mutants instead of them."""

    def __init__(self, tests: Tests, trials: Trials, mutants: list[Mutant]) -> None:
        self._tests = tests
        self._trials = trials
        self._mutants = mutants
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._session: pytest.Session | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._session = session
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                code = one.__code__
                key = (code.co_filename, code.co_qualname, code.co_firstlineno)
                self._functions.setdefault(key, []).append(one)
        session.config.pluginmanager.unregister(self)
        self._trials.run(self._mutants, self._attempt)
        return True

    def _attempt(self, mutant: Mutant, tests: list[str]) -> None:
        assert self._session is not None
        assert mutant.body_of is not None
        session, file = self._session, str(ROOT / mutant.path)
        functions = self._functions[file, *mutant.body_of]
        (code,) = (one for one in _codes(compile(mutant.source, file, "exec", dont_inherit=True))
                   if (one.co_qualname, one.co_firstlineno) == mutant.body_of)  # fmt: skip
        for function in functions:
            function.__code__ = code
        session.config.pluginmanager.register(_UntilOneFails(self._tests))
        items = {item.nodeid: item for item in session.items}
        chosen = [items[test] for test in tests]
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        _leave(_SURVIVED)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def run_warm(tests: Tests, trials: Trials, mutants: list[Mutant]) -> None:
    left_out = [f"--ignore={path}" for path in LEFT_OUT]
    pytest.main([*ARGUMENTS, "--no-summary", *left_out, *SUITE], plugins=[Warm(tests, trials, mutants)])


def run_cold(tests: Tests, trials: Trials, mutants: list[Mutant]) -> None:
    """Everything but Postroom itself and its tests is imported once, here. The module's own tests run before the others
    are even collected, which takes longer than most of them."""
    import aiosmtplib, aiosmtpd.controller, hypothesis.stateful, imapclient, mcp.server, pydantic, yaml  # noqa: E401, F401, I001

    def attempt(mutant: Mutant, chosen: list[str]) -> None:
        sys.meta_path.insert(0, _Finder(mutant))
        own = [test for test in chosen if is_own(mutant, test)]
        for stage in (own, [test for test in chosen if test not in own]):
            if stage and pytest.main([*ARGUMENTS, "-x", *stage], plugins=[_UntilOneFails(tests)]) != pytest.ExitCode.OK:
                return
        _leave(_SURVIVED)

    trials.run(mutants, attempt)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        file = str(ROOT / self._mutant.path)
        return importlib.util.spec_from_file_location(name, file, loader=_Loader(name, file, self._mutant))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, file: str, mutant: Mutant) -> None:
        super().__init__(name, file)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.source, self.path, "exec", dont_inherit=True)
