"""Opening messages: one, or several in as few round trips as the provider can."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.model.errors import NoAnswer, NotFound, PermissionDenied, PostroomError, ProviderError
from postroom.model.message import Message
from postroom.providers.protocol import BatchFetch, ContentFetch
from postroom.service.gateway import Account

# Of the messages that are opened together; where there are more, it is the server that fails.
_MOST_FAILED, _MOST_AT_FIRST = 5, 1


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


async def fetch_each(
    account: Account, refs: Sequence[str], *, gives_out_others: bool = False
) -> list[Message | PostroomError | None]:
    """As `fetch_many`, but one over which the server fails keeps none of the others back: it has its error. Raises
    where it is the server that fails: nobody waits for that again and again."""
    try:
        return list(await fetch_many(account, refs))
    except PostroomError as error:
        if not _may_be_of_one(error):
            raise
    found: list[Message | PostroomError | None] = []
    errors: list[PostroomError] = []
    for ref in refs:
        try:
            found.append(await _fetch(account, ref))
        except PostroomError as error:
            found.append(error)
            errors.append(error)
            most = _MOST_FAILED if gives_out_others or len(errors) < len(found) else _MOST_AT_FIRST
            if not _may_be_of_one(error) or len(errors) > most:
                raise
    if len(errors) == len(refs) and not gives_out_others:
        raise errors[0]
    return found


def _may_be_of_one(error: PostroomError) -> bool:
    return isinstance(error, ProviderError | PermissionDenied) and not isinstance(error, NoAnswer)


async def _fetch(account: Account, ref: str) -> Message | None:
    try:
        return await account.mailbox.fetch(ref)
    except NotFound:
        return None
