"""What happened in a mailbox since somebody last looked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChangePage:
    """`changed` are mails that are new, moved, flagged or labelled otherwise; `removed` are gone for good. A mail that
    got another ref by moving is in both, under the new and the old one. Ask again with `cursor` while `has_more`, and
    keep the last one for the next time."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    cursor: str
    has_more: bool = False
