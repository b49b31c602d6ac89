"""A draft that was sent off and has not left (scheduled, held, waiting for approval) stays as it is and where it is.

What leaves is the draft as it was when it was sent off, and the draft goes with it: a change would be lost.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager

from postroom.model.errors import Conflict
from postroom.service.gateway import Gateway
from postroom.store import Send


def unchanging(gateway: Gateway, account: str, draft_ref: str) -> AbstractAsyncContextManager[None]:
    """For the last look at a draft and what rests on it, its change or its reservation: not both at once."""
    return gateway.one_at_a_time(f"saved draft {account} {draft_ref}")


async def check_unlocked(gateway: Gateway, account: str, draft_ref: str, named: str) -> None:
    """Conflict when the draft is on its way. `named` is how the caller knows it."""
    send = await gateway.in_thread(gateway.store.outbox.of_draft, account, draft_ref)
    if send is not None:
        raise locked(send, named)


async def locks_among(gateway: Gateway, account: str, refs: Collection[str]) -> dict[str, Send]:
    """The mails that are drafts on their way, each with its send. A draft's ref is that of the mail inside it with
    every provider there is."""
    return await gateway.in_thread(gateway.store.outbox.of_drafts, account, refs)


def locked(send: Send, named: str) -> Conflict:
    return Conflict(
        f"{named} is in the outbox as {send.send_id} ({send.state.value}) and is sent as it was then. Call "
        "cancel_send first to change, move or delete it.",
        reason="draft_on_its_way",
        details={"send_id": send.send_id, "state": send.state.value},
    )
