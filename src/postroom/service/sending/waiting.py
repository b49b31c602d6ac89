"""A send that cannot continue now: postponed, or referred to a person with the reason."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from itertools import takewhile
from typing import TypeVar

from postroom.model.errors import AuthRequired, Conflict, PostroomError, ProviderUnavailable
from postroom.service.gateway import Account, Gateway
from postroom.store import Send, State
from postroom.store.sends.pauses import Pause
from postroom.store.sends.states import ALLOWED

R = TypeVar("R")
log = logging.getLogger("postroom.outbox")
FIRST_RETRY = 60.0
GIVE_UP_SECONDS = 5 * 86_400.0
_NO_ANSWER = "The provider did not respond, or not in a way that can be understood."


class NotNow(Exception):
    """The provider cannot be asked for the time being. Apart from failures of our own state file, which mean more."""

    def __init__(self, reason: PostroomError) -> None:
        self.reason = reason


async def answered(call: Awaitable[R]) -> R:
    """Ahead of a submission. A lost response counts as none: nothing was sent, so it is tried again later."""
    try:
        return await call
    except PostroomError as error:
        if error.retryable or isinstance(error, AuthRequired):
            raise NotNow(error) from error
        raise
    except Exception as error:
        log.warning("provider_unclear", extra={"error_type": type(error).__name__})
        raise NotNow(ProviderUnavailable(_NO_ANSWER)) from error


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
    may_stop = send.state is not State.SENDING and State.NEEDS_HUMAN in ALLOWED[send.state]
    is_held_up = isinstance(error, Conflict) or error.reason == "send_limit"  # by another process, or by a full hour
    if may_stop and not is_held_up and await has_waited_long(gateway, send):
        return await ask_a_person(gateway, send, error.message)
    return await park(gateway, send, error.retry_after or FIRST_RETRY, error.message)


async def has_waited_long(gateway: Gateway, send: Send) -> bool:
    """Whether it has been tried for days, or should have been; since a person last had it sent again."""
    events = await gateway.in_thread(gateway.store.outbox.events, send.send_id)
    lately = list(takewhile(lambda event: event.state is not State.NEEDS_HUMAN, reversed(events)))
    tried = [event.at for event in lately if event.state is State.SENDING]
    due = lately[-1].at if len(lately) < len(events) else max(send.created_at, send.not_before or 0.0)
    return gateway.store.clock.wall() - (tried[-1] if tried else due) >= GIVE_UP_SECONDS


def was_promised(send: Send) -> bool:
    """Whether somebody was told that it will be sent, and is not waiting for this attempt's result.

    Before a first attempt an outcome holds the reason why the send was put aside.
    """
    waited = send.approval_id or send.not_before or send.attempt > 1 or send.doubtful
    return bool(waited) or send.outcome is not None or send.state in (State.HELD, State.RETRYABLE)


async def was_decided(gateway: Gateway, send: Send) -> bool:
    """Only a person takes a send out of this state."""
    events = await gateway.in_thread(gateway.store.outbox.events, send.send_id)
    return any(event.state is State.NEEDS_HUMAN for event in events)


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
