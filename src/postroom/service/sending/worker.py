"""What happens without anyone calling: approvals given in the vault, holds that end, schedules, retries, old business.

One loop per process, each piece of work claimed by exactly one of them. In read-only mode there is no loop, and in dev
mode nothing that it handles is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

import anyio

from postroom.model.errors import PostroomError
from postroom.service.gateway import Gateway
from postroom.service.sending import dispatch, staging
from postroom.service.sending.approval import approvals, requests
from postroom.service.sending.auditing import Record, audit
from postroom.service.sending.receipts import receipt
from postroom.service.sending.waiting import park, rest
from postroom.store import Send

log = logging.getLogger("postroom.worker")
POLL_SECONDS = 1.0
_AN_HOUR = 3600.0
_PATIENCE = 30.0  # seconds that the sends of one account may take in a round; the rest is left to the next


async def run(gateway: Gateway, *, pause: float = POLL_SECONDS) -> None:
    """Until cancelled. Trouble with one send never stops the others, and no round stops the next.

    What is past its time is forgotten at the start and once an hour.
    """
    forgot_at = -_AN_HOUR
    while True:
        try:
            await work_once(gateway)
            if gateway.store.clock.boottime() - forgot_at >= _AN_HOUR:
                await gateway.in_thread(gateway.store.prune)
                forgot_at = gateway.store.clock.boottime()
        except PostroomError as error:
            log.warning("worker_paused", extra={"code": error.code})
        except Exception as error:  # noqa: BLE001 (the server must not die of what one round ran into)
            log.error("worker_paused", extra={"error_type": type(error).__name__})  # noqa: TRY400 (no traces in logs)
        await anyio.sleep(pause)


async def work_once(gateway: Gateway) -> int:
    """Do all that is due now; return how much there was. A vault that cannot be read keeps nothing else waiting."""
    await _recover(gateway)
    await gateway.in_thread(gateway.store.approvals.expire)
    await gateway.in_thread(gateway.store.worklist.expire_questions)
    await gateway.in_thread(gateway.store.worklist.restart_windows)
    due = await gateway.in_thread(gateway.store.worklist.due)
    async with anyio.create_task_group() as tasks:
        for sends in _by_account(due):
            tasks.start_soon(_take_up_all, gateway, sends)
    await staging.clear_left_over(gateway)
    await requests.write_letters(gateway)
    heeded = await approvals.heed_vault(gateway)
    await approvals.tidy_vault(gateway)
    return len(due) + heeded


async def _recover(gateway: Gateway) -> None:
    fallen = frozenset(gateway.abandoned)
    await gateway.in_thread(gateway.store.worklist.recover, fallen)
    gateway.abandoned -= fallen


def _by_account(due: Iterable[Send]) -> Collection[list[Send]]:
    found: dict[str, list[Send]] = {}
    for send in due:
        found.setdefault(send.account, []).append(send)
    return found.values()


async def _take_up_all(gateway: Gateway, sends: Sequence[Send]) -> None:
    """Of one account, whose server may be slow: those of others do not wait for it, and neither does the vault for all
    of these."""
    began = gateway.store.clock.boottime()
    for send in sends:
        try:
            if gateway.store.clock.boottime() - began < _PATIENCE:
                await _take_up(gateway, send)
            else:
                await park(gateway, send, 0.0, "")
        except Exception as error:  # noqa: BLE001 (those behind it are claimed as well, and nobody else takes them up)
            log.error("outbox", extra={"status": send.state.value, "error_type": type(error).__name__})  # noqa: TRY400
            gateway.abandoned.add(send.send_id)


async def _take_up(gateway: Gateway, send: Send) -> None:
    record = Record.of_send(send, send.tool, "worker", gateway.now())
    try:
        after = await dispatch.go_on(gateway, send)
        log.info("outbox", extra={"status": after.state.value, "attempt": after.attempt})
        record = record.ended((await receipt(gateway, after)).status)
    except PostroomError as error:
        log.warning("outbox", extra={"status": send.state.value, "code": error.code})
        after = await rest(gateway, send.send_id, error)
        record = record.failed(error)
    if after.state is not send.state:
        await audit(gateway, record)
