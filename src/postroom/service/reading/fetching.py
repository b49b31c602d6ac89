"""Opening messages: one, or several in as few round trips as the provider can."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.model.errors import NotFound
from postroom.model.message import Message
from postroom.providers.protocol import BatchFetch, ContentFetch
from postroom.service.gateway import Account


async def fetch_content(account: Account, ref: str) -> Message:
    """For a caller that shows neither its folder nor its flags: they may be missing."""
    mailbox = account.mailbox
    return await (mailbox.fetch_content(ref) if isinstance(mailbox, ContentFetch) else mailbox.fetch(ref))


async def fetch_many(account: Account, refs: Sequence[str]) -> list[Message | None]:
    """In order; None where the message is gone."""
    mailbox = account.mailbox
    if isinstance(mailbox, BatchFetch) and len(refs) > 1:
        return await mailbox.fetch_many(refs)
    return [await _fetch(account, ref) for ref in refs]


async def _fetch(account: Account, ref: str) -> Message | None:
    try:
        return await account.mailbox.fetch(ref)
    except NotFound:
        return None
