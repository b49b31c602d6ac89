"""A send that cannot continue now: postponed, or referred to a person with the reason."""

from __future__ import annotations

from postroom.model.errors import AuthRequired, Conflict, PostroomError, RateLimited
from postroom.service.gateway import Account, Gateway
from postroom.store import Send, State
from postroom.store.sends.pauses import Pause
from postroom.store.sends.states import ALLOWED

FIRST_RETRY = 60.0
GIVE_UP_SECONDS = 5 * 86_400.0


async def account_of(gateway: Gateway, send: Send) -> Account | Pause:
    """The send's account, open; or the pause it is in because its login was refused."""
    pause = await gateway.in_thread(gateway.store.pauses.of, send.account)
    if pause is not None and pause.lasts(gateway.store.clock.wall()):
        return pause
    try:
        return await gateway.accounts.open(send.account)
    except AuthRequired as error:
        return await gateway.in_thread(gateway.store.pauses.login_refused, send.account, error.message)


async def rest(gateway: Gateway, send_id: str, error: PostroomError) -> Send:
    """It ran into trouble before it could be tried, such as an account that cannot be opened: it is looked at again
    later, and put before a person when that goes on for days."""
    send = await gateway.in_thread(gateway.store.outbox.get, send_id)
    waits_since = max(send.created_at, send.not_before or 0.0)
    is_ours = not isinstance(error, (Conflict, RateLimited)) and State.NEEDS_HUMAN in ALLOWED[send.state]
    if is_ours and send.attempt == 0 and gateway.store.clock.wall() - waits_since > GIVE_UP_SECONDS:
        return await ask_a_person(gateway, send, error.message)
    return await park(gateway, send, error.retry_after or FIRST_RETRY, error.message)


def was_promised(send: Send) -> bool:
    """Whether somebody was told that it will be sent, and is not waiting for this attempt's result.

    Before a first attempt an outcome holds the reason why the send was put aside.
    """
    waited = send.approval_id or send.not_before or send.attempt > 1 or send.doubtful
    return bool(waited) or send.outcome is not None or send.state in (State.HELD, State.RETRYABLE)


async def ask_a_person(gateway: Gateway, send: Send, reason: str) -> Send:
    """It cannot go on by itself. Its bytes stay until a person has decided."""
    told = {**(send.outcome or {}), "reason": reason}
    return await gateway.in_thread(
        gateway.store.outbox.advance, send.send_id, expect=send.state, to=State.NEEDS_HUMAN, outcome=told
    )


async def park(gateway: Gateway, send: Send, seconds: float, reason: str) -> Send:
    wake_at = gateway.store.clock.wall() + seconds
    await gateway.in_thread(gateway.store.worklist.release, send.send_id, wake_at=wake_at, reason=reason)
    return await gateway.in_thread(gateway.store.outbox.get, send.send_id)
