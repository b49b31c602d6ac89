"""The gate against a simple model of it: any order of calls, crashes, approvals, lies and lost answers.

The model knows only what was promised and what was forbidden. A mail that was called sent has arrived, once; one that
nobody approved, or of which it was said that nothing was sent, has not; and what cannot be decided is shown.

Every run tries seeds nobody has tried before. A seed that fails is named in the failure and belongs into
`model_seeds.txt`, whose seeds every run tries again. More of them: ``MODEL_SEEDS=200 pytest tests/gate/test_model.py``.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.gate.rigs import MAIL, SetClock, gate_rig
from tests.gate.transports import staging

from postroom.model.errors import AuthRequired, Conflict, InternalError, PermissionDenied, RateLimited
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.service.reading import search
from postroom.service.sending import outbox, worker
from postroom.service.sending.approval import approvals
from postroom.service.views import SendView
from postroom.store import State
from postroom.store.sends.states import FINISHED

R = TypeVar("R")
LIMIT = 6
TEMPERS = st.sampled_from(
    (
        *("willing", "deaf", "mute", "mute and blind", "busy", "locked", "hostile", "deadly before", "deadly after"),
        *("mute when staging", "deadly when staging"),
    )
)
ANY = st.integers(0, 10**6)  # which of several: names are random, their number and order are not
SEEDS = Path(__file__).with_name("model_seeds.txt")


class Died(BaseException):
    """The process ends here; nothing of ours may catch it."""


@dataclass
class Order:
    """What the model knows of one mail."""

    subject: str
    key: str
    wants_approval: bool
    approved: bool = False
    stopped: bool = False  # somebody said no
    unsent: bool = False  # it was said that nothing was sent
    promised: bool = False
    asked_at: float = 0.0


class GateMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.home = Path(mkdtemp())
        self.time = SetClock()
        self.orders: list[Order] = []
        self.by_digest: dict[str, Order] = {}
        self.temper = "willing"
        self.stages = False  # whether the provider submits what lies in Drafts
        self.moments: list[float] = []  # boot times at which the provider took something
        self.handed_over = ""  # the send the provider is looking at
        self.taken: Counter[str] = Counter()  # how often the provider took a send
        self.resends: Counter[str] = Counter()  # how often a person had it sent again
        self.run(self.open())

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return self.runner.run(work)

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.gate = await self.stack.enter_async_context(gate_rig(self.home, time=self.time, sends_per_hour=LIMIT))
        meddled = await self.gate.meddle()
        meddled.before, meddled.after, meddled.reconciled = self.before, self.after, self.reconciled
        if self.stages:
            (await staging(self.gate)).after = self.staging

    # --- the provider

    def before(self, request: SubmitRequest) -> SubmitOutcome | None:
        self.handed_over = request.attempt_id
        if self.temper == "deadly before":
            raise Died
        if self.temper == "deaf":
            raise ConnectionResetError
        if self.temper == "locked":
            raise AuthRequired("535")
        states = {"busy": "retryable", "hostile": "rejected"}
        return SubmitOutcome(states[self.temper], reason="no") if self.temper in states else None  # type: ignore[arg-type]

    def after(self, outcome: SubmitOutcome) -> SubmitOutcome:
        self.taken[self.handed_over] += 1
        self.moments.append(self.time.boottime)
        if self.temper == "deadly after":
            raise Died
        if self.temper.startswith("mute"):
            raise ConnectionResetError
        return outcome

    def reconciled(self, _: SubmitRequest) -> SubmitOutcome | None:
        return SubmitOutcome("unknown") if self.temper == "mute and blind" else None

    def staging(self, step: str) -> None:
        if step in ("stage", "find_staged", "staged") and self.temper == "mute when staging":
            raise ConnectionResetError
        if step == "stage" and self.temper == "deadly when staging":
            raise Died

    # --- what happens

    @initialize(stages=st.booleans())
    def begin(self, stages: bool) -> None:
        self.stages = stages
        self.die()
        self.send_something(key=True, approval=False, temper="willing")

    @rule(key=st.booleans(), approval=st.booleans(), temper=TEMPERS)
    def send_something(self, key: bool, approval: bool, temper: str) -> None:
        self.temper = temper
        number = len(self.orders)
        order = Order(f"mail {number}", f"key {number}" if key else "", approval, asked_at=self.time.boottime)
        self.orders.append(order)
        self.call(order)

    @precondition(lambda self: self.repeatable())
    @rule(which=ANY)
    def call_again(self, which: int) -> None:
        known = self.repeatable()
        self.call(known[which % len(known)])

    @precondition(lambda self: any(self.has_key(order) and order.promised for order in self.orders))
    @rule(which=ANY)
    def use_a_spent_key_for_another_mail(self, which: int) -> None:
        spent = [order for order in self.orders if self.has_key(order) and order.promised]
        before = self.run(self.arrived())
        try:
            self.run(self.gate.send(replace(MAIL, subject="smuggled"), idempotency_key=spent[which % len(spent)].key))
        except Conflict:
            assert self.run(self.arrived()) == before
        else:
            raise AssertionError("one key, two mails")

    @rule(seconds=st.sampled_from([61, 700, 4000, 20_000, 6 * 86_400]), temper=TEMPERS)
    def time_passes(self, seconds: int, temper: str) -> None:
        self.time.pass_(seconds)
        self.the_worker_works(temper)

    @rule(temper=TEMPERS)
    def the_worker_works(self, temper: str) -> None:
        self.temper = temper
        self.survive(worker.work_once(self.gate.gateway))

    @rule(days=st.sampled_from([-31, -2, -0.1, 0.1, 2, 31]))
    def somebody_sets_the_clock(self, days: float) -> None:
        """And old things are forgotten right then."""
        self.time.wall += days * 86_400
        self.gate.gateway.store.prune()

    @rule()
    def the_process_dies(self) -> None:
        self.die()

    @rule(which=ANY, honest=st.booleans(), yes=st.booleans())
    def a_person_moves_a_file(self, which: int, honest: bool, yes: bool) -> None:
        texts = {path: path.read_text() for path in (self.gate.gateway.vault.root / "Pending_Approval").glob("*.md")}
        about = sorted((self.named_in(text).subject, path) for path, text in texts.items())
        if not about:
            return
        path = about[which % len(about)][1]
        order, text = self.named_in(texts[path]), texts[path].replace("status: pending", "status: approved")
        path.write_text(text if honest else text.replace("noon", "midnight"))
        path.rename(path.parent.parent / ("Approved" if yes else "Rejected") / path.name)
        order.approved |= honest and yes
        self.survive(worker.work_once(self.gate.gateway))

    @rule(which=ANY)
    def somebody_cancels(self, which: int) -> None:
        rows = self.run(outbox.list_outbox(self.gate.gateway, limit=100)).results
        if not rows:
            return
        send_id = rows[which % len(rows)].send_id
        try:
            view = self.run(outbox.cancel_send(self.gate.gateway, send_id))
        except Conflict:
            return
        order = self.order_of(send_id)
        self.believe(order, view)
        order.stopped, order.promised = True, False

    @rule(which=ANY, verdict=st.sampled_from(["sent", "resend", "drop"]))
    def a_person_decides_what_nobody_knows(self, which: int, verdict: Any) -> None:
        rows = self.run(outbox.list_outbox(self.gate.gateway, limit=100)).results
        unclear = [row.send_id for row in rows if row.state == State.NEEDS_HUMAN]
        if not unclear:
            return
        send_id = unclear[which % len(unclear)]
        order = self.order_of(send_id)
        order.promised = False  # whatever comes of it now is on the person
        self.resends[send_id] += verdict == "resend"
        view = self.survive(approvals.resolve(self.gate.gateway, send_id, verdict))
        if view is not None and verdict == "drop":
            self.believe(order, view)

    @precondition(lambda self: self.stages)
    @rule(which=ANY, deleted=st.booleans())
    def somebody_lays_hands_on_what_is_staged(self, which: int, deleted: bool) -> None:
        mailbox = self.run(self.gate.gateway.accounts.open("alice")).mailbox
        lying = [saved.ref for saved, _ in self.run(mailbox.list_drafts(limit=100, offset=0)).items]
        if not lying:
            return
        ref = lying[which % len(lying)]
        if deleted:
            self.run(mailbox.delete_draft(ref))
        else:
            raw = self.run(mailbox.fetch_raw(ref))
            self.run(mailbox.update_draft(ref, re.sub(rb"Subject: [^\r]*", b"Subject: smuggled", raw)))

    # --- what must hold

    @invariant()
    def nothing_arrives_twice_lost_or_without_leave(self) -> None:
        arrived, open_ends = self.run(self.arrived()), self.open_ends()
        for order in self.orders:
            if order.promised:
                assert arrived[order.subject] or open_ends[order.subject], "forgotten"
            assert arrived[order.subject] <= 1, "twice"
            if order.wants_approval and not order.approved:
                assert not arrived[order.subject], "without approval"
            if order.unsent:
                assert not arrived[order.subject], "a lie, or after a no"
        assert not arrived["smuggled"]

    @invariant()
    def nothing_is_handed_over_twice_by_itself(self) -> None:
        for send_id, times in self.taken.items():
            assert times <= 1 + self.resends[send_id]

    @invariant()
    def no_hour_sees_more_than_its_share(self) -> None:
        for start in self.moments:
            assert sum(start <= moment <= start + 3600 for moment in self.moments) <= LIMIT

    def teardown(self) -> None:
        self.temper = "willing"
        for _ in range(15):
            self.time.pass_(20_000)
            self.run(worker.work_once(self.gate.gateway))
        resting = FINISHED | {State.NEEDS_HUMAN, State.AWAITING_APPROVAL}
        assert {send.state for send in self.sends()} <= resting
        self.nothing_arrives_twice_lost_or_without_leave()
        self.nothing_stays_staged_for_nobody()
        assert self.gate.gateway.store.audit.verify().ok
        self.run(self.stack.aclose())
        self.runner.close()
        shutil.rmtree(self.home)

    def nothing_stays_staged_for_nobody(self) -> None:
        """In the end Drafts holds what somebody changed, and what waits for a person or was left to one's word."""
        mailbox = self.run(self.gate.gateway.accounts.open("alice")).mailbox
        lying = {envelope.subject for _, envelope in self.run(mailbox.list_drafts(limit=100, offset=0)).items}
        with_people = [
            send for send in self.sends()
            if send.state is State.NEEDS_HUMAN or (send.outcome or {}).get("decided") == "sent"
        ]  # fmt: skip
        assert lying <= {"smuggled", *(self.order_of(send.send_id).subject for send in with_people)}

    # --- means

    def call(self, order: Order) -> None:
        mail = replace(MAIL, subject=order.subject)
        order.unsent &= order.stopped  # a key that the provider's refusal freed may send it now
        view = self.survive(self.gate.send(mail, idempotency_key=order.key, require_approval=order.wants_approval))
        if view is not None:
            has_word = view.status in ("sent", "already_executed", "held") and "A person confirmed" not in view.message
            order.promised |= has_word and not order.stopped
            self.believe(order, view)

    def believe(self, order: Order, view: SendView) -> None:
        """What an answer says of the whole mail. One that a person refused can be asked about again, without a key."""
        if view.status in ("rejected", "cancelled") and "nothing was sent" in view.message:
            order.promised = False
            order.unsent = bool(order.key) or not order.wants_approval

    def repeatable(self) -> list[Order]:
        """What may be called again without meaning a second mail: for a month with a key, for a day by its approval."""
        today = self.time.boottime - 86_000
        return [
            order
            for order in self.orders
            if self.has_key(order) or (order.wants_approval and not order.stopped and order.asked_at > today)
        ]

    def has_key(self, order: Order) -> bool:
        """A key that has not been forgotten."""
        return bool(order.key) and order.asked_at > self.time.boottime - 29 * 86_400

    def named_in(self, text: str) -> Order:
        return next(order for order in self.orders if f'subject: "{order.subject}"' in text)

    def survive(self, work: Coroutine[Any, Any, R]) -> R | None:
        """Errors are answers; death is followed by a new life."""
        try:
            return self.live(work)
        except (Conflict, RateLimited, PermissionDenied):
            return None
        except InternalError as error:  # somebody laid hands on it
            if "prepared at the provider" not in error.message:
                raise
            return None

    def live(self, work: Coroutine[Any, Any, R]) -> R | None:
        try:
            return self.run(work)
        except* Died:  # the worker takes up the sends of several accounts at once
            self.die()
        return None

    def die(self) -> None:
        """The lock of a dead process is dropped by the kernel; nobody says goodbye. A provider is calm again then."""
        self.temper = "willing" if self.temper.startswith("deadly") else self.temper
        self.gate.gateway.store._owner.disown()
        self.gate.gateway.store._database.close()
        self.run(self.open())

    def sends(self) -> Any:
        return self.gate.gateway.store.outbox.list(limit=1000).items

    def open_ends(self) -> Counter[str]:
        """Mails that still may leave, or that a person must decide about."""
        return Counter(self.order_of(send.send_id).subject for send in self.sends() if send.state not in FINISHED)

    def order_of(self, send_id: str) -> Order:
        digest = self.gate.gateway.store.outbox.get(send_id).content_sha256
        for order in self.orders[len(self.by_digest) :]:
            made = self.run(self.gate.order(replace(MAIL, subject=order.subject)))
            self.by_digest[made.digest] = order
        return self.by_digest[digest]

    async def arrived(self) -> Counter[str]:
        page = await search.list_emails(self.gate.gateway, account="bob", limit=100)
        return Counter(row.subject for row in page.results)


def try_seed(number: int) -> None:
    class Seeded(GateMachine):
        pass

    # Not shrunk: a history of 25 steps is read quicker than it is tried a thousand times. MODEL_SHRINK=1 does it.
    phases = (Phase.generate, Phase.shrink) if os.environ.get("MODEL_SHRINK") else (Phase.generate,)
    few = settings(
        max_examples=12, stateful_step_count=25, deadline=None, derandomize=False, database=None, phases=phases
    )
    try:
        run_state_machine_as_test(seed(number)(Seeded), settings=few)
    except BaseException as failure:
        failure.add_note(f"seed {number}: write it down in tests/gate/{SEEDS.name}")
        raise


@pytest.mark.parametrize("number", [int(line) for line in SEEDS.read_text().split()])
def test_what_once_failed_holds_now(number: int) -> None:
    try_seed(number)


def test_the_gate_keeps_its_promises_in_histories_nobody_has_tried() -> None:
    for _ in range(int(os.environ.get("MODEL_SEEDS", "3"))):
        try_seed(secrets.randbelow(2**32))
