"""The REST mail API of the tests in a process of its own, so that neither the clients nor the server share its time."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.peers.rest import RestPeer

FAULTS = (500, 503, 429)


class _TimedPeer(RestPeer):
    """Adds up for how long it had at least one request, and how many it had."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.seconds, self.asked = 0.0, 0
        self._at_work, self._since = 0, 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._at_work:
            self._since = time.perf_counter()
        self._at_work += 1
        self.asked += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._at_work -= 1
            if not self._at_work:
                self.seconds += time.perf_counter() - self._since
        self.requests.clear()


@dataclass(frozen=True, slots=True)
class Upstream:
    """The process, as the benchmark sees it."""

    url: str
    token: str
    _pipe: Connection

    def used(self) -> tuple[float, int]:
        """Its own seconds since this was last asked for, and the requests."""
        self._pipe.send("used")
        seconds, asked = self._pipe.recv()
        return seconds, asked

    def fail_once(self, number: int) -> None:
        """One of its next requests is answered with an error."""
        self._pipe.send(FAULTS[number % len(FAULTS)])
        self._pipe.recv()


@contextmanager
def running(folder: Path, addresses: tuple[str, ...], mails: Iterable[bytes]) -> Iterator[Upstream]:
    """`mails` are the first address's, whose token it is."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(theirs, folder, addresses, list(mails)), daemon=True
    )
    process.start()
    try:
        yield Upstream(*ours.recv(), ours)
    finally:
        ours.send("end")
        process.join(30)


def _serve(pipe: Connection, folder: Path, addresses: tuple[str, ...], mails: list[bytes]) -> None:
    with _TimedPeer(folder).run() as peer:
        users = [peer.add_user(address) for address in addresses]
        for raw in mails:
            users[0].store.add(raw)
        pipe.send((peer.url, users[0].new_token()))
        while (command := pipe.recv()) != "end":
            if command != "used":
                peer.fail_next("*", "/api/message*", status=command)
            pipe.send((peer.seconds, peer.asked))
            if command == "used":
                peer.seconds, peer.asked = 0.0, 0
