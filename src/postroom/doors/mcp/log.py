"""Log lines that cannot leak: JSON or text on stderr, an event name and fields from an allow-list, nothing else.

Records with other messages come from libraries: they keep their level, their logger, their place in the source and
the type of their exception. The message is dropped, because it may contain anything.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import IO, Literal

from postroom.doors.mcp.log_flood import FloodHandler
from postroom.settings.dialects import logged_names

Form = Literal["json", "text"]
LIBRARY_MESSAGE = "library_message"

log = logging.getLogger("postroom.mcp")

_JSON = json.JSONEncoder(ensure_ascii=False)

ALLOWED_FIELDS = (
    "tool",
    "toolset",
    "status",
    "code",
    "method",
    "endpoint",
    "duration_ms",
    "correlation_id",
    "error_type",
    "items",
    "succeeded",
    "failed",
    "accounts",
    "provider",
    "verb",
    "outcome",
    "dialect",
    "transport",
    "port",
    "attempt",
    "suppressed",
    "client",
    *sorted(logged_names()),
)
# Messages that are logged unchanged.
EVENTS = frozenset(
    {
        "tool_call",
        "internal_error",
        "provider call",
        "provider_request",
        "outbox",
        "provider_unclear",
        "submit_unclear",
        "staging_unclear",
        "left_staged",
        "worker_paused",
        "rule_run",
        "rule_failed",
        "rules_paused",
        "mirror_process_not_started",
        "mirror_process_ended",
        "login_not_stored",
        "audit_failed",
        "connection_refused",
        "client_gone",
        "clients_unreadable",
        "keys_unavailable",
        "token_refused",
        "shutdown_forced",
    }
)


class AllowListFormatter(logging.Formatter):
    """One JSON object per line, or the same as text for people."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        line = self._line(record)
        if self._form == "json":
            return _JSON.encode(line)
        said = [line.pop(name) for name in ("time", "level", "event")]
        return " ".join([*map(str, said), *(f"{name}={value!r}" for name, value in line.items())])

    def _line(self, record: logging.LogRecord) -> dict[str, object]:
        ours = record.name.startswith("postroom") and record.msg in EVENTS
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.msg if ours else LIBRARY_MESSAGE,
        }
        if not ours:
            line["place"] = f"{record.module}:{record.lineno}"
        carried = vars(record)
        for field in ALLOWED_FIELDS:
            if field in carried and isinstance(carried[field], (str, int, float)):
                line[field] = carried[field]
        if record.exc_info and record.exc_info[0] is not None:
            line["error_type"] = record.exc_info[0].__name__
        return line


def configure(level: str = "auto", stream: IO[str] | None = None, *, form: Form | Literal["auto"] = "auto") -> None:
    """Make this the only handler for log records of the whole process. stdout belongs to the protocol.

    `auto` means warnings as text at a terminal, everything from info as JSON elsewhere.
    """
    # No line tells which thread or process it comes from, and finding that out takes a third of a line's time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    stream = stream or sys.stderr
    at_terminal = stream.isatty()
    level = ("warning" if at_terminal else "info") if level == "auto" else level
    handler = FloodHandler(stream, EVENTS)
    handler.setFormatter(AllowListFormatter(("text" if at_terminal else "json") if form == "auto" else form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("postroom").setLevel(level.upper())
