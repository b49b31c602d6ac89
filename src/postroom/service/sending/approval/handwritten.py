"""Approvals a person wrote by hand, before anything was asked: "mail to bob: approved".

They match on kind, status and recipient (or thread) and cover no particular content, so they count only where the
dialect has them. There nothing waits for a person: without a file a send is refused. Each file releases one send:
moving it to Done claims it, and a send that certainly did not happen gives it back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path

import anyio

from postroom.model.address import check_email, masked_few
from postroom.model.draft import Draft
from postroom.model.errors import AuthRequired, InvalidRequest, PermissionDenied, PostroomError
from postroom.safety.judge import Finding, Kind
from postroom.service.gateway import Gateway
from postroom.service.sending import dispatch, staging
from postroom.service.sending.order import Order
from postroom.service.sending.receipts import receipt
from postroom.service.views import SendView
from postroom.store import Send, State
from postroom.store.sends.states import UNSENT
from postroom.store.vault.approval_file import ApprovalFile
from postroom.store.vault.folder import APPROVED, DONE, Found

_WAITING = (State.RESERVED, State.STAGED, State.RETRYABLE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file must approve. It has no recipients while nobody knows yet whom a reply goes to."""

    kind: Kind
    thread_ref: str
    recipients: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()  # of the recipients, as `Address.key`

    @classmethod
    def of_draft(cls, kind: Kind, draft: Draft) -> Wanted:
        emails = tuple(address.email for address in draft.recipients)
        return cls(kind, draft.threading.thread_ref, emails, frozenset(address.key for address in draft.recipients))


def are_allowed(gateway: Gateway) -> bool:
    return gateway.settings.traits.heeds_handwritten


def may_release(gateway: Gateway, order: Order) -> bool:
    """Only what somebody asks for now: whoever wrote the file had no message in mind that a rule will find."""
    return are_allowed(gateway) and order.wishes.actor != "rule"


async def require(gateway: Gateway, wanted: Wanted) -> None:
    """PermissionDenied where no file matches. Nothing is taken yet."""
    if await gateway.in_thread(_matching, gateway, wanted) is None:
        with suppress(OSError):  # the person who is told to put a file there finds the folder
            await gateway.in_thread(gateway.vault.prepare)
        raise await gateway.in_thread(_missing, gateway, wanted)


async def release(gateway: Gateway, order: Order, findings: Sequence[Finding]) -> SendView:
    """Send on the strength of a hand-written approval. PermissionDenied when there is none, RateLimited when the hour
    is full: neither takes a file."""
    wanted = Wanted.of_draft(order.kind, order.draft)
    await require(gateway, wanted)
    await gateway.in_thread(gateway.store.rate.check, order.account.name)
    with anyio.CancelScope(shield=True):  # a caller who hangs up must not leave a claimed file and nothing sent
        taken = await gateway.in_thread(_claim, gateway, wanted)
        send = await _send(gateway, order, taken)
    return await receipt(gateway, send, tuple(finding.message for finding in findings))


async def _send(gateway: Gateway, order: Order, taken: Path) -> Send:
    send_id = ""
    try:
        reserved = await dispatch.reserve(gateway, order)
        if reserved.replayed:  # another process has sent it under the same key
            await gateway.in_thread(_give_back, gateway, taken)
            return reserved.send
        send_id = reserved.send.send_id
        send = await dispatch.go_on(gateway, reserved.send)
        await _stop_without_login(gateway, send)
    except PostroomError:
        await gateway.in_thread(_give_back_unused, gateway, send_id, taken)
        raise
    await gateway.in_thread(_give_back_unused, gateway, send_id, taken)
    return send


async def _stop_without_login(gateway: Gateway, send: Send) -> None:
    """AuthRequired instead of a message that waits until somebody logs in: here nothing waits for a person."""
    pause = await gateway.in_thread(gateway.store.pauses.of, send.account)
    if pause is None or send.state not in _WAITING or send.may_have_left:
        return
    await staging.cleared(gateway, await gateway.in_thread(gateway.store.outbox.cancel, send.send_id))
    raise AuthRequired(pause.reason)


def _give_back_unused(gateway: Gateway, send_id: str, taken: Path) -> None:
    """Back to Approved, where the send certainly did not happen and nothing will try it again."""
    if send_id:
        send = gateway.store.outbox.get(send_id)
        if send.state not in UNSENT or send.may_have_left:
            return
    _give_back(gateway, taken)


