"""Bad requests by the hundred thousand at the HTTP server: what is answered, and what is left in memory.

    python bench/http_fuzz.py [REQUESTS] [SEED]

Goal: no 5xx, no error in the log, memory flat. Exits with 1 otherwise; the first wrong answers are printed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.bad_requests import BadRequests
from tests.faults.http_fuzz import Outcome, errors_logged, memory, new_session, throw, tools_of
from tests.faults.http_process import HttpProcess, http_process

PART = 5000
SHOWN = 10


def main(requests: int, seed: int) -> int:
    with tempfile.TemporaryDirectory() as home, http_process(Path(home)) as server:
        answers, wrong = thrown(server, requests, seed)
        errors = errors_logged(server)
        is_alive = server.get().startswith(b"HTTP/1.1 200")
    print(f"{requests} requests, answers {dict(sorted(answers.items()))}, {wrong} wrong, {len(errors)} errors logged")
    print("\n".join(sorted(set(errors))[:SHOWN]))
    return 0 if is_alive and not wrong and not errors else 1


def thrown(server: HttpProcess, requests: int, seed: int) -> tuple[Counter[str], int]:
    bad = iter(BadRequests(seed, tools_of(server), new_session(server)))
    answers: Counter[str] = Counter()
    wrong, began = 0, time.perf_counter()
    for done in range(0, requests, PART):
        outcome = throw(server, islice(bad, min(PART, requests - done)))
        show(outcome, SHOWN - wrong)
        answers, wrong = answers + outcome.answers, wrong + len(outcome.wrong)
        print(
            f"{done + PART:7} {time.perf_counter() - began:6.0f} s {memory(server):7.1f} MB {wrong} wrong", flush=True
        )
    return answers, wrong


def show(outcome: Outcome, number: int) -> None:
    for request, answer in outcome.wrong[: max(0, number)]:
        print(request.kind, request.data[:1000], answer[-1000:])


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*(numbers + [100_000, 1][len(numbers) :])))
