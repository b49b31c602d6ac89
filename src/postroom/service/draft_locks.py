"""A draft that was sent off and has not left (scheduled, held, waiting for approval) stays as it is and where it is.

What leaves is the draft as it was when it was sent off, and the draft goes with it: a change would be lost.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio

from postroom.model.errors import Conflict, PostroomError
from postroom.service.gateway import Gateway
from postroom.store import Send
from postroom.store.sends.drafts import in_hand


@asynccontextmanager
async def unchanging(gateway: Gateway, account: str, draft_ref: str, named: str = "This draft") -> AsyncIterator[None]:
    """For the last look at a draft and what rests on it, its change or its reservation: not both at once. Calls of one
    process wait for each other; Conflict where another process has the draft in hand."""
    async with unchanging_among(gateway, account, [draft_ref]) as busy:
        if busy:
            raise in_hand(named)
        yield


@asynccontextmanager
async def unchanging_among(gateway: Gateway, account: str, refs: Collection[str]) -> AsyncIterator[frozenset[str]]:
    """The same for several, with those of them that another process has in hand."""
    if not refs:
        yield frozenset()
        return
    async with AsyncExitStack() as turns:
        for ref in sorted(set(refs)):  # in one order, so that no two calls wait for each other
            await turns.enter_async_context(gateway.one_at_a_time(f"saved draft {account} {ref}"))
        try:
            yield await gateway.in_thread(gateway.store.draft_holds.take, account, refs)
        finally:
            with anyio.CancelScope(shield=True), suppress(PostroomError):  # what was done is done; dropped next time
                await gateway.in_thread(gateway.store.draft_holds.drop, account, refs)


async def check_unlocked(gateway: Gateway, account: str, draft_ref: str, named: str) -> None:
    """Conflict when the draft is on its way. `named` is how the caller knows it."""
    send = await gateway.in_thread(gateway.store.outbox.of_draft, account, draft_ref)
    if send is not None:
        raise locked(send, named)


async def locks_among(gateway: Gateway, account: str, refs: Collection[str]) -> dict[str, Send]:
    """Those of the drafts that are on their way, each with its send."""
    return await gateway.in_thread(gateway.store.outbox.of_drafts, account, refs)


def locked(send: Send, named: str) -> Conflict:
    return Conflict(
        f"{named} is in the outbox as {send.send_id} ({send.state.value}) and will be sent as it was then. Call "
        "cancel_send first to change, move or delete it.",
        reason="draft_on_its_way",
        details={"send_id": send.send_id, "state": send.state.value},
    )
