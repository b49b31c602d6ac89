"""Submission over SMTP: all recipients or none, and an honest outcome.

The one irreversible moment is the dot that ends DATA. After a failure before it, the message was provably not accepted;
once it is sent, a lost reply means that the outcome is unknown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from postroom.model.errors import (
    AuthRequired,
    NotFound,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    Unsupported,
)
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers import vacations
from postroom.providers.imap.smtp import dialogue
from postroom.providers.imap.smtp.answers import Answer, Ended

if TYPE_CHECKING:
    from postroom.providers.context import ProviderContext
    from postroom.providers.imap.provider import ImapMailbox
    from postroom.settings.accounts import ImapAccount

# These file submitted messages in Sent themselves; our copy would be a duplicate.
_FILING_HOSTS = ("smtp.gmail.com", "smtp.googlemail.com", "smtp.office365.com", "smtp-mail.outlook.com")


class SmtpTransport:
    """A new connection per message: sending is rare, and an idle one would be closed by the next."""

    def __init__(self, account: ImapAccount, context: ProviderContext, mailbox: ImapMailbox) -> None:
        self._account = account
        self._mailbox = mailbox

    @property
    def native_kinds(self) -> frozenset[NativeKind]:
        return frozenset({"vacation"})

    async def recipients_of(self, action: NativeAction) -> Recipients:
        return vacations.REACHED

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        """Never raises once connected: every way it can end is an outcome."""
        if not self._account.smtp_host:
            raise Unsupported("imap", "sending (smtp_host is not set)")
        if vacations.is_vacation(request.native):
            return await vacations.switch_on(request, self._mailbox.script.start_vacation)
        outcome = _outcome(request, await dialogue.submit(self._account, request, self._mailbox.credentials))
        return await self._settled(request, outcome) if outcome.state == "accepted" else outcome

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        """A copy in Sent is only ever filed after acceptance. Its absence proves nothing."""
        if vacations.is_vacation(request.native):
            return vacations.look(request, await self._mailbox.script.vacation())
        try:
            ref = await self._mailbox.find_sent(request.message_id)
        except NotFound:
            return SubmitOutcome("unknown", reason="There is no Sent folder to check whether it was sent.")
        if not ref:
            return SubmitOutcome("unknown", reason="Sent has no copy; the server may or may not have accepted it.")
        return SubmitOutcome("accepted", request.envelope.recipients, message_ref=ref, thread_ref=_thread_of(request))

    async def check_login(self) -> bool:
        if not self._account.smtp_host:
            raise Unsupported("imap", "sending (smtp_host is not set)")
        try:
            return await dialogue.log_in_only(self._account, self._mailbox.credentials)
        except Ended as ended:
            raise _as_error(ended.answer) from None

    async def close(self) -> None:
        """Nothing stays open between two messages."""

    async def _settled(self, request: SubmitRequest, outcome: SubmitOutcome) -> SubmitOutcome:
        """The message has been sent: any failure from here on is a warning."""
        warnings: list[str] = []
        ref = ""
        if request.save_to_sent and self._account.smtp_host.casefold() not in _FILING_HOSTS:
            try:
                ref = await self._mailbox.file_sent(request.raw, request.message_id)
            except Exception:  # noqa: BLE001
                warnings.append("The message was accepted, but no copy could be saved in Sent.")
        if request.draft_ref:
            try:
                await self._mailbox.delete_draft(request.draft_ref)
            except Exception:  # noqa: BLE001
                warnings.append("The message was accepted, but its draft could not be removed.")
        return replace(outcome, message_ref=ref, warnings=tuple(warnings))


def _outcome(request: SubmitRequest, answer: Answer) -> SubmitOutcome:
    accepted = request.envelope.recipients if answer.state == "accepted" else ()
    return SubmitOutcome(
        "retryable" if answer.login_refused else answer.state,
        accepted=accepted,
        refused=dict(answer.refused),
        thread_ref=_thread_of(request) if answer.state == "accepted" else "",
        reason=answer.reason,
        login_refused=answer.login_refused,
    )


def _thread_of(request: SubmitRequest) -> str:
    """A new message begins a thread, which has its Message-ID for a name."""
    return request.thread_ref or request.message_id


def _as_error(answer: Answer) -> PostroomError:
    if answer.state == "retryable":
        return ProviderUnavailable(answer.reason)
    return AuthRequired(answer.reason) if answer.login_refused else ProviderError(answer.reason)
