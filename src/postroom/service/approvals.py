"""Granting and refusing: what a person does with a waiting send. An agent's door cannot import this module.

An approval covers exactly what was put before the person. A file that says anything else than what was asked (another
recipient, another subject, one changed byte of the letter) approves nothing, and is not shown as if it were the letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.mime.visible import guarded, visible_email
from postroom.model.errors import Conflict, NotFound, PermissionDenied, PostroomError, RateLimited
from postroom.service import dispatch
from postroom.service.auditing import Record, audited
from postroom.service.house import House
from postroom.service.order import stored_digest
from postroom.service.petitions import approval_id_of, file_name
from postroom.service.receipts import receipt
from postroom.service.views import SendView
from postroom.store import Approval, ApprovalState, Send, State
from postroom.store.approval_file import ApprovalFile
from postroom.store.outbox import Verdict
from postroom.store.send_states import FINISHED
from postroom.store.vault import APPROVED, DONE, PENDING, REJECTED, Found

_OTHER_BYTES = "What lies in the outbox is not what the approval was asked for. It is not sent; reject it."


@dataclass(frozen=True, slots=True)
class Waiting:
    """One send that waits for a say; addresses as a person is shown them."""

    approval_id: str
    send_id: str
    account: str
    kind: str
    recipients: tuple[str, ...]
    created: str
    expires: str


async def list_waiting(house: House, *, limit: int = 100) -> tuple[Waiting, ...]:
    """The oldest of what waits; `count_waiting` says how much there is in all."""

    def stored() -> tuple[Waiting, ...]:
        house.store.approvals.expire()
        pending = house.store.approvals.pending(limit)
        return tuple(_waiting(house, approval, house.store.outbox.get(approval.send_id)) for approval in pending)

    return await house.stored(stored)


async def count_waiting(house: House) -> int:
    return len(await house.stored(house.store.approvals.pending_ids))


async def show(house: House, approval_id: str) -> str:
    """The whole letter, as it was put before the person; a file that says anything else is not shown."""
    from postroom.mime.clean import clean_text

    letter = (await house.stored(_verified, house, approval_id)).body
    return clean_text(letter)  # marks were made when it was written: nothing is left to clean, unless we made a mistake


async def approve(house: House, approval_id: str, *, who: str, how: str) -> SendView:
    """Grant what `show` shows and send it. Raises Conflict when somebody was faster."""
    try:
        await house.stored(_verified, house, approval_id)
    except PostroomError:
        approval = await house.stored(house.store.approvals.get, approval_id)
        if approval.state is ApprovalState.PENDING:
            raise
        # Decided while we read: its file is on its way to another folder, and the store says what it was decided to.
    return await _grant(house, approval_id, who=who, how=how)


async def _grant(house: House, approval_id: str, *, who: str, how: str) -> SendView:
    approval = await house.stored(house.store.approvals.approve, approval_id, who=who, how=how)
    send = await house.stored(house.store.outbox.get, approval.send_id)
    return await audited(house, Record.of_send(send, "approve", how, house.now()), _release(house, send))


async def reject(house: House, approval_id: str, *, who: str, how: str) -> SendView:
    approval = await house.stored(house.store.approvals.reject, approval_id, who=who, how=how)
    send = await house.stored(house.store.outbox.get, approval.send_id)

    def clear() -> None:
        path = house.vault.find(file_name(send.kind, approval.approval_id))
        if path is not None and path.parent.name != REJECTED:
            house.vault.claim(path, REJECTED)

    with suppress(PostroomError):  # the file is a paper of ours; the word was taken
        await house.stored(clear)
    return await audited(house, Record.of_send(send, "reject", how, house.now()), receipt(house, send))


async def heed_vault(house: House) -> int:
    """Act on what a person moved in the vault. Answers how many files led to something."""
    heeded = 0
    for found in await house.stored(lambda: list(_news(house))):
        try:
            await _heed(house, found)
            heeded += 1
        except PostroomError:
            continue  # a file that approves nothing stays where it is, for a person to look at
    return heeded


async def unheeded(house: House) -> tuple[tuple[str, str], ...]:
    """Files in Approved that lead to nothing, each with the reason: for a person who wonders. The newest hundred.

    Before them, whole folders that are not heeded.
    """

    def look() -> tuple[tuple[str, str], ...]:
        reasons = [(guarded(found.path.name), _problem(house, found)) for found in house.vault.newest(APPROVED, 100)]
        return (*house.vault.troubles(), *((name, reason) for name, reason in reasons if reason))

    return await house.stored(look)


def _problem(house: House, found: Found) -> str:
    if found.file is None:
        return found.problem
    if not found.file.approval_id:
        return ""  # written by hand; whether it counts depends on the mail it is for
    try:
        _check_covers(house, found.file)
    except PostroomError as error:
        return error.message
    return ""


async def tidy_vault(house: House) -> None:
    """Files of sends that are over leave the folders where something is still to be decided."""

    def tidy() -> None:
        waiting = house.store.approvals.pending_ids()
        for folder in (PENDING, APPROVED):
            for name in house.vault.names(folder):
                approval_id = approval_id_of(name)
                if approval_id and approval_id not in waiting:
                    _file_away(house, approval_id, house.vault.root / folder / name)

    await house.stored(tidy)


def _file_away(house: House, approval_id: str, path: Path) -> None:
    with suppress(PostroomError):  # an approval of another house, or of long ago
        send = house.store.outbox.get(house.store.approvals.get(approval_id).send_id)
        if send.state in FINISHED:
            house.vault.claim(path, DONE if send.state is State.DONE else REJECTED)


def _news(house: House) -> Iterator[Found]:
    """Files in Approved and Rejected that name an approval still pending. Everything else costs nothing."""
    pending = house.store.approvals.pending_ids()
    if not pending:
        return
    for folder in (APPROVED, REJECTED):
        for found in house.vault.scan(folder):
            if found.file is not None and found.file.approval_id in pending:
                yield found


async def _heed(house: House, found: Found) -> None:
    assert found.file is not None
    if found.path.parent.name == REJECTED:
        await reject(house, found.file.approval_id, who="vault", how="vault")
        return
    await house.stored(_check_covers, house, found.file)
    await _grant(house, found.file.approval_id, who="vault", how="vault")


def _check_covers(house: House, file: ApprovalFile) -> None:
    """The file must still be the one that was written, but for the status a person set."""
    approval = house.store.approvals.get(file.approval_id)
    send = house.store.outbox.get(approval.send_id)
    if file.status != "approved":
        raise Conflict("The file was moved, but its status is not `approved`.")
    _check_same(approval, send, file)


def _check_same(approval: Approval, send: Send, file: ApprovalFile) -> None:
    if send.content_sha256 != approval.content_sha256:
        raise PermissionDenied(_OTHER_BYTES)
    if file.content_sha256 != approval.content_sha256 or file.fingerprint != approval.asked:
        raise PermissionDenied("The file no longer says what was asked about. It approves nothing.")


def _verified(house: House, approval_id: str) -> ApprovalFile:
    """The file of an approval, if it still says what was asked, and if that is still what would leave."""
    approval = house.store.approvals.get(approval_id)
    send = house.store.outbox.get(approval.send_id)
    path = house.vault.find(file_name(send.kind, approval.approval_id))
    if path is None:
        raise NotFound(
            f"The file of approval {approval.approval_id} is no longer in the vault, so nobody can read what would be "
            "sent. Reject it; the mail can be asked for again."
        )
    found = house.vault.look_again(Found(path, None))
    if found.file is None:
        raise PermissionDenied(found.problem)
    _check_same(approval, send, found.file)
    _check_stored(house, send)
    return found.file


def _check_stored(house: House, send: Send) -> None:
    if send.state in FINISHED:  # its bytes are gone, and nothing of it will leave any more
        return
    if stored_digest(send, house.store.outbox.request(send.send_id)) != send.content_sha256:
        raise PermissionDenied(_OTHER_BYTES)


async def _release(house: House, send: Send) -> SendView:
    """Conflict: a running server took it up in the same moment. RateLimited: it waits. It leaves once all the same."""
    try:
        send = await dispatch.go_on(house, send)
    except (Conflict, RateLimited):
        send = await house.stored(house.store.outbox.get, send.send_id)
    return await receipt(house, send)


def _waiting(house: House, approval: Approval, send: Send) -> Waiting:
    return Waiting(
        approval_id=approval.approval_id,
        send_id=send.send_id,
        account=send.account,
        kind=send.kind,
        recipients=tuple(map(visible_email, send.recipients)),
        created=house.shown_time(approval.created_at),
        expires=house.shown_time(approval.expires_at),
    )


async def resolve(house: House, send_id: str, verdict: Verdict) -> SendView:
    """A person's word on a send nobody else could decide: it was sent, send it again, or drop it."""
    decided = await house.stored(house.store.outbox.resolve, send_id, verdict)
    after = receipt(house, decided) if verdict == "drop" else _release(house, decided)
    return await audited(house, Record.of_send(decided, f"resolve_{verdict}", "command line", house.now()), after)
