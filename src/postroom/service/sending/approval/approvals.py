"""Granting and refusing: what a person does with a waiting send. An agent's door cannot import this module.

An approval covers exactly what the person was shown. A file that differs from the request (another recipient, another
subject, one changed byte of the message) approves nothing and is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.mime.visible import guarded, visible_line
from postroom.model.errors import Conflict, NotFound, PermissionDenied, PostroomError, RateLimited
from postroom.service.gateway import Gateway
from postroom.service.sending import dispatch, staging
from postroom.service.sending.approval import handwritten
from postroom.service.sending.approval.requests import approval_id_of, file_name
from postroom.service.sending.auditing import Record, audited
from postroom.service.sending.order import is_as_ordered
from postroom.service.sending.receipts import receipt, shown_recipients
from postroom.service.views import SendView
from postroom.store import Approval, ApprovalState, Send, State
from postroom.store.sends.outbox import Verdict
from postroom.store.sends.states import FINISHED
from postroom.store.vault.approval_file import ApprovalFile
from postroom.store.vault.folder import APPROVED, DONE, PENDING, REJECTED, Found

_STRAY = "Only files whose names end in .md are read."
_OTHER_BYTES = "The message in the outbox is not the one that approval was requested for. It is not sent; reject it."


@dataclass(frozen=True, slots=True)
class Waiting:
    """One send waiting for approval; addresses as a person is shown them."""

    approval_id: str
    send_id: str
    account: str
    kind: str
    recipients: tuple[str, ...]
    subject: str
    created: str
    expires: str


async def list_waiting(gateway: Gateway, *, limit: int = 100) -> tuple[Waiting, ...]:
    """The oldest waiting sends; `count_waiting` returns how many there are in all."""

    def stored() -> tuple[Waiting, ...]:
        gateway.store.approvals.expire()
        pending = gateway.store.approvals.pending(limit)
        return tuple(_waiting(gateway, approval, gateway.store.outbox.get(approval.send_id)) for approval in pending)

    return await gateway.in_thread(stored)


async def count_waiting(gateway: Gateway) -> int:
    return len(await gateway.in_thread(gateway.store.approvals.pending_ids))


async def show(gateway: Gateway, approval_id: str) -> str:
    """The whole message, as the person was asked about it; a file that differs is not shown."""
    from postroom.mime.clean import clean_text

    letter = (await gateway.in_thread(_verified, gateway, approval_id)).body
    return clean_text(letter)  # marks were made when it was written: nothing is left to clean, unless we made a mistake


async def check_undecided(gateway: Gateway, approval_id: str) -> None:
    """Conflict when there is nothing left to ask a person."""
    await gateway.in_thread(gateway.store.approvals.check_undecided, approval_id)


async def approve(gateway: Gateway, approval_id: str, *, who: str, how: str) -> SendView:
    """Grant what `show` shows and send it. Raises Conflict when somebody was faster."""
    try:
        await gateway.in_thread(_verified, gateway, approval_id)
    except PostroomError:
        approval = await gateway.in_thread(gateway.store.approvals.get, approval_id)
        if approval.state is ApprovalState.PENDING:
            raise
        # Decided while we read: its file is on its way to another folder, and the store says what it was decided to.
    return await _grant(gateway, approval_id, who=who, how=how)


async def _grant(gateway: Gateway, approval_id: str, *, who: str, how: str) -> SendView:
    approval = await gateway.in_thread(gateway.store.approvals.approve, approval_id, who=who, how=how)
    send = await gateway.in_thread(gateway.store.outbox.get, approval.send_id)
    return await audited(gateway, Record.of_send(send, "approve", how, gateway.now()), _release(gateway, send))


async def reject(gateway: Gateway, approval_id: str, *, who: str, how: str) -> SendView:
    approval = await gateway.in_thread(gateway.store.approvals.reject, approval_id, who=who, how=how)
    send = await gateway.in_thread(gateway.store.outbox.get, approval.send_id)

    def clear() -> None:
        path = gateway.vault.find(file_name(send.kind, approval.approval_id))
        if path is not None and path.parent.name != REJECTED:
            gateway.vault.claim(path, REJECTED)

    with suppress(PostroomError):  # the file is only a copy; the decision is stored
        await gateway.in_thread(clear)
    return await audited(gateway, Record.of_send(send, "reject", how, gateway.now()), receipt(gateway, send))


async def heed_vault(gateway: Gateway) -> int:
    """Act on the files that a person moved in the vault. Returns how many had an effect."""
    heeded = 0
    for found in await gateway.in_thread(lambda: list(_news(gateway))):
        try:
            await _heed(gateway, found)
            heeded += 1
        except PostroomError:
            continue  # a file that approves nothing stays where it is, for a person to look at
    return heeded


async def unheeded(gateway: Gateway) -> tuple[tuple[str, str], ...]:
    """The newest hundred files in Approved that have no effect, each with the reason.

    Before them, whole folders that are ignored.
    """

    def look() -> tuple[tuple[str, str], ...]:
        reasons = [
            (guarded(found.path.name), _problem(gateway, found)) for found in gateway.vault.newest(APPROVED, 100)
        ]
        strays = [(guarded(name), _STRAY) for name in gateway.vault.strays(APPROVED)[:100]]
        return (*gateway.vault.troubles(), *((name, reason) for name, reason in reasons if reason), *strays)

    return await gateway.in_thread(look)


def _problem(gateway: Gateway, found: Found) -> str:
    if found.file is None:
        return found.problem
    if not found.file.approval_id:  # written by hand; whether it counts depends on the message it is for
        return handwritten.why_not(gateway, found.file) if handwritten.are_allowed(gateway) else ""
    try:
        _check_covers(gateway, found.file)
    except PostroomError as error:
        return error.message
    return ""


async def tidy_vault(gateway: Gateway) -> None:
    """Move the files of finished sends out of the folders where something is still to be decided."""

    def tidy() -> None:
        waiting = gateway.store.approvals.pending_ids()
        for folder in (PENDING, APPROVED):
            for name in gateway.vault.names(folder):
                approval_id = approval_id_of(name)
                if approval_id and approval_id not in waiting:
                    _file_away(gateway, approval_id, gateway.vault.root / folder / name)

    await gateway.in_thread(tidy)


def _file_away(gateway: Gateway, approval_id: str, path: Path) -> None:
    with suppress(PostroomError):  # an approval of another gateway, or of long ago
        send = gateway.store.outbox.get(gateway.store.approvals.get(approval_id).send_id)
        if send.state in FINISHED:
            gateway.vault.claim(path, DONE if send.state is State.DONE else REJECTED)


def _news(gateway: Gateway) -> Iterator[Found]:
    """Files in Approved and Rejected that name an approval still pending. Everything else costs nothing."""
    pending = gateway.store.approvals.pending_ids()
    if not pending:
        return
    for folder in (REJECTED, APPROVED):  # of a yes and a no at once the no counts
        for found in gateway.vault.scan(folder):
            if found.file is not None and found.file.approval_id in pending:
                yield found


async def _heed(gateway: Gateway, found: Found) -> None:
    assert found.file is not None
    if found.path.parent.name == REJECTED:
        await reject(gateway, found.file.approval_id, who="vault", how="vault")
        return
    await gateway.in_thread(_check_covers, gateway, found.file)
    await _grant(gateway, found.file.approval_id, who="vault", how="vault")


def _check_covers(gateway: Gateway, file: ApprovalFile) -> None:
    """The file must still be the one that was written, but for the status a person set."""
    approval = gateway.store.approvals.get(file.approval_id)
    send = gateway.store.outbox.get(approval.send_id)
    if file.status != "approved":
        raise Conflict("The file was moved, but its status is not `approved`.")
    _check_same(approval, send, file)


def _check_same(approval: Approval, send: Send, file: ApprovalFile) -> None:
    if send.content_sha256 != approval.content_sha256:
        raise PermissionDenied(_OTHER_BYTES)
    if file.content_sha256 != approval.content_sha256 or file.fingerprint != approval.asked:
        raise PermissionDenied("The file no longer matches the approval request. It approves nothing.")


def _verified(gateway: Gateway, approval_id: str) -> ApprovalFile:
    """The file of an approval, if it still matches the request and that is still what would be sent."""
    approval = gateway.store.approvals.get(approval_id)
    send = gateway.store.outbox.get(approval.send_id)
    path = gateway.vault.find(file_name(send.kind, approval.approval_id))
    if path is None:
        raise NotFound(
            f"The file for approval {approval.approval_id} is no longer in the vault, so nobody can read what would be "
            "sent. Reject it; the message can be requested again."
        )
    found = gateway.vault.look_again(Found(path, None))
    if found.file is None:
        raise PermissionDenied(found.problem)
    _check_same(approval, send, found.file)
    _check_stored(gateway, send)
    return found.file


def _check_stored(gateway: Gateway, send: Send) -> None:
    if send.state in FINISHED:  # its bytes are gone, and nothing will be sent
        return
    if not is_as_ordered(send, gateway.store.outbox.request(send.send_id)):
        raise PermissionDenied(_OTHER_BYTES)


async def _release(gateway: Gateway, send: Send) -> SendView:
    """Conflict: a running server took it over at the same time. RateLimited: it waits. Either way it is sent once."""
    try:
        send = await dispatch.go_on(gateway, send)
    except (Conflict, RateLimited):
        send = await gateway.in_thread(gateway.store.outbox.get, send.send_id)
    return await receipt(gateway, send)


def _waiting(gateway: Gateway, approval: Approval, send: Send) -> Waiting:
    return Waiting(
        approval_id=approval.approval_id,
        send_id=send.send_id,
        account=send.account,
        kind=send.kind,
        recipients=shown_recipients(send),
        subject=visible_line(send.subject),
        created=gateway.shown_time(approval.created_at),
        expires=gateway.shown_time(approval.expires_at),
    )


async def resolve(gateway: Gateway, send_id: str, verdict: Verdict) -> SendView:
    """A person's decision on a send nobody else could decide: it was sent, send it again, or drop it."""
    decided = await gateway.in_thread(gateway.store.outbox.resolve, send_id, verdict)
    after = _dropped(gateway, decided) if verdict == "drop" else _release(gateway, decided)
    return await audited(gateway, Record.of_send(decided, f"resolve_{verdict}", "command line", gateway.now()), after)


async def _dropped(gateway: Gateway, send: Send) -> SendView:
    left_there = await staging.cleared(gateway, send)
    return await receipt(gateway, send, (left_there,) if left_there else ())
