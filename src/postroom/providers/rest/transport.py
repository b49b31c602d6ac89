"""Sending: the fields of the API are read from the frozen bytes, so what was approved is what is sent."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from postroom.mime.read.dates import read_date
from postroom.mime.read.parse import Parsed, extract_part, parse
from postroom.model.address import Address
from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.folder import Role
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers.context import ProviderContext
from postroom.providers.http.answer import Answer
from postroom.providers.http.unclear import UnclearWrite, submit_outcome
from postroom.providers.rest import convert, wire

if TYPE_CHECKING:
    from postroom.providers.rest.provider import RestMailbox
    from postroom.settings import RestAccount

_LOOKED_AT = 50  # of the newest sent messages
_NOT_A_REPLY = "The mail service cannot mark a message as a reply: it was sent as a new one with the same subject."
_OWN_COPY = "The mail service keeps its own copy of what it sends."
_UNSENDABLE = {"reply-to": "a Reply-To address", "importance": "an importance", "x-priority": "an importance"}


class RestTransport:
    """Shares its mailbox's connections; closing it closes nothing."""

    def __init__(self, account: RestAccount, context: ProviderContext, mailbox: RestMailbox) -> None:
        self._mailbox = mailbox
        self._proofs: dict[str, str] = {}  # id of a sent message -> the attempt that it proves

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        """One request for all recipients: the service takes the message for all of them or for none."""
        try:
            parsed, content = await anyio.to_thread.run_sync(_outgoing, request)
            sent = await self._mailbox.client.send(content)
            outcome = _accepted(request, parsed, sent)
            self._proofs[outcome.message_ref] = request.attempt_id
            return outcome  # noqa: TRY300
        except PostroomError as error:
            return _refused(request, error)

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        """The API knows nothing of our attempts or our Message-ID, so only the copy in Sent can prove it: the same
        text to the same people, dated since this message was written. One copy proves one attempt."""
        frozen = await anyio.to_thread.run_sync(parse, request.raw)
        copy = await self._sent_copy(frozen, request)
        if not copy:
            return SubmitOutcome(
                "unknown", reason="No copy of it is in Sent, which does not prove that it was not sent."
            )
        self._proofs[copy] = request.attempt_id
        return SubmitOutcome("accepted", accepted=request.envelope.recipients, message_ref=copy)

    async def close(self) -> None:
        pass

    async def _sent_copy(self, frozen: Parsed, request: SubmitRequest) -> str:
        sent = next((folder for folder in await self._mailbox.folders() if folder.role is Role.SENT), None)
        rows = await self._mailbox.client.page(sent.ref, limit=_LOOKED_AT) if sent else []
        for row in rows:
            if row.subject == frozen.subject and _is_since(row, frozen):
                found = await self._mailbox.client.message(row.id)
                names = {row.id, convert.details(found).message_id}
                if not self._is_anothers(names, request) and _says_the_same(found, frozen):
                    return row.id
        return ""

    def _is_anothers(self, names: set[str], request: SubmitRequest) -> bool:
        """Whether the copy proves another attempt: of this process, or of any that shares the outbox."""
        proved = {self._proofs.get(name, request.attempt_id) for name in names}
        return proved != {request.attempt_id} or not names.isdisjoint(request.others_sent)


def _outgoing(request: SubmitRequest) -> tuple[Parsed, dict[str, Any]]:
    parsed = parse(request.raw)
    for header, what in _UNSENDABLE.items():
        if header in parsed.headers:
            raise InvalidRequest(f"The mail service cannot send {what}. Nothing was sent; leave it out.")
    to, cc = _emails(parsed.to), _emails(parsed.cc)
    named = {Address(email).key for email in (*to, *cc)}
    wanted = {Address(email).key for email in request.envelope.recipients}
    if not named <= wanted:
        raise InvalidRequest("The message names recipients it is not meant to be sent to. Nothing was sent.")
    if any(file.mime_type == "text/calendar" for file in parsed.attachments):
        raise InvalidRequest("The mail service cannot send answers to invitations. Nothing was sent.")
    if any(file.inline and file.content_id for file in parsed.attachments):
        raise InvalidRequest(
            "The mail service cannot show pictures within the text. Nothing was sent; attach them only."
        )
    files = [(file.filename, extract_part(request.raw, file.part)) for file in parsed.attachments]
    return parsed, {
        "to": to,
        "cc": cc,
        "bcc": [email for email in request.envelope.recipients if Address(email).key not in named],
        "subject": parsed.subject,
        "body_text": _lines(parsed.body.text),
        "body_html": _lines(parsed.body.html) or None,
        "attachments": [
            {"filename": name, "content_base64": base64.b64encode(content).decode("ascii")} for name, content in files
        ],
    }


def _accepted(request: SubmitRequest, parsed: Parsed, answer: Answer) -> SubmitOutcome:
    if not wire.says_sent(answer):
        raise UnclearWrite(answer.host, "accepted the request without saying that it sent the message")
    replies = (_NOT_A_REPLY,) if parsed.in_reply_to else ()
    copies = () if request.save_to_sent else (_OWN_COPY,)
    return SubmitOutcome(
        "accepted",
        accepted=request.envelope.recipients,
        message_ref=wire.sent_id(answer),
        warnings=replies + copies,
    )


def _refused(request: SubmitRequest, error: PostroomError) -> SubmitOutcome:
    """Recipients that the service names in its refusal are those it refused."""
    mentioned = {Address(email.rstrip(".")).key for email in error.details.pop(wire.MENTIONED, ())}
    outcome = submit_outcome(error)
    refused = [email for email in request.envelope.recipients if Address(email).key in mentioned]
    if outcome.state != "rejected" or not refused:
        return outcome
    return replace(outcome, refused=dict.fromkeys(refused, "refused by the mail service"))


def _is_since(row: wire.Row, frozen: Parsed) -> bool:
    date = read_date(row.date)
    return date is not None and frozen.date is not None and date >= frozen.date


def _says_the_same(found: dict[str, Any], frozen: Parsed) -> bool:
    known = convert.message(found, convert.row_of(found, ""), "")
    people = [
        ({one.key for one in getattr(known.envelope, field)}, {one.key for one in getattr(frozen, field)})
        for field in ("to", "cc")
    ]
    names = [file.filename for file in known.attachments], [file.filename for file in frozen.attachments]
    bodies = [
        (_lines(theirs).strip(), _lines(ours).strip())
        for theirs, ours in ((known.body.text, frozen.body.text), (known.body.html, frozen.body.html))
    ]
    return all(theirs == ours for theirs, ours in (*people, names, *bodies))


def _emails(addresses: tuple[Address, ...]) -> list[str]:
    return [address.email for address in addresses]


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
