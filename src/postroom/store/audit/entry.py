"""What an audit entry may say: who did what to whom with which result, and nothing that was written in a message.

Every field is held to a shape that addresses, subjects and bodies do not fit. A value that does not fit is a fault of
ours, and is refused before anything is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from postroom.model.errors import InternalError
from postroom.store.clock import iso

Result = Literal["success", "rejected", "rate_limited", "error", "dev_mode", "preview"]
Parameter = str | int | float | bool | None

# Counts, sizes, switches and the names of things of ours.
PARAMETERS = frozenset(
    "accepted attachments attempt bytes confirm count dialect dry_run duplicate emails failed flag folder_role format "  # noqa: SIM905 (33 quoted words read worse)
    "gate has_attachments held importance kind limit offset provider recipients refused replayed reply_all results "
    "save_to_sent scheduled state succeeded tool toolset".split()
)
_TOKEN = re.compile(r"[A-Za-z0-9_.:/+-]{0,64}\Z")
_ACTOR = re.compile(r"[A-Za-z0-9_.:/+() -]{0,64}\Z")
_TARGET = re.compile(r"(?:[^@\s,*]?\*\*\*@[^@\s,*]{1,253}|\*\*\*|[A-Za-z0-9_.:+-]{1,40})\Z")
_MOST_TARGETS = 20


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`target` is masked (``j***@example.com``, several joined by ``, ``) or a handle. `error` is an error's code."""

    action_type: str
    result: Result
    correlation_id: str = ""
    actor: str = ""
    target: str = ""
    duration_ms: int = 0
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    error: str = ""


def canonical(entry: AuditEntry, at: float) -> str:
    """The one spelling that is stored, hashed and mirrored."""
    _check(entry)
    content = {
        "timestamp": iso(at),
        "correlation_id": entry.correlation_id,
        "actor": entry.actor,
        "action_type": entry.action_type,
        "target": entry.target,
        "result": entry.result,
        "duration_ms": entry.duration_ms,
        "parameters": dict(entry.parameters),
        "error": entry.error,
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _check(entry: AuditEntry) -> None:
    _require(entry.result in get_args(Result), "result")
    _require(bool(_ACTOR.match(entry.actor)), "actor")
    for name in ("action_type", "correlation_id", "error"):
        _require(bool(_TOKEN.match(getattr(entry, name))), name)
    targets = entry.target.split(", ") if entry.target else []
    _require(len(targets) <= _MOST_TARGETS and all(_TARGET.match(target) for target in targets), "target")
    _require(isinstance(entry.duration_ms, int), "duration_ms")
    for name, value in entry.parameters.items():
        _require(name in PARAMETERS, "parameters")
        _require(not isinstance(value, str) or bool(_TOKEN.match(value)), f"parameters.{name}")
        _require(isinstance(value, Parameter), f"parameters.{name}")


def _require(fits: bool, field_name: str) -> None:
    if not fits:
        raise InternalError(f"The audit log rejected its {field_name}: it accepts only masked and counted values.")
