"""Sending: the message is put into Drafts, compared, and submitted from there (EmailSubmission, RFC 8621, 7).

Which recipients get it is said in the submission's envelope, never read from the message. The copy moves to Sent in the
same request, and only if the server took the submission; so a copy that has left Drafts, or a submission that names
it, is evidence that it was sent. Their absence proves nothing: a server may have handed the message on and lost the
connection to its own mail exchange before it could note that.

Error types are not trusted either. Cyrus 3.6 calls a refused recipient `tooManyRecipients`, "try again later"
`forbiddenToSend`, and a cut connection `smtpProtocolError`. Certain is only what a server must check before it sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from postroom.mime.read.parse import parse_headers
from postroom.model.errors import (
    InvalidRequest,
    NotFound,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    Unsupported,
)
from postroom.model.folder import Role
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import Staged, SubmitOutcome, SubmitRequest
from postroom.providers import vacations
from postroom.providers.http.unclear import UnclearWrite, submit_outcome
from postroom.providers.jmap import convert, submissions
from postroom.providers.jmap.convert import MARKS, Email
from postroom.providers.jmap.reading import listed
from postroom.providers.jmap.wire import DRAFT, PROVIDER, SEEN, STAGED, SUBMISSION, set_error

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.providers.jmap.provider import JmapMailbox
    from postroom.settings.accounts import JmapAccount

_LOOKED_AT = 200  # messages in Drafts and Sent, newest first
_TRIES = 3  # of a request that the server refused because something else had changed


class JmapTransport:
    """Transport, Staging and NativeActions, over the connection of its mailbox; closing it closes nothing."""

    def __init__(self, account: JmapAccount, context: ProviderContext, mailbox: JmapMailbox) -> None:
        self._mailbox = mailbox
        self._client = mailbox.client

    @property
    def native_kinds(self) -> frozenset[NativeKind]:
        return frozenset({"vacation"})

    async def recipients_of(self, action: NativeAction) -> Recipients:
        return vacations.REACHED

    async def close(self) -> None:
        pass

    async def check_login(self) -> bool:
        await self._require_submission()
        return True

    # Staging

    async def stage(self, request: SubmitRequest) -> str:
        await self._require_submission()
        if parse_headers(request.raw).bcc:
            raise InvalidRequest("The message still has a Bcc header; nothing was sent.")
        try:
            return (await self._mailbox.drafts.create(request.raw, STAGED)).ref
        except UnclearWrite as unclear:
            if found := await self.find_staged(request):
                return found
            raise ProviderUnavailable(unclear.message) from unclear  # looked for again before it is staged again

    async def find_staged(self, request: SubmitRequest) -> str:
        found = await self._with_message_id(Role.DRAFTS, request.message_id)
        return next((str(email["id"]) for email in found if convert.has_keyword(email, STAGED)), "")

    async def staged(self, request: SubmitRequest) -> Staged | None:
        email = await self._unsent(request.staged_ref)
        if email is None:
            return None
        return Staged(await self._mailbox.reader.raw_of(email), request.envelope.recipients)

    async def discard_staged(self, staged_ref: str) -> None:
        """Only while the server's messages are as they were when it was seen to be unsent."""
        for _ in range(_TRIES):
            call = ("Email/get", {"ids": [staged_ref], "properties": MARKS})
            reply = (await self._client.read(call))[0]
            email = listed(reply).get(staged_ref)
            if email is None or await self._unsent(staged_ref) is None:
                return
            destroy = {"ifInState": reply.get("state"), "destroy": [staged_ref]}
            try:
                done = (await self._client.write(("Email/set", destroy)))[0]
            except PostroomError as error:
                if error.details.get("type") == "stateMismatch":
                    continue
                raise
            refusal = set_error((done.get("notDestroyed") or {}).get(staged_ref))
            if staged_ref in (done.get("destroyed") or ()) or isinstance(refusal, NotFound):
                return
            raise refusal
        raise submissions.busy()

    # Sending

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        await self._require_submission()
        if vacations.is_vacation(request.native):
            return await vacations.switch_on(request, self._mailbox.vacation_reply.start)
        try:
            identity = await self._mailbox.senders.id_for(request.envelope.sender)
            filing = await self._filing(request)
        except PostroomError as error:
            return submit_outcome(error)
        if not identity:
            reason = "The mail server has no identity with the sender's address, so it would not send as that."
            return SubmitOutcome("rejected", reason=reason)
        after = {"onSuccessUpdateEmail": {"#send": filing}} if filing else {"onSuccessDestroyEmail": ["#send"]}
        outcome = SubmitOutcome("retryable", reason=submissions.BUSY)
        for _ in range(_TRIES):
            outcome, again = await self._submitted(request, identity, after)
            if not again:
                break
        return await self._finished(request, outcome)

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        """Accepted only with evidence, and never "not sent" without it."""
        if vacations.is_vacation(request.native):
            return vacations.look(request, await self._mailbox.vacation_reply.read())
        if request.staged_ref and (known := await submissions.of_email(self._client, request.staged_ref)):
            return await self._finished(request, submissions.accepted(request, known[-1]))
        copies = await self._with_message_id(Role.SENT, request.message_id)
        if any(not convert.has_keyword(email, DRAFT) for email in copies):
            return await self._finished(request, submissions.accepted(request, {}))
        return SubmitOutcome("unknown", reason="The mail server shows no sign of having sent it; it still may have.")

    async def _submitted(
        self, request: SubmitRequest, identity: str, after: Mapping[str, Any]
    ) -> tuple[SubmitOutcome, bool]:
        """The outcome, and whether nothing happened because of something else that changed at the same time."""
        try:
            state = await submissions.state(self._client)
            if await self._unsent(request.staged_ref) is None:
                return SubmitOutcome("unknown", reason="What was staged is gone or was sent by somebody else."), False
        except PostroomError as error:
            return submit_outcome(error), False
        wanted = {"identityId": identity, "emailId": request.staged_ref, "envelope": submissions.envelope(request)}
        call = ("EmailSubmission/set", {"ifInState": state, "create": {"send": wanted}, **after})
        try:
            replies = await self._client.write(call)
            reply = replies[0]
        except PostroomError as error:
            return submissions.outcome_of(error), error.details.get("type") == "stateMismatch"
        made = (reply.get("created") or {}).get("send")
        if isinstance(made, dict):
            return submissions.accepted(request, made), False
        refusal = (reply.get("notCreated") or {}).get("send")
        return submissions.refused(request, refusal), False

    async def _filing(self, request: SubmitRequest) -> dict[str, Any] | None:
        """The change that makes the staged message a sent one; None where no copy is kept."""
        sent = await self._mailbox.directory.role(Role.SENT) if request.save_to_sent else None
        return {"mailboxIds": {sent.ref: True}, "keywords": {SEEN: True}} if sent else None

    async def _finished(self, request: SubmitRequest, outcome: SubmitOutcome) -> SubmitOutcome:
        """The message has been sent: any failure from here on is a warning."""
        if outcome.state != "accepted":
            return outcome
        ref, thread_ref, warnings = "", outcome.thread_ref, list(outcome.warnings)
        try:
            email = await self._filed(request)
            ref, thread_ref = (str(email["id"]), str(email.get("threadId") or "")) if email else ("", thread_ref)
            if email is None and request.save_to_sent and request.staged_ref:
                warnings.append("The message was accepted, but no copy could be saved in Sent.")
        except PostroomError:
            warnings.append("The message was accepted, but it may still be in Drafts. Delete it there.")
        if request.draft_ref and request.draft_ref != request.staged_ref:
            try:
                await self._mailbox.drafts.delete(request.draft_ref)
            except NotFound:
                pass
            except PostroomError:
                warnings.append("The message was accepted, but its draft could not be removed.")
        return replace(outcome, message_ref=ref, thread_ref=thread_ref, warnings=tuple(warnings))

    async def _filed(self, request: SubmitRequest) -> Email | None:
        """The copy that is kept. Where the server has not made it a sent one by itself, it is done here: nobody is to
        find a sent message among the drafts."""
        reader = self._mailbox.reader
        email = (await reader.emails([request.staged_ref])).get(request.staged_ref)
        if email is None or not convert.has_keyword(email, DRAFT):
            return email
        change = await self._filing(request)
        call = {"update": {request.staged_ref: change}} if change else {"destroy": [request.staged_ref]}
        await self._client.write(("Email/set", call))
        email = (await reader.emails([request.staged_ref])).get(request.staged_ref)
        if email is not None and convert.has_keyword(email, DRAFT):
            raise ProviderError("The mail server does not change the message that it has sent.")
        return email

    async def _unsent(self, ref: str) -> Email | None:
        """The staged message while it is a draft and no submission names it."""
        email = (await self._mailbox.reader.emails([ref])).get(ref)
        if email is None or not convert.has_keyword(email, DRAFT) or not await self._mailbox.drafts.is_draft(email):
            return None
        return None if await submissions.of_email(self._client, ref) else email

    async def _with_message_id(self, role: Role, message_id: str) -> Sequence[Email]:
        """By looking at the newest messages: a search may lag behind."""
        folder = await self._mailbox.directory.role(role)
        if folder is None:
            return []
        reader = self._mailbox.reader
        newest = await reader.found({"inMailbox": folder.ref}, _LOOKED_AT)
        emails = await reader.emails(newest, [*MARKS, "messageId"])
        wanted = message_id.strip("<>")
        return [email for email in emails.values() if wanted in (email.get("messageId") or ())]

    async def _require_submission(self) -> None:
        if SUBMISSION not in (await self._client.session()).offers:
            raise Unsupported(PROVIDER, "sending")
