"""Which tests run which lines, and how long each takes: recorded once and kept in .mutants/ until the code changes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypedDict

import coverage
import pytest
from tests.mutants.mutant import ROOT, Mutant, source, targets

# Whatever tries the gate in one process. Tests that start processes do not see a mutant, and those that talk to real
# servers are too slow to be run thousands of times.
SUITE = (
    *(
        f"tests/{folder}"
        for folder in ("gate", "unit/safety", "unit/service", "unit/store", "unit/doors/cli", "dialects")
    ),
    *(
        f"tests/flows/test_{name}.py"
        for name in ("sending", "provider_calls", "refusals", "drafting", "organising", "obedient_agent", "rules")
    ),
    *(
        f"tests/flows/test_{name}.py"
        for name in ("strangers", "invitations", "unsubscribing", "vacation", "templates", "acquaintances", "time")
    ),
)
LEFT_OUT = (
    "tests/dialects/test_drafts.py",
    "tests/unit/store/test_races.py",
    "tests/unit/doors/cli/test_accounts_add.py",
    "tests/unit/doors/cli/test_command_line.py",
)
_SERVERS = ("dovecot", "postfix", "courier", "cyrus")
ARGUMENTS = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov")
_KEPT = ROOT / ".mutants" / "tests.json"
_LONGEST = 5.0  # seconds of computing; a test that takes more is not asked
_ENOUGH = 40.0  # seconds of tests for one mutant


class Run(TypedDict):
    """What one test did: seconds of computing, and the lines it ran in each file."""

    seconds: float
    lines: dict[str, list[int]]


class Tests:
    """The lines that run while modules are imported belong to the test without a name."""

    def __init__(self, runs: dict[str, Run]) -> None:
        self._at_import = {path: set(lines) for path, lines in runs[""]["lines"].items()}
        self.seconds = {test: run["seconds"] for test, run in runs.items() if test}
        self._by_line: dict[tuple[str, int], set[str]] = {}
        self._by_file: dict[str, set[str]] = {}
        for test, path, line in _every_line(runs):
            self._by_line.setdefault((path, line), set()).add(test)
            self._by_file.setdefault(path, set()).add(test)

    def that_may_notice(self, mutant: Mutant) -> list[str]:
        """Those that run its statement; where that runs at import, any that run its file or one that imports it, and
        its own, which may look at nothing but its constants.

        Its own tests come first, then the fast ones. What no test was seen to run may run in a process that one forks.
        """
        found: set[str] = set()
        if self.is_warm(mutant):
            found = found.union(*(self._by_line.get((mutant.path, line), ()) for line in mutant.lines))
            found = found or self._by_file.get(mutant.path, set())
        else:
            files = [mutant.path, *self._importers.get(mutant.module, ())]
            found = set().union(*(self._by_file.get(path, ()) for path in files))
            found |= {test for test in self.seconds if is_own(mutant, test)}
        return self._within_time(sorted(found, key=lambda test: (not is_own(mutant, test), self.seconds[test], test)))

    def is_warm(self, mutant: Mutant) -> bool:
        """Run by tests alone, so that it can be put in place after everything was imported."""
        return mutant.body_of is not None and self._at_import.get(mutant.path, set()).isdisjoint(mutant.lines)

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in targets():
            for module in set(re.findall(r"^from (postroom\.[\w.]+) import", source(path).decode(), re.MULTILINE)):
                found.setdefault(module, []).append(path)
        return found

    def _within_time(self, tests: Iterable[str]) -> list[str]:
        chosen, spent = [], 0.0
        for test in tests:
            spent += self.seconds[test]
            if spent <= _ENOUGH:
                chosen.append(test)
        return chosen


def is_own(mutant: Mutant, test: str) -> bool:
    """Whether it stands in a file named after the mutant's."""
    return f"/test_{Path(mutant.path).stem}" in test


def _every_line(runs: dict[str, Run]) -> Iterator[tuple[str, str, int]]:
    for test, run in runs.items():
        if test and run["seconds"] <= _LONGEST:
            yield from ((test, path, line) for path, lines in run["lines"].items() for line in lines)


