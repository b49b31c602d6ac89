"""A thread with its messages: in one look where they are at hand, else step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from postroom.model.errors import PostroomError
from postroom.model.message import Body, Envelope, Message
from postroom.service.gateway import Account
from postroom.service.reading.fetching import fetch_each
from postroom.service.reading.history import nearest_of_each
from postroom.service.reading.threads import thread_of


async def open_thread(account: Account, thread_ref: str, limit: int) -> tuple[list[Envelope], dict[str, Message]]:
    """All of it, oldest first, with the newest `limit` messages and those that they answer, by ref. One over which the
    server fails is shown without its text, and says why. NotFound when nothing of it is left."""
    choose = partial(_wanted, limit)
    at_hand = await _at_hand(account, thread_ref, choose)
    envelopes, messages = at_hand or (await thread_of(account, thread_ref), {})
    missing = [one for one in choose(envelopes) if one.ref not in messages]
    found = await fetch_each(account, [one.ref for one in missing]) if missing else []
    opened = {one.ref: _as_shown(one, answer) for one, answer in zip(missing, found, strict=True) if answer is not None}
    return envelopes, messages | opened


def _as_shown(envelope: Envelope, answer: Message | PostroomError) -> Message:
    if isinstance(answer, Message):
        return answer
    return Message(envelope, Body(), defects=(f"The mail server does not return this message: {answer.message}",))


async def _at_hand(
    account: Account, thread_ref: str, choose: Callable[[Sequence[Envelope]], Sequence[Envelope]]
) -> tuple[list[Envelope], dict[str, Message]] | None:
    if account.capabilities.has_threading and account.at_hand is not None:
        return await account.at_hand.fetch_thread(thread_ref, choose)
    return None


def _wanted(limit: int, envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Each once; what is answered may be older than the messages that are shown."""
    shown = envelopes[-limit:]
    wanted = (*shown, *nearest_of_each(shown, envelopes).values())
    return list({one.ref: one for one in wanted}.values())
