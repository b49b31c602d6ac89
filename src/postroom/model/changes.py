"""What changed in a mailbox since the last check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChangePage:
    """`changed` are messages that are new, moved, or have other flags or labels; `removed` no longer exist. A message
    that got another ref by moving is in both, under its new and its old ref. Call again with `cursor` while `has_more`,
    and keep the last one for the next time."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    cursor: str
    has_more: bool = False
