"""Bad requests of every kind: each is refused, none makes the server fail, and the next good one is served."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from tests.faults.bad_requests import BadRequests
from tests.faults.conftest import Record
from tests.faults.http_fuzz import errors_logged, memory, new_session, throw, tools_of
from tests.faults.http_process import HttpProcess, http_process

SEED = 20261116
REQUESTS = 600  # bench/http_fuzz.py sends 100,000
MEMORY_MB = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpProcess]:
    with http_process(tmp_path_factory.mktemp("fuzz")) as served:
        yield served


def test_bad_requests_are_refused_and_harm_nothing(server: HttpProcess, record_fault: Record) -> None:
    requests = iter(BadRequests(SEED, tools_of(server), new_session(server)))
    throw(server, islice(requests, 100))  # whatever is loaded at first use
    before = memory(server)
    outcome = throw(server, islice(requests, REQUESTS))
    assert outcome.wrong == []
    assert errors_logged(server) == []
    assert server.get().startswith(b"HTTP/1.1 200")
    assert tools_of(server)
    assert memory(server) - before < MEMORY_MB
    record_fault("bad HTTP requests", REQUESTS, outcome.answers)
