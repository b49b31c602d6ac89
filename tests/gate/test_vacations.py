"""A vacation reply passes the gate on every provider: exactly what was approved, once, or a person decides."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.faults.scenarios import approve_pending
from tests.gate.rigs import GateRig, gate_rig
from tests.gate.services import Gmail, Graph
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.faultproxy import faulty
from tests.peers.gmail import FakeGmail
from tests.peers.graph import FakeGraph
from tests.peers.jmap import ADDRESS, TOKEN, FakeJmap

from postroom.model.errors import PostroomError
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.model.vacation import vacation_of
from postroom.providers import vacations
from postroom.service.sending import outbox, send, vacation, worker
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Wishes
from postroom.service.sending.vacation import VacationRequest
from postroom.service.views import SendView

AWAY = VacationRequest("Away", "Back on Monday.\n.\nBye", "2030-01-01", "2030-01-31")
PLAIN = VacationRequest("Away", "Back on Monday.", "2030-01-01", "2030-01-31")
BOB = {"name": "bob", "provider": "local", "address": "bob@demo.example", "path": "bob.db"}
BY_HAND = {"who": "a person", "how": "command line"}


class Service(ABC):
    """A mail service with one account; `losing` has the answer to the next change get lost after it took effect."""

    away = PLAIN

    @abstractmethod
    def account(self) -> dict[str, Any]: ...

    @contextmanager
    @abstractmethod
    def losing(self) -> Iterator[None]: ...


class OnGmail(Service):
    def __init__(self, fake: FakeGmail) -> None:
        self._fake = fake

    def account(self) -> dict[str, Any]:
        return Gmail(self._fake).account("alice")

    @contextmanager
    def losing(self) -> Iterator[None]:
        self._fake.cut_next("PUT", "settings.updateVacation", after_effect=True)
        yield
        self._fake.forget_faults()


class OnGraph(Service):
    away = VacationRequest("", PLAIN.body, PLAIN.first_day, PLAIN.last_day)  # Outlook writes the subject

    def __init__(self, fake: FakeGraph) -> None:
        self._fake = fake

    def account(self) -> dict[str, Any]:
        return Graph(self._fake).account("alice")

    @contextmanager
    def losing(self) -> Iterator[None]:
        self._fake.cut_next("PATCH", "mailboxSettings.update", after_effect=True)
        yield
        self._fake.forget_faults()


class OnJmap(Service):
    def __init__(self, fake: FakeJmap) -> None:
        self._fake = fake

    def account(self) -> dict[str, Any]:
        login = {"session_url": self._fake.url, "token": TOKEN}
        return {"name": "alice", "provider": "jmap", "address": ADDRESS, **login}

    @contextmanager
    def losing(self) -> Iterator[None]:
        self._fake.cut_next("POST", "VacationResponse/set", after_effect=True)
        yield
        self._fake.forget_faults()


class OnSieve(Service):
    away = AWAY

    def __init__(self, dovecot: Dovecot, proxy: Any) -> None:
        self._user, self._dovecot, self._proxy = dovecot.new_user(), dovecot, proxy

    def account(self) -> dict[str, Any]:
        imap = {"host": self._dovecot.host, "port": self._dovecot.imap, "security": "none", "password": PASSWORD}
        sieve = {"sieve_host": self._dovecot.host, "sieve_port": self._proxy.port, "sieve_security": "none"}
        smtp = {"smtp_host": self._dovecot.host, "timeout": 5}
        return {"name": "alice", "provider": "imap", "address": self._user, **imap, **sieve, **smtp}

    @contextmanager
    def losing(self) -> Iterator[None]:
        self._proxy.reset(swallow_after=b"SETACTIVE")
        yield
        self._proxy.reset()


@pytest.fixture(params=["gmail", "graph", "jmap", "sieve"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    if request.param == "gmail":
        with FakeGmail.started() as gmail:
            yield OnGmail(gmail)
    elif request.param == "graph":
        with FakeGraph.started() as graph:
            yield OnGraph(graph)
    elif request.param == "jmap":
        with FakeJmap().run() as jmap:
            yield OnJmap(jmap)
    else:
        dovecot = request.getfixturevalue("dovecot")
        with faulty(dovecot.sieve) as proxy:
            yield OnSieve(dovecot, proxy)


async def ordered(gate: GateRig, request: VacationRequest, **wishes: Any) -> SendView:
    order = await vacation.order_vacation(gate.gateway, request, Wishes(confirm=True, **wishes))
    return await send.send(gate.gateway, order)


async def state(gate: GateRig) -> tuple[bool, str, str]:
    found = await vacation.get_vacation(gate.gateway)
    return found.enabled, found.subject if found.enabled else "", found.body if found.enabled else ""


async def test_what_a_person_approved_is_on_exactly_so_and_once(tmp_path: Any, service: Service) -> None:
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        asked = await ordered(gate, service.away)
        assert asked.approval is not None
        letter = await approvals.show(gate.gateway, asked.approval.approval_id)
        assert (await state(gate))[0] is False
        approve_pending(gate.gateway.vault.root)
        for _ in range(2):
            await worker.work_once(gate.gateway)

        assert await state(gate) == (True, service.away.subject, service.away.body)
        for line in service.away.body.splitlines():
            assert line in letter
        for words in (service.away.subject, "2030-01-01", "2030-02-01"):
            assert words in letter
        (row,) = (await outbox.list_outbox(gate.gateway, include_finished=True)).results
        assert row.state == "done"
        await vacation.stop_vacation(gate.gateway, VacationRequest())
        await worker.work_once(gate.gateway)
        assert (await state(gate))[0] is False


async def test_one_without_a_subject_is_left_to_the_server_to_name(tmp_path: Any, service: Service) -> None:
    request = VacationRequest("", PLAIN.body, PLAIN.first_day, PLAIN.last_day)
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        asked = await ordered(gate, request)
        assert asked.approval is not None
        letter = await approvals.show(gate.gateway, asked.approval.approval_id)
        done = await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
        assert ("the mail server writes one" in letter, done.status) == (True, "sent")
        assert await state(gate) == (True, "", PLAIN.body)


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), 'Monday', 'Friday') AS BLOB)",
        "UPDATE outbox_raw SET raw = CAST(replace(CAST(raw AS TEXT), '2030-02', '2040-02') AS BLOB)",
        "UPDATE outbox SET content_sha256 = 'x'",
    ],
)
async def test_what_was_changed_after_the_approval_is_never_switched_on(
    tmp_path: Any, service: Service, tamper: str
) -> None:
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        asked = await ordered(gate, service.away)
        assert asked.approval is not None
        with sqlite3.connect(tmp_path / "state.db") as database:
            assert database.execute(tamper).rowcount == 1
        with pytest.raises(PostroomError):
            await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
        await worker.work_once(gate.gateway)
        assert (await state(gate))[0] is False


async def test_a_lost_answer_is_settled_by_reading_it_back(tmp_path: Any, service: Service) -> None:
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        asked = await ordered(gate, service.away)
        assert asked.approval is not None
        with service.losing():
            done = await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
            for _ in range(3):
                gate.time.pass_(4000)
                await worker.work_once(gate.gateway)
        (row,) = (await outbox.list_outbox(gate.gateway, include_finished=True)).results
        assert (done.status, row.state) == ("sent", "done")
        assert await state(gate) == (True, service.away.subject, service.away.body)


async def test_what_somebody_switched_off_meanwhile_is_not_switched_on_again(
    tmp_path: Any, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is lost, and before anybody looks it is switched off elsewhere: a person decides, not another try."""
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        opened = await gate.gateway.accounts.open()
        asked = await ordered(gate, service.away)
        assert asked.approval is not None

        async def lost(request: SubmitRequest, start: Any) -> SubmitOutcome:
            assert request.native is not None
            await start(vacation_of(request.native))
            await opened.vacations.stop_vacation()
            return SubmitOutcome("unknown", reason="The answer never came.")

        monkeypatch.setattr(vacations, "switch_on", lost)
        done = await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
        monkeypatch.undo()
        for _ in range(3):
            gate.time.pass_(4000)
            await worker.work_once(gate.gateway)
        (row,) = (await outbox.list_outbox(gate.gateway)).results
        assert (done.status, row.state) == ("unknown", "needs_human")
        assert (await state(gate))[0] is False
        await approvals.resolve(gate.gateway, row.send_id, "drop")
        assert (await state(gate))[0] is False


async def test_an_account_that_was_removed_before_the_approval_stays_as_it_is(tmp_path: Any, service: Service) -> None:
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        asked = await ordered(gate, service.away)
        assert asked.approval is not None
    async with gate_rig(tmp_path, gate="approval", accounts=[BOB]) as gate:
        with pytest.raises(PostroomError):
            await approvals.approve(gate.gateway, asked.approval.approval_id, **BY_HAND)
        await worker.work_once(gate.gateway)
    async with gate_rig(tmp_path, accounts=[service.account()], gate="approval") as gate:
        assert (await state(gate))[0] is False
