"""Run a plan: exactly its messages and actions, each message checked again, once.

A run is one operation in the journal with a part for each action, so that `undo` reverses it step by step. A run that
was cut short (a crash, a provider that stopped answering) goes on when it is run again: what is done is not done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import anyio

from postroom.model.errors import Conflict, NotFound, PermissionDenied, PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.rule import Definition
from postroom.service.accounts.folders import folders_of
from postroom.service.gateway import Account, Gateway
from postroom.service.ids.handles import BY_HANDLE
from postroom.service.organising.batch import Part, Progress, Wanted, carry_out
from postroom.service.organising.trails import catch_up
from postroom.service.presenting import error_view, rows
from postroom.service.rules.document import read_rule
from postroom.service.rules.effects import Step, plan_of, steps_of
from postroom.service.rules.forwarding import forward
from postroom.service.rules.planning import matching_of
from postroom.service.rules.resuming import before_run
from postroom.service.rules.views import RunItem, RunView, as_report, from_report
from postroom.service.rules.wording import action_text
from postroom.service.sending.auditing import Record, audit
from postroom.store import PlanItem, StoredPlan
from postroom.store.handles import unknown

_CHANGED = "It was changed since the plan was made and no longer matches the rule."
_GONE = "It is no longer there: another program deleted or moved it."


@dataclass
class Course:
    """A run under way: what is known of each of its messages, by handle."""

    plan: StoredPlan
    definition: Definition
    operation_id: str
    progress: Progress | None
    items: dict[str, RunItem]
    envelopes: dict[str, Envelope]
    done: int = 0
    stopped_by: PostroomError | None = None
    planned: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def waiting_for(self, step: Step) -> list[str]:
        """The messages that still get this action: it was planned, and nothing went wrong with them so far."""
        return [handle for handle, item in self.items.items() if item.ok and step.position in self.planned[handle]]

    def note(self, handle: str, step: Step, item: RunItem) -> None:
        before = self.items[handle]
        done = (*before.done, action_text(step.action)) if item.ok else before.done
        sent = item if item.send_status else before
        self.items[handle] = replace(
            item, email_id=before.email_id, done=done, send_status=sent.send_status, send_id=sent.send_id
        )

    async def advance(self, count: int) -> None:
        self.done += count
        if count and self.progress is not None:
            await self.progress(self.done, sum(map(len, self.planned.values())))


async def run_rule(
    gateway: Gateway, plan_id: str, *, progress: Progress | None = None, scheduled: bool = False
) -> RunView:
    """A second call for the same plan returns the first one's result. Conflict where the plan has expired, is being
    run, or its rule is gone or disabled."""
    plan = await _visible(gateway, plan_id)
    if plan.report is not None and plan.state == "done":
        return _again(plan)
    _require_writable(gateway)
    await _check_rule(gateway, plan)
    account = await gateway.accounts.open(plan.account)
    started = gateway.now()
    claimed = await gateway.in_thread(gateway.store.plans.claim, plan.plan_id)
    if claimed.state == "done":
        return _again(claimed)
    ended = False
    try:
        view = await _run(gateway, account, claimed, progress, scheduled)
        leave = gateway.store.plans.finish if view.status == "done" else gateway.store.plans.interrupt
        await gateway.in_thread(leave, plan.plan_id, as_report(view))
        ended = True
    finally:
        if not ended:
            with anyio.CancelScope(shield=True):
                await gateway.in_thread(gateway.store.plans.interrupt, plan.plan_id)
    await _remember(gateway, plan, view, scheduled)
    if read_rule(plan.source).safety.audit:
        await audit(gateway, _record(view, started, scheduled))
    return view


async def _run(
    gateway: Gateway, account: Account, plan: StoredPlan, progress: Progress | None, scheduled: bool
) -> RunView:
    definition = read_rule(plan.source)
    steps = await steps_of(account, definition.rule)
    course = await _begun(gateway, account, plan, definition, progress)
    for number, step in enumerate(steps):
        if course.stopped_by is not None:
            break
        handles = course.waiting_for(step)
        if handles and step.change is None:
            await _forward(gateway, account, course, step, handles, scheduled)
        elif handles:
            await _change(gateway, course, step, number, handles)
    return _ended(course, steps)


async def _begun(
    gateway: Gateway, account: Account, plan: StoredPlan, definition: Definition, progress: Progress | None
) -> Course:
    """Each message is looked at again. One that an earlier attempt has begun with is judged as it was before that: what
    was done to it may be why it no longer matches the rule."""
    operation_id = plan.operation_id or await _operation(gateway, plan)
    parts = await gateway.in_thread(gateway.store.journal.parts, operation_id)
    whole = await gateway.in_thread(gateway.store.journal.load, operation_id)
    if any(operation.undone_at is not None for operation in (whole, *parts)):
        raise Conflict("This run was cut short and then undone. Make a new plan with run_rule_plan.")
    await catch_up(gateway, [item for part in parts for item in part.items])
    found = await _envelopes(gateway, account, plan.items)
    there = {handle: envelope for handle, envelope in found.items() if envelope is not None}
    folders = await folders_of(account)
    untouched = before_run(there, parts, folders)
    matching = await matching_of(gateway, account, definition.rule, untouched, folders)
    refs = {envelope.ref for envelope in matching}
    shown = dict(zip(there, await rows(gateway, account, list(there.values())), strict=True))
    items = {}
    for handle, envelope in found.items():
        if envelope is None:
            items[handle] = RunItem(handle, False, skipped=_GONE)
        elif envelope.ref in refs:
            items[handle] = RunItem(shown[handle].email_id, True)
        else:
            items[handle] = RunItem(shown[handle].email_id, False, skipped=_CHANGED)
    planned = {item.handle: item.actions for item in plan.items}
    return Course(plan, definition, operation_id, progress, items, there, planned=planned)


async def _operation(gateway: Gateway, plan: StoredPlan) -> str:
    record = partial(gateway.store.journal.record, plan.account, "run_rule", [], {"plan_id": plan.plan_id})
    operation_id = await gateway.in_thread(record)
    await gateway.in_thread(gateway.store.plans.note_operation, plan.plan_id, operation_id)
    return operation_id


async def _envelopes(gateway: Gateway, account: Account, items: Sequence[PlanItem]) -> dict[str, Envelope | None]:
    handles = [item.handle for item in items]
    if not handles:
        return {}
    known = await gateway.in_thread(gateway.store.handles.resolve_many, handles, Kind.EMAIL)
    found = await account.mailbox.envelopes([handle.ref for handle in known])
    return dict(zip(handles, found, strict=True))


async def _change(gateway: Gateway, course: Course, step: Step, number: int, handles: list[str]) -> None:
    """A provider that fails before it has done anything of this step ends the run; what is done stays done."""
    before = course.done

    async def report(done: int, _: int) -> None:
        await course.advance(before + done - course.done)

    wanted = Wanted(handles, plan_of(step.action))
    try:
        view = await carry_out(gateway, [wanted], None, report, BY_HANDLE, Part(course.operation_id, number))
    except PostroomError as error:
        course.stopped_by = error
        for handle in handles:
            course.note(handle, step, RunItem("", False, error=error_view(error)))
        return
    for handle, item in zip(handles, view.results, strict=True):
        course.note(handle, step, RunItem("", item.ok, error=item.error))
    await course.advance(before + len(handles) - course.done)


async def _forward(
    gateway: Gateway, account: Account, course: Course, step: Step, handles: list[str], scheduled: bool
) -> None:
    for handle in handles:
        email_id, envelope = course.items[handle].email_id, course.envelopes[handle]
        item = await forward(gateway, account, course.definition, step.action, email_id, envelope, scheduled=scheduled)
        course.note(handle, step, item)
        await course.advance(1)


def _ended(course: Course, steps: Sequence[Step]) -> RunView:
    """Nothing done and the provider to blame: that is a failure of the call."""
    items = tuple(course.items.values())
    actions = sum(len(item.done) for item in items)
    if course.stopped_by is not None and not actions:
        raise course.stopped_by
    skipped = sum(bool(item.skipped) for item in items)
    succeeded = sum(item.ok for item in items)
    status = "done" if course.stopped_by is None else "stopped"
    plan = course.plan
    return RunView(
        operation_id=course.operation_id if any(step.change for step in steps) and actions else "",
        plan_id=plan.plan_id,
        rule_id=plan.rule_id,
        name=plan.name,
        account=plan.account,
        status=status,  # type: ignore[arg-type]
        message=_said(succeeded, skipped, len(items) - succeeded - skipped, status),
        results=items,
        succeeded=succeeded,
        skipped=skipped,
        failed=len(items) - succeeded - skipped,
        action_count=actions,
    )


def _said(succeeded: int, skipped: int, failed: int, status: str) -> str:
    counts = f"{succeeded} done, {skipped} skipped, {failed} failed."
    if status == "stopped":
        return f"The mail server stopped answering. {counts} Call run_rule with the same plan_id to continue."
    return counts


def _again(plan: StoredPlan) -> RunView:
    view = from_report(plan.report or {})
    return replace(view, status="already_executed", message=f"Already executed, not run again. {view.message}")


async def _visible(gateway: Gateway, plan_id: str) -> StoredPlan:
    plan = await gateway.in_thread(gateway.store.plans.get, plan_id)
    if not gateway.accounts.may_see(plan.account):
        raise unknown(plan_id, Kind.PLAN)
    return plan


def _require_writable(gateway: Gateway) -> None:
    if gateway.settings.server.read_only:
        raise PermissionDenied(
            "Postroom runs read-only: a rule can be planned but not run. Nothing was changed.", reason="read_only"
        )


async def _check_rule(gateway: Gateway, plan: StoredPlan) -> None:
    """A rule never changes; one that was deleted takes its plans with it."""
    if not plan.rule_id:
        return
    try:
        rule = await gateway.in_thread(gateway.store.rules.get, plan.rule_id)
    except NotFound:
        raise Conflict("The rule of this plan was deleted. Nothing was changed.") from None
    if not rule.enabled:
        raise Conflict(
            f"The rule {rule.rule_id} is disabled (enabled: false): it can be planned but not run. Nothing was changed."
        )


async def _remember(gateway: Gateway, plan: StoredPlan, view: RunView, scheduled: bool) -> None:
    if not plan.rule_id:
        return
    await gateway.in_thread(gateway.store.rules.note_run, plan.rule_id, view.message)
    if not scheduled and view.status == "done":
        await gateway.in_thread(gateway.store.rules.prove, plan.rule_id)


def _record(view: RunView, started: datetime, scheduled: bool) -> Record:
    record = Record.of_call("run_rule", started, view.plan_id)
    counts = {
        "succeeded": view.succeeded,
        "failed": view.failed,
        "count": view.action_count,
        "scheduled": scheduled,
        "state": view.status,
    }
    actor = "worker" if scheduled else "agent"
    return replace(record, entry=replace(record.entry, parameters=counts, actor=actor))
