"""Sending in two steps: a draft is created, compared by the gate, and sent as it is.

Sending consumes the draft. So after a lost response one look is enough: a draft that is still there was not sent, and
the same draft cannot be sent twice. No message is ever sent by any other method; of native actions there is one, which
switches the vacation reply on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from postroom.mime.read.parse import parse_headers
from postroom.mime.write.reply import with_blind_copies
from postroom.model.errors import NotFound, PostroomError, ProviderError
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import Staged, SubmitOutcome, SubmitRequest
from postroom.providers import vacations
from postroom.providers.gmail.mail.drafts import saved_of
from postroom.providers.gmail.mail.reading import decoded
from postroom.providers.gmail.mail.rebuild import headers_of
from postroom.providers.gmail.session.wire import (
    JSON,
    PER_BATCH,
    SENT,
    UNITS,
    object_of,
    text_of,
    texts_of,
)
from postroom.providers.http.unclear import UnclearWrite, nothing_sent, submit_outcome

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.providers.gmail.provider import GmailMailbox
    from postroom.settings.accounts import GmailAccount

# Where Gmail puts the id of a message that it has given another one.
_IDS = ("message-id", "x-google-original-message-id")
_IDS_ONLY = "id,threadId,labelIds,payload/headers"


class GmailTransport:
    """Shares its mailbox's client; closing it closes nothing."""

    def __init__(self, account: GmailAccount, context: ProviderContext, mailbox: GmailMailbox) -> None:
        self._client = mailbox.client
        self._drafts = mailbox.draft_box
        self._reader = mailbox.reader
        self._check_owner = mailbox.check_owner
        self._vacation = mailbox.vacation_reply

    @property
    def native_kinds(self) -> frozenset[NativeKind]:
        return frozenset({"vacation"})

    async def recipients_of(self, action: NativeAction) -> Recipients:
        return vacations.REACHED

    async def check_login(self) -> bool:
        await self._check_owner()
        return True

    async def close(self) -> None:
        pass

    # --- staging

    async def stage(self, request: SubmitRequest) -> str:
        raw = await anyio.to_thread.run_sync(with_blind_copies, request.raw, request.envelope.recipients)
        with nothing_sent():
            return saved_of(await self._drafts.put(request.draft_ref, raw, request.thread_ref)).ref

    async def find_staged(self, request: SubmitRequest) -> str:
        """By its Message-ID: in the search, whose index may lag behind, and among the newest drafts."""
        with nothing_sent():
            for params in ({"q": f"rfc822msgid:{request.message_id.strip('<>')}"}, {}):
                entries, _ = await self._client.listed(
                    "drafts", "drafts", params, units=UNITS["drafts"], most=PER_BATCH
                )
                saved = [saved_of(entry) for entry in entries]
                found = await self._with_id(request.message_id, [one.message_ref for one in saved])
                if refs := [one.ref for one in saved if one.message_ref in found]:
                    return refs[0]
        return ""

    async def staged(self, request: SubmitRequest) -> Staged | None:
        with nothing_sent():
            try:
                found = await self._drafts.read(request.staged_ref, form="raw")
            except NotFound:
                return None
            raw = decoded(text_of(object_of(found.get("message")).get("raw")))
            if not raw:
                raise ProviderError("Gmail returned a draft without its content. Try again later.")
        return await anyio.to_thread.run_sync(_staged, raw)

    async def discard_staged(self, staged_ref: str) -> None:
        """A sent message has another id than the draft it was: only a draft can be removed here."""
        try:
            await self._drafts.delete(staged_ref)
        except NotFound:
            return

    # --- sending

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        if vacations.is_vacation(request.native):
            return await vacations.switch_on(request, self._vacation.start)
        if not request.staged_ref:
            return SubmitOutcome("rejected", reason="Gmail sends drafts only, and no draft was prepared.")
        try:
            sent = await self._client.post("drafts/send", {"id": request.staged_ref}, units=UNITS["draft.send"])
        except PostroomError as error:
            return _gone(error) if isinstance(error, NotFound) else submit_outcome(error)
        if not text_of(sent.get("id")):
            return submit_outcome(UnclearWrite("Gmail", "did not say which message was sent"))
        return _accepted(request, sent)

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        if vacations.is_vacation(request.native):
            return vacations.look(request, await self._vacation.read())
        if request.staged_ref and await self._is_there(request.staged_ref):
            return SubmitOutcome("retryable", reason="The draft is still there: it was not sent.")
        for params in ({"q": f"rfc822msgid:{request.message_id.strip('<>')}"}, {}):
            entries, _ = await self._client.listed(
                "messages", "messages", {**params, "labelIds": [SENT]}, units=UNITS["messages"], most=PER_BATCH
            )
            found = await self._with_id(request.message_id, [text_of(entry.get("id")) for entry in entries])
            for one in found.values():
                if SENT in texts_of(one.get("labelIds")):
                    return _accepted(request, one)
        return SubmitOutcome("unknown", reason="The draft is gone, and no sent message was found. Check Sent in Gmail.")

    async def _is_there(self, staged_ref: str) -> bool:
        try:
            await self._drafts.find(staged_ref)
        except NotFound:
            return False
        return True

    async def _with_id(self, message_id: str, refs: Sequence[str]) -> dict[str, JSON]:
        """Those of the messages that have this Message-ID, or had it before Gmail replaced it."""
        found = await self._reader.messages(refs, form="metadata", fields=_IDS_ONLY)
        return {ref: one for ref, one in zip(refs, found, strict=True) if one is not None and _has_id(one, message_id)}


def _has_id(message: JSON, message_id: str) -> bool:
    headers = headers_of(object_of(message.get("payload")))
    return any(name.lower() in _IDS and value.strip() == message_id for name, value in headers)


def _accepted(request: SubmitRequest, sent: JSON) -> SubmitOutcome:
    return SubmitOutcome(
        "accepted",
        accepted=request.envelope.recipients,
        message_ref=text_of(sent.get("id")),
        thread_ref=text_of(sent.get("threadId")),
    )


def _gone(error: NotFound) -> SubmitOutcome:
    """This request sent nothing, but an earlier one, or a person, may have."""
    return SubmitOutcome("unknown", reason=error.message)


def _staged(raw: bytes) -> Staged:
    mail = parse_headers(raw)
    return Staged(raw, tuple(dict.fromkeys(one.email for one in (*mail.to, *mail.cc, *mail.bcc))))
