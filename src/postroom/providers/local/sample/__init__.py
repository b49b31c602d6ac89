"""A sample mailbox for the first start: one invented world, seen from the mailboxes of two people in it.

The letters are data, one module per sort; `filling.fill` turns them into real messages dated relative to now. The same
now gives the same bytes. Imported only when a mailbox is filled. Every name and domain is invented and reserved.
"""

from __future__ import annotations

from postroom.providers.local.sample.filling import fill

__all__ = ["fill"]
