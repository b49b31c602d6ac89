"""Sending between the local accounts of one gateway.

Each recipient's copy is one transaction in that recipient's file, recorded there under the attempt's id; the copy in
Sent comes last. If this is interrupted, repeating the same attempt completes it and repeats nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from postroom.index.database import Database
from postroom.model.errors import PostroomError
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers.context import ProviderContext
from postroom.providers.local import delivery
from postroom.providers.local.convert import NewMail, prepare

if TYPE_CHECKING:
    from postroom.providers.local.provider import LocalMailbox
    from postroom.settings import LocalAccount

_STRANGER = "no local mailbox"


class LocalTransport:
    """Shares its mailbox's files; closing it closes nothing."""

    def __init__(self, account: LocalAccount, context: ProviderContext, mailbox: LocalMailbox) -> None:
        self._neighbourhood = mailbox.neighbourhood
        self._senders = anyio.CapacityLimiter(4)

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        """All recipients or none: if one has no local mailbox, the whole message is rejected."""
        return await anyio.to_thread.run_sync(_answered, self._submit, request, limiter=self._senders)

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        return await anyio.to_thread.run_sync(_answered, self._reconcile, request, limiter=self._senders)

    async def close(self) -> None:
        pass

    def _submit(self, request: SubmitRequest) -> SubmitOutcome:
        mailboxes, refused = self._mailboxes(request)
        if refused or not mailboxes:
            return SubmitOutcome("rejected", refused=refused, reason="Nothing was delivered.")
        mail = prepare(NewMail(delivery.without_bcc(request.raw)))
        for database, recipients in mailboxes.items():
            with database.transaction() as connection:
                delivery.deliver(connection, request.attempt_id, recipients, mail)
        with self._neighbourhood.own.transaction() as connection:
            delivery.file_sent(connection, request)
        if self._neighbourhood.is_demo:
            self._take_answer(request)
        return self._accepted(request)

    def _take_answer(self, request: SubmitRequest) -> None:
        """The demo's other people answer, once per message. If that fails, the message is still sent."""
        from postroom.providers.local.sample.answering import answer_to

        answer = answer_to(request.raw, request.envelope.recipients)
        if answer is not None:
            with suppress(PostroomError), self._neighbourhood.own.transaction() as connection:
                delivery.deliver(connection, request.attempt_id, [delivery.DEMO_ANSWER], prepare(NewMail(answer)))

    def _reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        mailboxes, _ = self._mailboxes(request)
        reached = {name for box, names in mailboxes.items() for name in names if _is_noted(box, request, name)}
        everyone = {name for names in mailboxes.values() for name in names}
        if everyone and reached == everyone and _is_noted(self._neighbourhood.own, request, delivery.SENT_COPY):
            return self._accepted(request)
        reason = "It was partly delivered; sending it again completes it." if reached else "It was not delivered."
        accepted = tuple(name for name in request.envelope.recipients if name.casefold() in reached)
        return SubmitOutcome("retryable", accepted=accepted, reason=reason)

    def _mailboxes(self, request: SubmitRequest) -> tuple[dict[Database, list[str]], dict[str, str]]:
        """Who gets it where, and who has no mailbox here."""
        mailboxes: dict[Database, list[str]] = {}
        refused: dict[str, str] = {}
        for recipient in request.envelope.recipients:
            database = self._neighbourhood.mailbox_of(recipient)
            if database is None:
                refused[recipient] = _STRANGER
            else:
                mailboxes.setdefault(database, []).append(recipient.casefold())
        return mailboxes, refused

    def _accepted(self, request: SubmitRequest) -> SubmitOutcome:
        with self._neighbourhood.own.snapshot() as connection:
            ref, thread_ref = delivery.sent_copy(connection, request.attempt_id)
        return SubmitOutcome("accepted", accepted=request.envelope.recipients, message_ref=ref, thread_ref=thread_ref)


def _is_noted(database: Database, request: SubmitRequest, recipient: str) -> bool:
    with database.snapshot() as connection:
        return delivery.delivered(connection, request.attempt_id, recipient)


def _answered(step: Callable[[SubmitRequest], SubmitOutcome], request: SubmitRequest) -> SubmitOutcome:
    """A locked, full or damaged file leaves nothing unknown: deliveries are recorded, so trying again is safe."""
    try:
        return step(request)
    except PostroomError as error:
        return SubmitOutcome("retryable", reason=error.message, retry_after=error.retry_after)
