"""`make mutants`: how many mutants the tests kill, room by room, and the survivors as diffs."""

from __future__ import annotations

import argparse
import random
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path

from tests.mutants import tests_of, trial
from tests.mutants.mutant import Mutant, targets
from tests.mutants.operators import mutants_of
from tests.mutants.trial import Trials, Verdict

ACCEPTED = Path(__file__).with_name("accepted.toml")


def main() -> int:
    asked = _asked()
    everything = [mutant for path in targets() for mutant in mutants_of(path)]
    accepted, stale = accepted_among(everything)
    chosen = _chosen(everything, asked)
    tests = tests_of.load(asked.jobs)
    verdicts = _tried([mutant for mutant in chosen if mutant not in accepted], tests, asked.jobs)
    rate = _report(verdicts, [mutant for mutant in chosen if mutant in accepted])
    for entry in stale:
        print(f"accepted.toml speaks of a mutant that is no more: {entry['path']}: {entry['was']}")
    print(f"{rate:.1f} % killed, {asked.threshold:g} % wanted")
    return 0 if rate >= asked.threshold and not stale else 1


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="how many, drawn at random; 0 is all")
    parser.add_argument("--seed", type=int, default=7, help="the same seed draws the same ones from the same code")
    parser.add_argument("--only", default="", help="those whose path:line begins like this, below src/postroom")
    parser.add_argument("--threshold", type=float, default=95.0, help="percent that must be killed")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def _chosen(everything: list[Mutant], asked: argparse.Namespace) -> list[Mutant]:
    wanted = [one for one in everything if f"{one.path}:{one.line}".startswith(f"src/postroom/{asked.only}")]
    return sorted(random.Random(asked.seed).sample(wanted, min(asked.sample or len(wanted), len(wanted))))


def accepted_among(everything: list[Mutant]) -> tuple[set[Mutant], list[dict[str, str]]]:
    """Mutants that change nothing anybody could see, and entries that fit none any more."""
    entries = tomllib.loads(ACCEPTED.read_text(encoding="utf-8")).get("mutant", [])
    by_change: dict[tuple[str, str, str], set[Mutant]] = {}
    for mutant in everything:
        by_change.setdefault(mutant.name, set()).add(mutant)
    found = [by_change.get((entry["path"], entry["was"], entry["becomes"]), set()) for entry in entries]
    assert all(entry["why"] for entry in entries)
    return set().union(*found), [entry for entry, fits in zip(entries, found, strict=True) if not fits]


def _tried(mutants: list[Mutant], tests: tests_of.Tests, jobs: int) -> list[Verdict]:
    verdicts: list[Verdict] = []
    began = time.monotonic()

    def told(verdict: Verdict) -> None:
        verdicts.append(verdict)
        if not verdict.is_killed:
            print(f"\n{verdict.mutant.shown()}\n  survived {verdict.tests} tests\n", flush=True)
        if len(verdicts) % 50 == 0 or len(verdicts) == len(mutants):
            survived = sum(not one.is_killed for one in verdicts)
            print(
                f"{len(verdicts)} of {len(mutants)}, {survived} survived, {time.monotonic() - began:.0f} s", flush=True
            )

    trials = Trials(tests, jobs, told)
    cold = [mutant for mutant in mutants if not tests.is_warm(mutant)]
    trial.run_cold(tests, trials, cold)
    trial.run_warm(tests, trials, [mutant for mutant in mutants if tests.is_warm(mutant)])
    return sorted(verdicts, key=lambda verdict: verdict.mutant)


def _report(verdicts: list[Verdict], accepted: list[Mutant]) -> float:
    tried = Counter(one.mutant.path for one in verdicts)
    killed = Counter(one.mutant.path for one in verdicts if one.is_killed)
    late = Counter(one.mutant.path for one in verdicts if one.by == "it took too long")
    spared = Counter(one.path for one in accepted)
    print(f"\n{'':36}{'tried':>8}{'killed':>8}{'by time':>9}{'accepted':>10}")
    for path in sorted(tried | spared):
        name = path.removeprefix("src/postroom/")
        rate = 100 * killed[path] / tried[path] if tried[path] else 100.0
        print(f"{name:36}{tried[path]:8}{killed[path]:8}{late[path]:9}{spared[path]:10}{rate:8.1f} %")
    print(f"{'all':36}{tried.total():8}{killed.total():8}{late.total():9}{spared.total():10}")
    return 100 * killed.total() / max(tried.total(), 1)


if __name__ == "__main__":
    sys.exit(main())
