"""The messages of a thread: as the provider knows them, or found by subject and distinguished by the ids they name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from postroom.mime.quotes.subjects import bare_subject
from postroom.model.errors import NotFound, PostroomError
from postroom.model.message import Envelope, Message
from postroom.model.query.tree import Query, Subject
from postroom.model.words import words
from postroom.service.gateway import Account
from postroom.service.reading.fetching import fetch_each, fetch_many

_LOOKED_AT = 50  # messages of one subject, newest first
_UNDATED = datetime.max.replace(tzinfo=UTC)


async def thread_of(account: Account, thread_ref: str) -> list[Envelope]:
    """Oldest first. NotFound when nothing of it is left."""
    if account.capabilities.has_threading:
        return await account.threads.thread(thread_ref)
    (asked,) = await fetch_many(account, [thread_ref])  # the ref of a message, where there are no threads
    if asked is None:
        raise NotFound("No message of this thread is left. List or search again.")
    mails = {asked.envelope.ref: asked.envelope}
    same_subject, unreadable = await _of_same_subject(account, asked.envelope)
    mails.update((mail.ref, mail) for mail in same_subject)
    related = _linked_to(asked.envelope, mails.values())
    ordered = sorted([*related, *unreadable], key=lambda mail: mail.date or _UNDATED)
    return [replace(mail, thread_ref=thread_ref) for mail in ordered]


async def _of_same_subject(account: Account, envelope: Envelope) -> tuple[list[Envelope], list[Envelope]]:
    """Opened, since a list need not tell which messages each of them names; and those few that the server does not give
    out: they may belong to it."""
    subject = bare_subject(envelope.subject)
    if not words(subject):
        return [], []
    page = await account.mailbox.search(Query(Subject(subject, phrase=True)), limit=_LOOKED_AT, offset=0)
    others = [mail for mail in page.items if mail.ref != envelope.ref]
    found = await fetch_each(account, [mail.ref for mail in others], gives_out_others=True)
    opened = [one.envelope for one in found if isinstance(one, Message)]
    failed = [mail for mail, one in zip(others, found, strict=True) if isinstance(one, PostroomError)]
    return opened, [mail for mail in failed if bare_subject(mail.subject) == subject]


def _linked_to(first: Envelope, mails: Iterable[Envelope]) -> list[Envelope]:
    """Those that name each other, by however many steps: a like subject alone makes no thread."""
    related, left = [first], [mail for mail in mails if mail.ref != first.ref]
    ids = _ids(first)
    while joining := [mail for mail in left if ids & _ids(mail)]:
        related += joining
        left = [mail for mail in left if mail not in joining]
        ids = ids.union(*map(_ids, joining))
    return related


def _ids(mail: Envelope) -> set[str]:
    return {link for link in (mail.message_id, mail.in_reply_to, *mail.references) if link}
