"""The earlier text of a thread, so that quoted copies of it can be distinguished from new text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from postroom.model.errors import PostroomError
from postroom.model.message import Envelope, Message
from postroom.service.gateway import Account

_MAX_PEOPLE = 50
_MAX_IDS = 4  # of a message's ancestors that are looked for: mostly the first is there


async def find_answered(account: Account, envelope: Envelope) -> Message | None:
    """The nearest message that this one answers, as far as the mailbox has it. None where nobody could look: nothing is
    a copy then, and all of a message is shown.

    One search and one fetch at most, so that reading a message stays cheap where the mailbox is far away.
    """
    if account.id_lookup is None:
        return None
    ids = answered_ids(envelope)
    with suppress(PostroomError):
        if account.at_hand is not None:
            found = await account.at_hand.fetch_with_ids(ids, partial(nearest, envelope))
            if found is not None:
                return found[0]
        answered = nearest(envelope, await account.id_lookup.mails_with_ids(ids, near=envelope.ref))
        return None if answered is None else await account.mailbox.fetch(answered.ref)
    return None


def names_of(envelope: Envelope) -> list[str]:
    """Of who wrote it and who got it: what a line above a quote of it may name."""
    people = (envelope.sender, *envelope.to[:_MAX_PEOPLE], *envelope.cc[:_MAX_PEOPLE])
    return [part for person in people for part in (person.name, person.email)]


def answered_ids(envelope: Envelope) -> list[str]:
    """The nearest first, the message's own left out."""
    ids = dict.fromkeys(filter(None, (envelope.in_reply_to, *reversed(envelope.references[-_MAX_IDS:]))))
    return [message_id for message_id in ids if message_id != envelope.message_id][:_MAX_IDS]


def nearest(envelope: Envelope, found: Sequence[Envelope]) -> Envelope | None:
    """Only an older message: two messages that name each other would otherwise each pass for a copy of the other."""
    return nearest_of_each([envelope], found).get(envelope.ref)


def nearest_of_each(envelopes: Sequence[Envelope], found: Sequence[Envelope]) -> dict[str, Envelope]:
    """As `nearest`, by the ref of the message that answers, without a look at all of them for each of them."""
    by_id: dict[str, list[Envelope]] = {}
    for other in found:
        by_id.setdefault(other.message_id, []).append(other)
    answered = {}
    for envelope in envelopes:
        named = (other for message_id in answered_ids(envelope) for other in by_id.get(message_id, ()))
        if older := next((other for other in named if _is_before(other, envelope)), None):
            answered[envelope.ref] = older
    return answered


def _is_before(other: Envelope, envelope: Envelope) -> bool:
    return other.date is not None and envelope.date is not None and other.date < envelope.date
