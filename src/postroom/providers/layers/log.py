"""One line per call: which method, how long, which outcome. Never an argument or a result."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from postroom.model.address import masked
from postroom.model.errors import InternalError, PostroomError
from postroom.providers.layers.layered import Call
from postroom.tracing import span

LOGGER = logging.getLogger("postroom.providers")
FIELDS = ("account", "provider", "verb", "duration_ms", "outcome")  # all that a line may carry


@dataclass(frozen=True, slots=True)
class Log:
    account: str
    provider: str

    def __call__(self, verb: str, call: Call) -> Call:
        async def logged(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            outcome = InternalError.code
            with span("provider_call", provider=self.provider, verb=verb) as traced:
                try:
                    answer = await call(*args, **kwargs)
                    outcome = "ok"
                except PostroomError as error:
                    outcome = error.code
                    raise
                except Exception:
                    raise
                except BaseException:
                    outcome = "cancelled"
                    raise
                finally:
                    self._line(verb, started, outcome)
                    traced.mark(outcome=outcome)
            return answer

        return logged

    def _line(self, verb: str, started: float, outcome: str) -> None:
        level = logging.DEBUG if outcome == "ok" else logging.INFO
        if not LOGGER.isEnabledFor(level):
            return
        took = round((time.perf_counter() - started) * 1000, 1)
        account = masked(self.account) if "@" in self.account else self.account
        values = (account, self.provider, verb, took, outcome)
        LOGGER.log(level, "provider call", extra=dict(zip(FIELDS, values, strict=True)))
