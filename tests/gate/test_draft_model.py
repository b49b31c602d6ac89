"""Saved drafts against a simple model of them: two processes write, change, throw away, bring back and send the same
ones, each also in the middle of what the other does.

The model applies a change when the provider has made it, and all else when its result is returned. It knows of a draft
which words it has now, and whether it is free, on its way, sent or in the trash: whatever a call says it has done must
have been possible then. Every run tries seeds nobody has tried before: ``MODEL_SEEDS=200 pytest
tests/gate/test_draft_model.py``.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import anyio
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, SetClock, gate_rig
from tests.gate.services import SERVICES, MailService

from postroom.model.errors import Conflict, NotFound, PermissionDenied
from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.service.sending import outbox, send, worker
from postroom.service.sending.approval import approvals
from postroom.service.writing import draft as drafts
from postroom.store import State
from postroom.store.sends.states import FINISHED

WAITING = State.AWAITING_APPROVAL
WAIT = 50.0  # seconds that what is held waits
PROMISES = ("sent", "held", "scheduled", "needs_approval")
AT_PROVIDER = ("find_draft", "update_draft", "delete_draft", "move", "envelopes", "fetch_raw", "submit")


@dataclass
class Known:
    draft_id: str
    email_id: str
    words: str
    state: str = "free"
    send_id: str = ""
    approval_id: str = ""
    trashed_by: str = ""  # the operation


class Two:
    """The processes, the model, and what was said to have been sent."""

    def __init__(self, rigs: tuple[GateRig, GateRig], service: MailService | None) -> None:
        self.rigs = rigs
        self.service = service
        self.known: list[Known] = []
        self.versions = 0
        self.promised: dict[str, str] = {}  # send ids by words
        self.stopped: set[str] = set()
        self.meanwhile: tuple[str, bool, Callable[[], Awaitable[None]]] | None = None
        self.changing: dict[int, tuple[Known, str]] = {}  # by process: what it gives which words

    async def listen(self) -> None:
        for rig in self.rigs:
            account = await rig.gateway.accounts.open("alice")
            for target in (account.mailbox, account.transport):
                for name in AT_PROVIDER:
                    if hasattr(target, name):
                        self._overhear(target, name, rig)

    def _overhear(self, target: Any, name: str, rig: GateRig) -> None:
        real = getattr(target, name)

        async def overheard(*args: Any, **kwargs: Any) -> Any:
            await self._interrupt(name, before=True)
            result = await real(*args, **kwargs)
            if name == "update_draft":
                self._changed(rig)
            await self._interrupt(name, before=False)
            return result

        setattr(target, name, overheard)

    async def _interrupt(self, name: str, *, before: bool) -> None:
        if self.meanwhile is not None and self.meanwhile[:2] == (name, before):
            _, _, work = self.meanwhile
            self.meanwhile = None
            await work()

    # --- what is done

    async def do(self, step: Step, rig: GateRig) -> None:
        if step.verb == "write" or not self.known:
            await self._write(rig)
            return
        known = self.known[step.which % len(self.known)]
        with suppress(Conflict, NotFound, PermissionDenied):
            await VERBS[step.verb](self, rig, known)

    def _words(self) -> str:
        self.versions += 1
        return f"version {self.versions}"

    async def _write(self, rig: GateRig) -> None:
        words = self._words()
        saved = await drafts.create_draft(rig.gateway, replace(MAIL, subject=words))
        self.known.append(Known(saved.draft_id, saved.email_id, words))

    async def _update(self, rig: GateRig, known: Known) -> None:
        self.changing[id(rig)] = known, (words := self._words())
        try:
            await drafts.update_draft(rig.gateway, known.draft_id, drafts.DraftChanges(subject=words))
            assert id(rig) not in self.changing, "said to be changed"
        finally:
            self.changing.pop(id(rig), None)

    def _changed(self, rig: GateRig) -> None:
        """When the provider has done it: before the result is there, the other process may do more with the draft."""
        if id(rig) in self.changing:
            known, words = self.changing.pop(id(rig))
            assert known.state == "free", f"changed although {known.state}"
            known.words = words

    async def _delete_draft(self, rig: GateRig, known: Known) -> None:
        self._trashed(known, await drafts.delete_draft(rig.gateway, known.draft_id))

    async def _delete_email(self, rig: GateRig, known: Known) -> None:
        view = await organise.delete(rig.gateway, [known.email_id])
        if view.succeeded:
            self._trashed(known, view.operation_id)

    def _trashed(self, known: Known, operation_id: str) -> None:
        """Twice, by two who found it in Drafts, is no harm; who finds it in the trash already has done nothing."""
        assert known.state in ("free", "trashed"), f"thrown away although {known.state}"
        if operation_id:
            known.state, known.trashed_by = "trashed", operation_id

    async def _undo(self, rig: GateRig, known: Known) -> None:
        if known.trashed_by:
            view = await organise.undo(rig.gateway, known.trashed_by)
            if view.succeeded and not view.failed:
                assert known.state == "trashed", f"brought back although {known.state}"
                known.state, known.trashed_by = "free", ""

    async def _send_now(self, rig: GateRig, known: Known) -> None:
        await self._send(rig, known)

    async def _send_later(self, rig: GateRig, known: Known) -> None:
        await self._send(rig, known, send_at=rig.gateway.now() + timedelta(seconds=WAIT))

    async def _ask(self, rig: GateRig, known: Known) -> None:
        await self._send(rig, known, require_approval=True)

    async def _send(self, rig: GateRig, known: Known, **wishes: Any) -> None:
        order = await send.order_draft(rig.gateway, known.draft_id, replace(CONFIRMED, **wishes))
        assert isinstance(order, send.Order)
        view = await send.send(rig.gateway, order)
        if view.status == "already_executed":
            assert view.send_id == self.promised.get(order.draft.subject)
        elif view.status in PROMISES and view.send_id != known.send_id:
            assert known.state == "free", f"sent although {known.state}"
            assert order.draft.subject == known.words, "words that were replaced"
            self.promised[known.words] = view.send_id
            known.send_id, known.state = view.send_id, "sent" if view.status == "sent" else "on its way"
            known.approval_id = view.approval.approval_id if view.approval else ""

    async def _cancel(self, rig: GateRig, known: Known) -> None:
        if known.send_id:
            await outbox.cancel_send(rig.gateway, known.send_id)
            self._stopped(known)

    async def _approve(self, rig: GateRig, known: Known) -> None:
        if known.approval_id:
            view = await approvals.approve(rig.gateway, known.approval_id, who="ada", how="test")
            assert view.status != "sent" or view.send_id == known.send_id, "sent after it was over"

    async def _refuse(self, rig: GateRig, known: Known) -> None:
        if known.approval_id:
            await approvals.reject(rig.gateway, known.approval_id, who="ada", how="test")
            self._stopped(known)

    def _stopped(self, known: Known) -> None:
        self.stopped.add(known.send_id)
        known.send_id, known.approval_id, known.state = "", "", "free"

    # --- what must hold

    async def work(self, rig: GateRig) -> None:
        rig.time.pass_(2 * WAIT)
        await worker.work_once(rig.gateway)
        await self.look()

    async def look(self) -> None:
        rig = self.rigs[0]
        arrived, promised = await self._arrived(rig), Counter(self.promised.keys())
        assert not arrived - promised, "nobody sent it off"
        for words, send_id in self.promised.items():
            state = rig.gateway.store.outbox.get(send_id).state
            assert arrived[words] == (state is State.DONE), f"{words} is {state.value}"
            assert state is not State.NEEDS_HUMAN, "nobody but Postroom was there"
            for known in self.known:
                if known.send_id == send_id and state is State.DONE:
                    known.state = "sent"
            assert (send_id in self.stopped) == (state is State.CANCELLED)
        there = {row.subject for row in (await drafts.list_drafts(rig.gateway, account="alice", limit=100)).results}
        assert there == {known.words for known in self.known if known.state in ("free", "on its way")}

    async def look_back(self) -> None:
        """Nothing is left to do, and what was sent was never taken for the draft that it came from."""
        rig = self.rigs[0]
        assert {row.state for row in rig.gateway.store.outbox.list(limit=1000).items} <= FINISHED | {WAITING}
        assert await self._listed(rig, "alice", "Sent") == await self._arrived(rig)

    async def _arrived(self, rig: GateRig) -> Counter[str]:
        return await self._listed(rig, "bob", "INBOX")

    async def _listed(self, rig: GateRig, account: str, mailbox: str) -> Counter[str]:
        page = await search.list_emails(rig.gateway, account=account, mailbox=mailbox, limit=100)
        return Counter(row.subject for row in page.results)


VERBS: dict[str, Callable[[Two, GateRig, Known], Awaitable[None]]] = {
    "update": Two._update,
    "delete_draft": Two._delete_draft,
    "delete_email": Two._delete_email,
    "undo": Two._undo,
    "send_now": Two._send_now,
    "send_later": Two._send_later,
    "cancel": Two._cancel,
    "ask": Two._ask,
    "approve": Two._approve,
    "refuse": Two._refuse,
}


@dataclass(frozen=True)
class Step:
    """`by` the one process, and `meanwhile`, when the provider is asked for something, another by the other one."""

    verb: str
    which: int
    by: int
    meanwhile: str = ""
    at: str = ""
    before: bool = False


STEPS = st.lists(
    st.builds(
        Step,
        verb=st.sampled_from(("write", "work", *VERBS)),
        which=st.integers(0, 2),
        by=st.integers(0, 1),
        meanwhile=st.sampled_from(("", "", *VERBS)),
        at=st.sampled_from(AT_PROVIDER),
        before=st.booleans(),
    ),
    min_size=10,
    max_size=25,
)


async def live(steps: list[Step], service: MailService | None) -> None:
    home, time = Path(mkdtemp(dir=os.environ.get("TMPDIR"))), SetClock()
    more: dict[str, Any] = {"accounts": service.accounts()} if service else {}
    more |= {"sends_per_hour": 1000}
    async with AsyncExitStack() as stack:
        rigs = [await stack.enter_async_context(gate_rig(home, time=time, **more)) for _ in range(2)]
        two = Two((rigs[0], rigs[1]), service)
        await two.listen()
        for step in steps:
            rig, other = rigs[step.by], rigs[1 - step.by]
            if step.meanwhile:
                then = replace(step, verb=step.meanwhile)
                two.meanwhile = (step.at, step.before, lambda then=then, other=other: two.do(then, other))  # type: ignore[misc]
            await (two.work(rig) if step.verb == "work" else two.do(step, rig))
            two.meanwhile = None
            await two.look()
        await two.work(rigs[0])
        await two.work(rigs[1])
        await two.look_back()


def try_seed(number: int, service: MailService | None = None, examples: int = 15) -> None:
    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, phases=(Phase.generate,))
    @given(steps=STEPS)
    def tried(steps: list[Step]) -> None:
        anyio.run(live, steps, service)

    try:
        tried()
    except BaseException as failure:
        failure.add_note(f"seed {number}")
        raise


def new_seeds(usual: int) -> list[int]:
    return [secrets.randbelow(2**32) for _ in range(int(os.environ.get("MODEL_SEEDS", usual)))]


def test_two_processes_with_the_same_drafts_never_say_what_is_not_so() -> None:
    for number in new_seeds(2):
        try_seed(number)


@pytest.mark.parametrize("name", SERVICES)
def test_nor_do_they_where_a_service_sends_the_drafts(name: str) -> None:
    with SERVICES[name].started() as service:
        for number in new_seeds(1):
            try_seed(number, service, examples=5)
