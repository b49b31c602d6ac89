"""How far the mirrors are that a call has to wait for. Apart from `mirrors`, which every start would have to load."""

from __future__ import annotations

from postroom.sync.answering.fill_progress import told_to

__all__ = ["told_to"]
