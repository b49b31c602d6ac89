"""An order to send: the message as frozen bytes, the wishes that came with it, and the digest of its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from postroom.mime.write.compose import compose, new_message_id
from postroom.mime.write.untimed import without_time
from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.errors import InvalidRequest
from postroom.model.native import NativeAction, freeze
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.safety.frozen import content_digest, wire_envelope
from postroom.safety.judge import Answer, Kind
from postroom.service.gateway import Account, Gateway
from postroom.store import Send
from postroom.store.sends.history import digest as duplicate_digest
from postroom.store.sends.send_rows import NewSend

ANSWER = "answer_invitation"  # the tool


@dataclass(frozen=True, slots=True)
class Answered:
    """What a person said to a question, and the send that the question named. It counts for nothing else."""

    verdict: Answer
    send_id: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a caller wants it sent. Wishes can delay a send or require stricter approval, never looser."""

    confirm: bool = False
    idempotency_key: str = ""
    send_at: datetime | None = None
    save_to_sent: bool = True
    require_approval: bool = False
    can_elicit: bool = False
    answer: Answered | None = None
    actor: str = "agent"
    native: bool = False  # let the provider compose it by its own action, where it has one that can express all of this
    key_seconds: float | None = None  # how long the key of a finished send is kept; None: as long as usual
    call_sha256: str = ""  # see `send.sent_by`


@dataclass(slots=True)
class LookedUp:
    """What was found out about an order's recipients. Looked up once, however often the order is judged."""

    known: frozenset[str] | None = None
    unreachable: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    account: Account
    tool: str
    kind: Kind
    draft: Draft
    wishes: Wishes
    raw: bytes
    message_id: str
    original: tuple[str, str] | None  # subject and sender of the message being answered or forwarded
    draft_ref: str  # the saved draft that is being sent
    digest: str
    answers_ref: str  # the message being answered or forwarded: see `store.sends.send_rows`
    native: NativeAction | None  # then `raw` is its frozen form, and `draft` describes the message it comes to
    quoted: str  # of the original, where the provider quotes it below
    notes: tuple[str, ...] = ()  # what the person should know, in sentences
    draft_version: str = ""  # of the saved draft when it was read: see `SavedDraft`
    was_undone: bool = False  # what an earlier order of this content brought about is no longer so
    looked_up: LookedUp = field(default_factory=LookedUp)

    @property
    def envelope(self) -> WireEnvelope:
        return wire_envelope(self.draft)

    @property
    def needs_subject(self) -> bool:
        """A vacation reply without one gets it from the server, out of the mail that it answers."""
        return self.kind != "vacation"

    def as_send(self) -> NewSend:
        send_at = self.wishes.send_at
        return NewSend(
            account=self.account.name,
            tool=self.tool,
            kind=self.kind,
            content_sha256=self.digest,
            raw=self.raw,
            sender=self.envelope.sender,
            recipients=self.envelope.recipients,
            message_id=self.message_id,
            thread_ref=self.draft.threading.thread_ref,
            draft_ref=self.draft_ref,
            save_to_sent=self.wishes.save_to_sent,
            idempotency_key=self.wishes.idempotency_key,
            not_before=send_at.timestamp() if send_at else None,
            send_at=schedule_text(send_at),
            answers_ref=self.answers_ref,
            subject=self.draft.subject,
            native=self.native is not None,
            key_seconds=self.wishes.key_seconds,
            call_sha256=self.wishes.call_sha256,
        )


async def make_order(
    gateway: Gateway,
    account: Account,
    tool: str,
    kind: Kind,
    draft: Draft,
    wishes: Wishes,
    *,
    original: tuple[str, str] | None = None,
    draft_ref: str = "",
    answers_ref: str = "",
    native: NativeAction | None = None,
    quoted: str = "",
) -> Order:
    """Freeze the draft into bytes, or the action into its frozen form, once; everything later speaks of these bytes."""
    if wishes.send_at is not None:  # the moment stays the same; a person reads it on the clock at hand
        wishes = replace(wishes, send_at=wishes.send_at.astimezone(gateway.settings.server.zone))
    message_id = "" if native else new_message_id(draft.sender.domain)  # the provider gives a message of its own one
    raw = (
        freeze(native)
        if native
        else await gateway.in_thread(partial(compose, draft, message_id=message_id, date=gateway.now()))
    )
    digest = digest_of(
        raw,
        wire_envelope(draft),
        account.name,
        draft.threading.thread_ref,
        draft_ref,
        wishes.save_to_sent,
        schedule_text(wishes.send_at),
        native=native is not None,
        timeless=tool == ANSWER,
    )
    return Order(
        account, tool, kind, draft, wishes, raw, message_id, original, draft_ref, digest, answers_ref, native, quoted
    )


def digest_of(
    raw: bytes,
    envelope: WireEnvelope,
    account: str,
    thread_ref: str,
    draft_ref: str,
    save_to_sent: bool,
    send_at: str,
    *,
    native: bool = False,
    timeless: bool = False,
) -> str:
    """The one digest: of an order, and again of what the outbox holds when it is about to be sent. `timeless`: without
    the time that an answer to an invitation is given at, which is another one in each call.

    No schedule and no native action add no entries, so that what was in an outbox before they were covered keeps its
    digest.
    """
    circumstances: dict[str, str | bool] = {
        "account": account,
        "thread": thread_ref,
        "draft": draft_ref,
        "save_to_sent": save_to_sent,
        **({"send_at": send_at} if send_at else {}),
        **({"native": True} if native else {}),
    }
    return content_digest(without_time(raw) if timeless else raw, envelope, circumstances)


def is_as_ordered(send: Send, request: SubmitRequest) -> bool:
    """Whether the outbox still holds it, by a digest that is computed again. Former versions' digests of answers to
    invitations covered their time, too."""
    kinds = {send.tool == ANSWER, False}
    return send.content_sha256 in {_stored_digest(send, request, timeless) for timeless in kinds}


def _stored_digest(send: Send, request: SubmitRequest, timeless: bool) -> str:
    return digest_of(
        request.raw,
        request.envelope,
        send.account,
        request.thread_ref,
        request.draft_ref,
        request.save_to_sent,
        send.send_at,
        native=send.native,
        timeless=timeless,
    )


def schedule_text(send_at: datetime | None) -> str:
    """One spelling for one moment, whatever offset it was given in; empty for now."""
    return send_at.astimezone(UTC).isoformat() if send_at else ""


def parse_time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(
            "send_at must be ISO 8601 with an offset, like 2026-12-01T09:00:00+01:00.", details={"field": "send_at"}
        ) from None


def likeness(to: Sequence[Address], subject: str, body: str) -> str:
    """The looser digest that only warns: who it is to, the subject in lower case, how the body begins."""
    return duplicate_digest([address.email for address in to], subject, body.strip())
