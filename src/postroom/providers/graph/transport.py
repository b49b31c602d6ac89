"""Sending: a draft is created, compared by the gate, and sent as it is; or one of Graph's own verbs is called.

A draft keeps its immutable id when it is sent, so one look after a lost response is enough: what is still a draft was
not sent, and cannot be sent twice. 202 with an empty body says that the service took it, and no more; recipients that
it cannot reach come back as messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from postroom.mime.write.reply import with_blind_copies
from postroom.model.address import Address
from postroom.model.errors import NotFound, PostroomError, ProviderError
from postroom.model.folder import Role
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import Staged, SubmitOutcome, SubmitRequest
from postroom.providers import vacations
from postroom.providers.graph import native
from postroom.providers.graph.mail.convert import people
from postroom.providers.graph.posting import logged
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.problems import BAD_RECIPIENTS, has_code
from postroom.providers.graph.session.wire import JSON, objects, text
from postroom.providers.http.unclear import nothing_sent, submit_outcome

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.providers.graph.provider import GraphMailbox
    from postroom.settings.accounts import GraphAccount

_ADDRESSED = "id,isDraft,parentFolderId,toRecipients,ccRecipients,bccRecipients"
_KEPT = "The message was accepted, but a copy of it stays in Sent Items."
_GONE = "The draft that was to be sent is gone: somebody sent or deleted it. Check Sent Items."


class GraphTransport:
    """Shares its mailbox's client; closing it closes nothing."""

    def __init__(self, account: GraphAccount, context: ProviderContext, mailbox: GraphMailbox) -> None:
        self._mailbox = mailbox
        self._client = mailbox.client
        self._drafts = mailbox.draft_box

    @property
    def native_kinds(self) -> frozenset[NativeKind]:
        return native.KINDS

    async def recipients_of(self, action: NativeAction) -> Recipients:
        return await native.reached(self._client, action, self._mailbox.own)

    async def check_login(self) -> bool:
        await self._mailbox.check_login()
        return True

    async def close(self) -> None:
        pass

    # Staging

    async def stage(self, request: SubmitRequest) -> str:
        raw = await anyio.to_thread.run_sync(with_blind_copies, request.raw, request.envelope.recipients)
        with nothing_sent():
            return (await self._drafts.create(raw)).ref

    async def find_staged(self, request: SubmitRequest) -> str:
        with nothing_sent():
            found = await self._with_message_id(request.message_id)
        return next((text(one.get("id")) for one in found if one.get("isDraft") is True), "")

    async def staged(self, request: SubmitRequest) -> Staged | None:
        with nothing_sent():
            found = await self._look(request.staged_ref)
            if found is None or found.get("isDraft") is not True or await self._drafts.is_thrown_away(found):
                return None
            try:
                raw = await self._mailbox.fetch_raw(request.staged_ref)
            except NotFound:
                return None
        fields = ("toRecipients", "ccRecipients", "bccRecipients")
        everyone = [one.email for name in fields for one in people(found.get(name))]
        return Staged(raw, tuple(dict.fromkeys(everyone)))

    async def discard_staged(self, staged_ref: str) -> None:
        """Only a draft: the sent message has the same ref."""
        found = await self._look(staged_ref)
        if found is not None and found.get("isDraft") is True:
            try:
                await self._drafts.remove(staged_ref)
            except NotFound:
                return

    # Sending

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        if vacations.is_vacation(request.native):
            return await vacations.switch_on(request, self._mailbox.vacation_reply.start)
        if request.native is not None:
            return await self._act(request, request.native)
        if not request.staged_ref:
            return SubmitOutcome("rejected", reason="Microsoft sends drafts only, and no draft was prepared.")
        try:
            await self._client.act(wire.message(request.staged_ref, "send"))
        except NotFound:
            return SubmitOutcome("unknown", reason=_GONE)
        except PostroomError as error:
            return _refused(request, error)
        return _accepted(request, await self._tidied(request))

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        """A draft that is there was not sent; a message that is there and is no draft was."""
        if vacations.is_vacation(request.native):
            return vacations.look(request, await self._mailbox.vacation_reply.read())
        if request.native is not None:
            return SubmitOutcome("unknown", reason="Microsoft gives no evidence of what it composed. Check Sent Items.")
        found = [one] if (one := await self._look(request.staged_ref)) else []
        found = found or await self._with_message_id(request.message_id)
        if any(one.get("isDraft") is False for one in found):
            return _accepted(request, await self._tidied(request))
        if any(text(one.get("id")) == request.staged_ref for one in found):
            return SubmitOutcome("retryable", reason="The draft is still there: it was not sent.")
        return SubmitOutcome("unknown", reason="Neither the draft nor a sent message was found. Check Sent Items.")

    async def _act(self, request: SubmitRequest, action: NativeAction) -> SubmitOutcome:
        if action.kind != "send" and not wire.is_ref(action.original_ref):
            return SubmitOutcome("rejected", reason="The original message no longer exists.")
        content = native.body_of(action, save_to_sent=request.save_to_sent)
        try:
            with logged(action, self._client.place + native.endpoint_of(action)):
                await self._client.act(native.path_of(action), content)
        except NotFound as error:
            return SubmitOutcome("rejected", reason="The original message no longer exists.", error=error)
        except PostroomError as error:
            return _refused(request, error)
        return _accepted(request)

    async def _tidied(self, request: SubmitRequest) -> tuple[str, ...]:
        return (*await self._cleared(request), *(() if request.save_to_sent else await self._without_copy(request)))

    async def _without_copy(self, request: SubmitRequest) -> tuple[str, ...]:
        """A draft that is sent is always kept. Removed only once it is among the sent: before that it is being sent."""
        try:
            found = await self._look(request.staged_ref)
            if found is None:
                return ()
            is_sent = found.get("parentFolderId") == await self._mailbox.directory.ref_of(Role.SENT)
            if found.get("isDraft") is False and is_sent:
                await self._drafts.remove(request.staged_ref)
                return ()
        except PostroomError:
            return (_KEPT,)
        return (_KEPT,)

    async def _cleared(self, request: SubmitRequest) -> tuple[str, ...]:
        """After sending: the draft that a person had saved, unless it is the one that was sent."""
        if not request.draft_ref or request.draft_ref == request.staged_ref:
            return ()
        try:
            found = await self._look(request.draft_ref)
            if found is not None and found.get("isDraft") is True:
                await self._drafts.remove(request.draft_ref)
        except PostroomError:
            return ("The message was accepted, but its draft could not be removed.",)
        return ()

    async def _look(self, ref: str) -> JSON | None:
        if not wire.is_ref(ref):
            return None
        try:
            found = await self._client.get(wire.message(ref), {"$select": _ADDRESSED})
        except NotFound:
            return None
        if not isinstance(found.get("isDraft"), bool):
            raise ProviderError("Microsoft returned a message without its properties. Try again later.")
        return found

    async def _with_message_id(self, message_id: str) -> list[JSON]:
        if not message_id:
            return []
        given = f"internetMessageId eq {wire.literal(message_id)}"
        found = await self._client.get("/messages", {"$filter": given, "$select": "id,isDraft,from"})
        return objects(found.get("value"))


def _accepted(request: SubmitRequest, warnings: tuple[str, ...] = ()) -> SubmitOutcome:
    return SubmitOutcome(
        "accepted",
        accepted=request.envelope.recipients,
        message_ref=request.staged_ref,
        thread_ref=request.thread_ref,
        warnings=warnings,
    )


def _refused(request: SubmitRequest, error: PostroomError) -> SubmitOutcome:
    """Which recipients are invalid the service says in its text only; without a name it may be any of them."""
    outcome = submit_outcome(error)
    if not has_code(error, BAD_RECIPIENTS):
        return outcome
    named = {Address(one).key for one in error.details.get("recipients", ())}
    sent_to = request.envelope.recipients
    refused = [one for one in sent_to if Address(one).key in named] or list(sent_to)
    reason = "Microsoft does not accept this address."
    return SubmitOutcome("rejected", refused=dict.fromkeys(refused, reason), reason=outcome.reason, error=error)
