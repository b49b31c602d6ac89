"""Asking for approval: the pending file in the vault, with the whole message in it, for a person to read and move.

Only asking lives here. Granting lives in `approvals`, which an agent's door cannot import.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from postroom.model.draft import Draft
from postroom.safety.judge import Finding
from postroom.service import dispatch, handwritten
from postroom.service.house import House
from postroom.service.order import Order, preview_of
from postroom.service.receipts import already
from postroom.service.showing import shown_addresses
from postroom.service.views import ApprovalView, SendView
from postroom.store import Send, State
from postroom.store.approval_file import ApprovalFile, render
from postroom.store.send_states import FINISHED

LIFETIME = timedelta(hours=24)
_WRITING_SECONDS = 60.0
_FILE_NAME = re.compile(r"email_(?:send|reply|forward)_(\w+)\.md")
_HOW = (
    "A person approves it: `postroom approvals approve {approval_id}`, or in the vault set `status: approved` and move "
    "the file from Pending_Approval to Approved. Postroom then sends it by itself; repeat the call to see the result."
)
_AT_WORK = frozenset(State) - FINISHED - {State.PREPARED}


async def ask(house: House, order: Order, findings: Sequence[Finding]) -> SendView:
    """Freeze the order, put it before a person, and stop."""
    created = house.now()
    expires = created + LIFETIME
    prepared = await dispatch.prepare(house, order)
    file = pending_file(order, prepared, created, expires)

    def letter(approval_id: str) -> tuple[str, bytes]:
        return file_name(prepared.kind, approval_id), render(replace(file, approval_id=approval_id))

    async with dispatch.or_withdrawn(house, prepared):
        approval = await house.stored(
            house.store.approvals.request,
            prepared.send_id,
            expires_at=expires.timestamp(),
            asked=file.fingerprint,
            letter=letter,
        )
    if handwritten.are_allowed(house):
        released = await handwritten.release(house, order, prepared.send_id, approval.approval_id)
        if released is not None:
            return released
    async with dispatch.or_withdrawn(house, prepared):
        await house.stored(house.vault.write_pending, *letter(approval.approval_id))
        await house.stored(house.store.approvals.written, approval.approval_id)
    return replace(
        await awaiting(house, await house.stored(house.store.outbox.get, prepared.send_id)),
        warnings=tuple(finding.message for finding in findings),
        preview=preview_of(order),
    )


async def standing(house: House, order: Order) -> SendView | None:
    """The send that a repeated identical call means: one still under way, or one that a person approved today."""
    await house.stored(house.store.approvals.expire)
    send = await house.stored(house.store.outbox.latest, order.account.name, order.tool, order.digest)
    if send is None:
        return None
    if send.state is State.AWAITING_APPROVAL:
        if await _cannot_be_read(house, send):
            await house.stored(house.store.outbox.withdraw, send.send_id)
            return None
        return replace(await awaiting(house, send), preview=preview_of(order))
    if send.state in _AT_WORK:
        return await already(house, send)
    age = house.store.clock.wall() - send.created_at
    return await already(house, send) if send.approval_id and age < LIFETIME.total_seconds() else None


async def _cannot_be_read(house: House, send: Send) -> bool:
    """Its file is gone, or was never written because we died on the way: nobody can approve what nobody can read."""
    is_being_written = house.store.clock.wall() - send.created_at <= _WRITING_SECONDS
    path = await house.stored(house.vault.find, file_name(send.kind, send.approval_id))
    return path is None and not is_being_written


async def write_letters(house: House) -> None:
    """Put into the vault what a process died over between promising a letter and writing it."""

    def write() -> None:
        for letter in house.store.approvals.unwritten():
            asked_at = house.store.approvals.get(letter.approval_id).created_at
            if house.store.clock.wall() - asked_at <= _WRITING_SECONDS:
                continue
            if house.vault.find(letter.name) is None:
                house.vault.write_pending(letter.name, letter.content)
            house.store.approvals.written(letter.approval_id)

    await house.stored(write)


async def awaiting(house: House, send: Send) -> SendView:
    approval = await house.stored(house.store.approvals.get, send.approval_id)
    expires = datetime.fromtimestamp(approval.expires_at, UTC).isoformat(timespec="seconds")
    how = _HOW.format(approval_id=approval.approval_id)
    return SendView(
        status="needs_approval",
        account=send.account,
        message=f"Nothing was sent yet: a person must approve it first. {how}",
        send_id=send.send_id,
        approval=ApprovalView(approval.approval_id, expires, how),
    )


def question_text(order: Order, findings: Sequence[Finding], send_id: str) -> str:
    """What the person in front of the client reads. It names the send, so that an answer covers nothing else."""
    shown = preview_of(order)
    lines = [
        f"Send this mail from {shown.sender}?",
        f"To: {', '.join(shown.to)}",
        *([f"Cc: {', '.join(shown.cc)}"] if shown.cc else []),
        *([f"Bcc: {', '.join(shown.bcc)}"] if shown.bcc else []),
        *([f"Reply-To: {', '.join(shown.reply_to)}"] if shown.reply_to else []),
        f"Subject: {shown.subject}",
        *([f"Original: {shown.original_subject} ({shown.original_sender})"] if order.original else []),
        *([f"Attachments: {', '.join(shown.attachments)}"] if shown.attachments else []),
        *([f"At: {shown.send_at}"] if shown.send_at else []),
        *([f"With an HTML version of {shown.html_chars} characters"] if shown.html_chars else []),
        *(f"Warning: {finding.message}" for finding in findings),
        "",
        shown.body_excerpt + ("…" if shown.body_chars > len(shown.body_excerpt) else ""),
        "",
        f"({send_id}, content {order.digest[:16]})",
    ]
    return "\n".join(lines)


def file_name(kind: str, approval_id: str) -> str:
    return f"{kind}_{approval_id}.md"


def approval_id_of(name: str) -> str:
    """The approval a file of ours is named after; empty for what a person named."""
    found = _FILE_NAME.fullmatch(name)
    return found[1] if found else ""


def pending_file(order: Order, send: Send, created: datetime, expires: datetime) -> ApprovalFile:
    draft = order.draft
    return ApprovalFile(
        type=send.kind,
        status="pending",
        action_type=order.tool,
        to=tuple(address.email for address in draft.recipients),
        thread_id=send.thread_ref if send.kind == "email_reply" else "",
        subject=draft.subject,
        created=created.isoformat(timespec="seconds"),
        expires=expires.isoformat(timespec="seconds"),
        content_sha256=send.content_sha256,
        body=_letter(order, draft),
    )


def _letter(order: Order, draft: Draft) -> str:
    """Everything that would leave, in words a person can check."""
    rows = [
        ("Account", order.account.name),
        ("From", str(draft.sender)),
        ("To", ", ".join(shown_addresses(draft.to))),
        ("Cc", ", ".join(shown_addresses(draft.cc))),
        ("Bcc", ", ".join(shown_addresses(draft.bcc))),
        ("Reply-To", ", ".join(shown_addresses(draft.reply_to))),
        ("Subject", draft.subject),
        ("In reply to", " by ".join(order.original) if order.original else ""),
        ("Send at", order.wishes.send_at.isoformat() if order.wishes.send_at else ""),
        ("Attachments", ", ".join(f"{file.filename} ({len(file.content)} bytes)" for file in draft.files)),
        ("Carries", "the original mail, whole" if draft.forwarded is not None else ""),
    ]
    facts = "\n".join(f"- **{name}:** {_plain(value)}" for name, value in rows if value)
    parts = [
        "# Send this mail?",
        "To approve, set `status: approved` above and move this file to `Approved`. To refuse, move it to `Rejected`.",
        facts,
        *(_fenced("Message", draft.text) if draft.text else []),
        *(_fenced("HTML", draft.html) if draft.html else []),
    ]
    return "\n\n".join(parts) + "\n"


def _fenced(title: str, text: str) -> list[str]:
    """A fence longer than any in the text, so that the text cannot step out of it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"## {title}", f"{fence}\n{text}\n{fence}"]


def _plain(value: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", value)