def _give_back(gateway: Gateway, taken: Path) -> None:
    with suppress(PostroomError):  # then it stays in Done: a person has to write another
        gateway.vault.claim(taken, APPROVED)


def _claim(gateway: Gateway, wanted: Wanted) -> Path:
    """A matching file, moved to Done. It is read again there: what was judged is what was taken."""
    tried: set[Path] = set()
    while (path := _matching(gateway, wanted, tried)) is not None:
        tried.add(path)
        taken = gateway.vault.claim(path, DONE)
        if taken is None:  # another call was faster; there may be a second file
            continue
        if _fits(gateway.vault.look_again(Found(taken, None)), wanted, _now(gateway)):
            return taken
        _give_back(gateway, taken)
    raise _missing(gateway, wanted)


def _matching(gateway: Gateway, wanted: Wanted, without: Collection[Path] = ()) -> Path | None:
    """From memory first, then by a look at every file: among ten thousand the first finds most of them at once."""
    now = _now(gateway)

    def fits(found: Found) -> bool:
        return found.path not in without and _fits(found, wanted, now)

    known = gateway.vault.remembered(APPROVED)
    for found in known:
        if fits(found) and fits(gateway.vault.look_again(found)):
            return found.path
    judged = set(map(id, known))  # a scan gives an unchanged file as the very same object
    return next((found.path for found in gateway.vault.scan(APPROVED) if id(found) not in judged and fits(found)), None)


def why_not(gateway: Gateway, file: ApprovalFile) -> str:
    """Why a hand-written file approves no message at all; empty where it does for some."""
    now = _now(gateway)
    if file.content_sha256:
        return "It has `content_sha256`, as only files that Postroom wrote may. Remove that line."
    if file.status != "approved":
        return "Its status is not `approved`."
    if file.expires and not _is_ahead(file.expires, now):
        return "It has expired, or `expires` is not a date such as 2026-12-31."
    if file.type == "email_reply" and not file.thread_id:
        return "A reply needs its `thread_id`."
    if file.type != "email_reply" and not any(map(_is_plain, file.to)):
        return "`to` must be the plain address, such as bob@example.com."
    return ""


def _is_plain(address: str) -> bool:
    try:
        check_email(address.strip())
    except InvalidRequest:
        return False
    return True


def _fits(found: Found, wanted: Wanted, now: datetime) -> bool:
    return found.file is not None and _covers(found, wanted) and _is_good(found.file, wanted.kind, now)


def _is_good(file: ApprovalFile, kind: str, now: datetime) -> bool:
    is_approval = file.type == kind and file.status == "approved" and not file.content_sha256
    return is_approval and (not file.expires or _is_ahead(file.expires, now))


def _covers(found: Found, wanted: Wanted) -> bool:
    assert found.file is not None
    if wanted.kind == "email_reply":
        is_thread = bool(found.file.thread_id) and found.file.thread_id == wanted.thread_ref
        return is_thread and (wanted.keys <= found.recipients if found.file.to else True)  # anybody can join a thread
    return bool(wanted.keys) and wanted.keys <= found.recipients


def _now(gateway: Gateway) -> datetime:
    """In the operator's zone, which a time in a file is in where it names none."""
    return gateway.now().astimezone(gateway.settings.server.zone)


def _is_ahead(expires: str, now: datetime) -> bool:
    """A date that cannot be read is one that has passed; a day lasts until it ends."""
    try:
        moment = _end_of(expires)
    except ValueError:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)) > now


def _end_of(expires: str) -> datetime:
    try:
        day = date.fromisoformat(expires)
    except ValueError:
        return datetime.fromisoformat(expires)
    return datetime.combine(day, time.max)


def _ignored(gateway: Gateway) -> int:
    """How many files in Approved have no effect, whatever the message."""
    return len(gateway.vault.strays(APPROVED)) + sum(
        found.file is None or bool(not found.file.approval_id and why_not(gateway, found.file))
        for found in gateway.vault.remembered(APPROVED)
    )


def _missing(gateway: Gateway, wanted: Wanted) -> PermissionDenied:
    shown = masked_few(wanted.recipients)
    what = f"a reply in the thread {wanted.thread_ref}" if wanted.kind == "email_reply" else f"a message to {shown}"
    return PermissionDenied(
        f"Nothing was sent: no file in the vault's Approved folder approves {what}. Ask the user to write one.",
        reason="approval_missing",
        details={
            "type": wanted.kind,
            "to": shown,
            "thread_id": wanted.thread_ref,
            "ignored_files": _ignored(gateway),
        },
    )
