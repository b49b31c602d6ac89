"""Faults that a test asks for: the next requests of a kind fail in one way, before or after their effect took place.

`what` is the peer's name of an operation (``drafts.send``), a path with wildcards (``/gmail/v1/users/*/drafts``) or
``*``. Faults are taken in the order in which they were asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from tests.peers.web.messages import Answer

Kind = Literal["error", "answer", "cut", "truncate", "hold"]


class Hold:
    """A request that waits: `reached` is set once it does, `release` lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.released = threading.Event()

    def release(self) -> None:
        self.released.set()


@dataclass(slots=True)
class Fault:
    method: str
    what: str
    kind: Kind
    times: int = 1
    after_effect: bool = False
    status: int = 503
    reason: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    answer: Answer | None = None
    hold: Hold | None = None

    def fits(self, method: str, operation: str, path: str) -> bool:
        is_what = self.what in ("*", operation) or fnmatchcase(path, self.what)
        return self.method in ("*", method) and is_what


class Faults:
    """Mixed into a peer: what a test author calls."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._holds: list[Hold] = []
        self._guard = threading.Lock()

    def fail_next(
        self,
        method: str,
        what: str,
        *,
        status: int = 503,
        reason: str = "",
        message: str = "",
        retry_after: int | str | None = None,
        times: int = 1,
        after_effect: bool = False,
    ) -> None:
        """An error in the shape of this service. After the effect: it was done, and only the answer lies."""
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        self._ask(Fault(method, what, "error", times, after_effect, status, reason, message, headers))

    def cut_next(self, method: str, what: str, *, times: int = 1, after_effect: bool = False) -> None:
        """The connection ends without an answer."""
        self._ask(Fault(method, what, "cut", times, after_effect))

    def truncate_next(self, method: str, what: str, *, times: int = 1) -> None:
        """The real answer is cut in the middle of its body. The effect took place."""
        self._ask(Fault(method, what, "truncate", times, after_effect=True))

    def answer_next(
        self,
        method: str,
        what: str,
        body: bytes | str,
        *,
        status: int = 200,
        content_type: str = "application/json; charset=UTF-8",
        times: int = 1,
        after_effect: bool = False,
    ) -> None:
        """This very answer: broken JSON, a page of a proxy, a success with an error inside."""
        raw = body.encode() if isinstance(body, str) else body
        answer = Answer(status, raw, {"content-type": content_type})
        self._ask(Fault(method, what, "answer", times, after_effect, status, answer=answer))

    def html_next(
        self, method: str, what: str, *, status: int = 502, times: int = 1, after_effect: bool = False
    ) -> None:
        """The page that stands before the service answers, not the service."""
        page = f"<!DOCTYPE html><html><title>Error {status}</title><p>That's an error.</html>"
        kind = "text/html; charset=UTF-8"
        self.answer_next(method, what, page, status=status, content_type=kind, times=times, after_effect=after_effect)

    def hold_next(self, method: str, what: str, *, after_effect: bool = False) -> Hold:
        """The answer waits until the test releases it, or until the peer stops."""
        hold = Hold()
        self._holds.append(hold)
        self._ask(Fault(method, what, "hold", after_effect=after_effect, hold=hold))
        return hold

    def forget_faults(self) -> None:
        with self._guard:
            self._faults.clear()

    @property
    def pending_faults(self) -> int:
        """How many requests are still to fail: a test that asked for a fault that never came can tell."""
        with self._guard:
            return sum(fault.times for fault in self._faults)

    def _ask(self, fault: Fault) -> None:
        with self._guard:
            self._faults.append(fault)

    def _take(self, method: str, operation: str, path: str) -> Fault | None:
        with self._guard:
            for fault in self._faults:
                if fault.fits(method, operation, path):
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                    return fault
        return None

    def _release_all(self) -> None:
        for hold in self._holds:
            hold.release()
