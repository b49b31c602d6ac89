"""Transports as other providers have them, on real local mailboxes: one that submits drafts, one with verbs of its own.

Both do what they hold or find themselves, whatever they were told was approved: what slips past the gate arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.gate.rigs import GateRig

from postroom.mime.read.parse import parse
from postroom.mime.write.compose import compose, new_message_id
from postroom.mime.write.reply import reply_recipients
from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.errors import NotFound, PermissionDenied
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import Staged, SubmitOutcome, SubmitRequest, WireEnvelope
from postroom.providers.protocol import Transport

Step = Callable[[str], None]


def nothing(_: str) -> None:
    pass


@dataclass
class Stages:
    """Submits only what lies in Drafts, to whom the draft names. `before` and `after` each step may raise."""

    real: Transport
    mailbox: Any
    before: Step = nothing
    after: Step = nothing
    steps: list[str] = field(default_factory=list)
    submitted: list[SubmitRequest] = field(default_factory=list)
    reconciled: list[SubmitRequest] = field(default_factory=list)

    async def stage(self, request: SubmitRequest) -> str:
        self._begin("stage")
        saved = await self.mailbox.create_draft(with_blind_copies(request), thread_ref=request.thread_ref)
        self.after("stage")
        return str(saved.ref)

    async def find_staged(self, request: SubmitRequest) -> str:
        self._begin("find_staged")
        page = await self.mailbox.list_drafts(limit=100, offset=0)
        found = [saved.ref for saved, envelope in page.items if envelope.message_id == request.message_id]
        self.after("find_staged")
        return found[0] if found else ""

    async def staged(self, request: SubmitRequest) -> Staged | None:
        self._begin("staged")
        held = await self._held(request.staged_ref)
        self.after("staged")
        return held

    async def discard_staged(self, staged_ref: str) -> None:
        self._begin("discard_staged")
        if await self._held(staged_ref) is not None:
            await self.mailbox.delete_draft(staged_ref)
        self.after("discard_staged")

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        self.submitted.append(request)
        self._begin("submit")
        held = await self._held(request.staged_ref)
        if held is None:
            return SubmitOutcome("rejected", reason="There is no such draft.")
        envelope = replace(request.envelope, recipients=held.recipients)
        outcome = await self.real.submit(
            replace(request, raw=held.raw, envelope=envelope, draft_ref=request.staged_ref)
        )
        self.after("submit")
        return outcome

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        self.reconciled.append(request)
        self._begin("reconcile")
        outcome = await self.real.reconcile(request)
        if outcome.state != "unknown" and await self._held(request.staged_ref) is not None:
            return SubmitOutcome("retryable", reason="It still lies in Drafts.")
        return outcome

    async def close(self) -> None:
        await self.real.close()

    def _begin(self, step: str) -> None:
        self.steps.append(step)
        self.before(step)

    async def _held(self, ref: str) -> Staged | None:
        try:
            saved = await self.mailbox.find_draft(ref)
        except (NotFound, PermissionDenied):
            return None
        raw = await self.mailbox.fetch_raw(saved.message_ref)
        mail = parse(raw)
        return Staged(raw, tuple(address.email for address in (*mail.to, *mail.cc, *mail.bcc)))


def with_blind_copies(request: SubmitRequest) -> bytes:
    """As a provider wants it that reads the recipients from the mail."""
    mail = parse(request.raw)
    named = {address.key for address in (*mail.to, *mail.cc)}
    blind = [email for email in request.envelope.recipients if Address(email).key not in named]
    return f"Bcc: {', '.join(blind)}\r\n".encode() + request.raw if blind else request.raw


@dataclass
class Acts:
    """Writes mail by itself: the recipients of an answer are found in the original when it is asked or told."""

    real: Transport
    mailbox: Any
    native_kinds: frozenset[NativeKind] = frozenset({"send", "reply", "reply_all", "forward"})
    submitted: list[SubmitRequest] = field(default_factory=list)
    asked: list[NativeAction] = field(default_factory=list)
    after: Step = nothing
    joined: tuple[Address, ...] = ()  # people who have come into the original's Cc since
    marks: bool = True  # the original, as part of the action

    async def recipients_of(self, action: NativeAction) -> Recipients:
        self.asked.append(action)
        return await self._reached(action)

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        self.submitted.append(request)
        if request.native is None:
            return await self.real.submit(request)
        draft = await self._written(request.native, request.envelope.sender)
        envelope = WireEnvelope(request.envelope.sender, tuple(address.email for address in draft.recipients))
        raw = compose(draft, message_id=new_message_id("provider.example"), date=None)
        outcome = await self.real.submit(replace(request, native=None, raw=raw, envelope=envelope))
        if request.native.original_ref and self.marks:
            flag = "forwarded" if request.native.kind == "forward" else "answered"
            await self.mailbox.set_flags([request.native.original_ref], add=[flag])
        self.after("submit")
        return outcome

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        return await self.real.reconcile(request)

    async def close(self) -> None:
        await self.real.close()

    async def _reached(self, action: NativeAction) -> Recipients:
        if action.kind in ("send", "forward"):
            return action.named
        original = await self.mailbox.fetch(action.original_ref)
        own = [identity.address.email for identity in await self.mailbox.identities()]
        envelope = replace(original.envelope, cc=(*original.envelope.cc, *self.joined))
        to, cc = reply_recipients(envelope, own, action.kind == "reply_all")
        return Recipients(to, cc)

    async def _written(self, action: NativeAction, sender: str) -> Draft:
        reached = await self._reached(action)
        below = ""
        if action.original_ref:
            below = f"\n\n> {(await self.mailbox.fetch(action.original_ref)).body.text}"
        return Draft(
            Address(sender), reached.to, reached.cc, reached.bcc, subject=action.subject, text=action.text + below
        )


async def staging(gate: GateRig, account: str = "alice") -> Stages:
    """From now on; once, however often it is asked for."""
    opened = await gate.gateway.accounts.open(account)
    if isinstance(opened.transport, Stages):
        return opened.transport
    stages = Stages(opened.transport, opened.mailbox)
    opened._transport = stages
    return stages


async def acting(gate: GateRig, account: str = "alice") -> Acts:
    opened = await gate.gateway.accounts.open(account)
    acts = Acts(opened.transport, opened.mailbox)
    opened._transport = acts
    return acts
