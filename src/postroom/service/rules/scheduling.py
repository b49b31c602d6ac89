"""Rules with a schedule, run by the server itself. Each run of a schedule is claimed by exactly one process.

A rule that demands a dry run waits until somebody has run a plan of it. A run that was cut short is finished before a
new one is planned. In read-only mode there is no loop.
"""

from __future__ import annotations

import logging

import anyio

from postroom.model.errors import InvalidRequest, PostroomError
from postroom.service.gateway import Gateway
from postroom.store import StoredRule

log = logging.getLogger("postroom.rules")
POLL_SECONDS = 15.0


async def run(gateway: Gateway, *, pause: float = POLL_SECONDS) -> None:
    """Until cancelled. Trouble with one rule never stops the others, and no round stops the next."""
    while True:
        try:
            await run_due(gateway)
        except PostroomError as error:
            log.warning("rules_paused", extra={"code": error.code})
        except Exception as error:  # noqa: BLE001 (the server must not die of what one rule ran into)
            log.error("rules_paused", extra={"error_type": type(error).__name__})  # noqa: TRY400 (no traces in logs)
        await anyio.sleep(pause)


async def run_due(gateway: Gateway) -> int:
    """Run what is due now; return how many rules were run."""
    count = 0
    for rule in await gateway.in_thread(gateway.store.rules.due):
        if _is_out_of_reach(gateway, rule) or not await gateway.in_thread(gateway.store.rules.take, rule):
            continue
        try:
            count += await _run(gateway, rule)
        except PostroomError as error:
            log.warning("rule_failed", extra={"rule_id": rule.rule_id, "code": error.code})
            await gateway.in_thread(gateway.store.rules.note_run, rule.rule_id, error.message)
    return count


def _is_out_of_reach(gateway: Gateway, rule: StoredRule) -> bool:
    """Its account is not configured here, or waits for a login that works."""
    try:
        gateway.accounts.named(rule.account)
    except InvalidRequest:
        return True
    paused = gateway.store.pauses.of(rule.account)
    return paused is not None and paused.lasts(gateway.store.clock.wall())


async def _run(gateway: Gateway, rule: StoredRule) -> bool:
    from postroom.service.rules.document import read_rule
    from postroom.service.rules.planning import make_plan
    from postroom.service.rules.running import run_rule

    definition = read_rule(rule.source)
    if definition.safety.dry_run_required and not rule.is_proven:
        return False
    plan = await gateway.in_thread(gateway.store.plans.unfinished, rule.rule_id)
    if plan is None:
        account = await gateway.accounts.open(rule.account)
        _, plan = await make_plan(gateway, account, definition, rule.source, rule_id=rule.rule_id, scheduled=True)
    view = await run_rule(gateway, plan.plan_id, scheduled=True)
    log.info("rule_run", extra={"rule_id": rule.rule_id, "succeeded": view.succeeded, "failed": view.failed})
    return True