def load(jobs: int) -> Tests:
    """As kept, with what changed since recorded anew: everything for a line of code, else the changed test files."""
    kept = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {"code": "", "files": {}, "runs": {}}
    code, files = _states()
    if kept["code"] != code:
        kept = {"files": {}, "runs": {}}
    changed = [file for file, state in files.items() if kept["files"].get(file) != state]
    runs = {
        test: run
        for test, run in kept["runs"].items()
        if not test or files.get(_file(test)) == kept["files"][_file(test)]
    }
    if changed:
        print(f"Recording which tests of {len(changed)} files run which lines ...", flush=True)
        fresh = _recorded(changed, jobs)
        runs = {**runs, **fresh, "": kept["runs"].get("", fresh[""])}
    _KEPT.write_text(json.dumps({"code": code, "files": files, "runs": runs}), encoding="utf-8")
    return Tests(runs)


def _file(test: str) -> str:
    return test.split("::")[0]


def _states() -> tuple[str, dict[str, str]]:
    """Of the code, together with what tests share; and of each file of tests."""
    here = Path(__file__).parent
    written = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    tests = {
        path for place in SUITE for path in ((ROOT / place).rglob("test_*.py") if "." not in place else [ROOT / place])
    }
    tests -= {ROOT / path for path in LEFT_OUT}
    code = hashlib.sha256(b"".join(path.read_bytes() for path in written
                                   if not path.name.startswith("test_") and path.parent != here))  # fmt: skip
    states = {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(tests)
    }
    return code.hexdigest(), states


def _recorded(files: list[str], jobs: int) -> dict[str, Run]:
    """By processes of their own, so that the imports are recorded as well."""
    _KEPT.parent.mkdir(exist_ok=True)
    shares = [files[first::jobs] for first in range(min(jobs, len(files)))]
    places = [_KEPT.with_suffix(f".part{number}") for number in range(len(shares))]
    command = (sys.executable, "-m", "tests.mutants.tests_of")
    recorders = [
        subprocess.Popen([*command, str(to), *share], cwd=ROOT, stdout=subprocess.DEVNULL)
        for to, share in zip(places, shares, strict=True)
    ]
    ends = [recorder.wait() for recorder in recorders]
    if any(ends):
        sys.exit("The tests could not be recorded.")
    parts: list[dict[str, Run]] = [json.loads(to.read_text(encoding="utf-8")) for to in places]
    for to in places:
        to.unlink()
    return {**dict(pair for part in parts for pair in part.items()), "": _together([part[""] for part in parts])}


def _together(runs: list[Run]) -> Run:
    """What each process ran while it imported."""
    paths = {path for run in runs for path in run["lines"]}
    lines = {path: sorted(set().union(*(run["lines"].get(path, ()) for run in runs))) for path in sorted(paths)}
    return {"seconds": 0.0, "lines": lines}


class Small:
    """Hypothesis looks at few examples, and at the same ones each time."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        from hypothesis import settings

        settings.register_profile("mutants", deadline=None, derandomize=True, database=None, max_examples=25)
        settings.load_profile("mutants")


class _Recorder(Small):
    def __init__(self) -> None:
        include = [str(ROOT / path) for path in targets()]
        self.coverage = coverage.Coverage(data_file=None, config_file=False, include=include)
        self.runs: dict[str, Run] = {"": {"seconds": 0.0, "lines": {}}}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)  # type: ignore[return-value]
        finally:
            self.runs[item.nodeid] = {"seconds": round(time.process_time() - began, 4), "lines": {}}
            self.coverage.switch_context("")

    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> None:
        """Tests that a server is started for are left out here: each mutant would start it again."""
        if fixturedef.argname in _SERVERS:
            pytest.skip("needs a real server")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def finished(self) -> dict[str, Run]:
        """Without the tests that fail or are skipped here: they could tell nothing."""
        data = self.coverage.get_data()
        for path in targets():
            for line, tests in (data.contexts_by_lineno(str(ROOT / path)) or {}).items():
                for test in tests:
                    self.runs[test]["lines"].setdefault(path, []).append(line)
        return {test: run for test, run in self.runs.items() if test not in self.failed}


def _record(to: str, files: list[str]) -> None:
    recorder = _Recorder()
    recorder.coverage.start()
    pytest.main([*ARGUMENTS, *files], plugins=[recorder])
    recorder.coverage.stop()
    Path(to).write_text(json.dumps(recorder.finished()), encoding="utf-8")


if __name__ == "__main__":
    _record(sys.argv[1], sys.argv[2:])
