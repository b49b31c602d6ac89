"""The vacation reply over JMAP (RFC 8621, 8): set as a whole, read back, and never more than was approved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.peers.cyrus import PASSWORD, running_cyrus
from tests.peers.jmap import ADDRESS, FakeJmap
from tests.peers.jmap.methods import METHODS, Refused
from tests.peers.jmap.state import State

from postroom.model.errors import Conflict, InvalidRequest, PostroomError, ProviderError, Unsupported
from postroom.model.native import NativeAction, Recipients, freeze, thaw
from postroom.model.outcome import SubmitOutcome, SubmitRequest, WireEnvelope
from postroom.model.rule import Action, Condition, Rule
from postroom.model.vacation import EVERYONE, Vacation
from postroom.providers import sieve_script
from postroom.providers.context import ProviderContext
from postroom.providers.jmap.provider import JmapMailbox
from postroom.providers.jmap.transport import JmapTransport
from postroom.settings import JmapAccount

FIRST = datetime(2026, 12, 20, tzinfo=timezone(timedelta(hours=1)))
LAST = datetime(2027, 1, 4, tzinfo=UTC)
TEXT = "Back in <January>.\n\nAsk Sam."
RULE = Rule("news", (Condition("from", "contains", ("news@",)),), (Action("move_folder", "Archive"),))


def order(text: str = TEXT, **fields: Any) -> SubmitRequest:
    everyone = Recipients(to=(EVERYONE,))
    action = NativeAction("vacation", named=everyone, everyone=everyone, text=text, **fields)
    return SubmitRequest(WireEnvelope(ADDRESS, (EVERYONE.email,)), b"", "", "attempt", native=thaw(freeze(action)))


async def test_it_is_switched_on_as_ordered_read_back_and_switched_off(
    server: FakeJmap, mailbox: JmapMailbox, transport: JmapTransport
) -> None:
    assert (await mailbox.connect()).has_vacation
    assert not (await mailbox.vacation()).enabled
    server.state.vacation["htmlBody"] = "<p>of an earlier one</p>"
    wanted = order(subject="Away", start=FIRST.isoformat(), end=LAST.isoformat())
    assert (await transport.reconcile(wanted)).state == "unknown"

    assert (await transport.submit(wanted)).state == "accepted"

    assert server.state.vacation == {
        "id": "singleton",
        "isEnabled": True,
        "fromDate": "2026-12-19T23:00:00Z",
        "toDate": "2027-01-04T00:00:00Z",
        "subject": "Away",
        "textBody": TEXT.replace("\n", "\r\n"),
        "htmlBody": None,
    }
    assert await mailbox.vacation() == Vacation(True, "Away", TEXT, start=FIRST, end=LAST)
    assert [(await transport.reconcile(one)).state for one in (wanted, order("x"))] == ["accepted", "unknown"]
    for _ in range(2):
        await mailbox.stop_vacation()
        assert await mailbox.vacation() == Vacation(False, "Away", TEXT, start=FIRST, end=LAST)
    assert server.state.sent == []


async def test_without_days_or_a_subject_an_earlier_ones_are_gone(
    server: FakeJmap, mailbox: JmapMailbox, transport: JmapTransport
) -> None:
    server.state.vacation |= {"fromDate": "2020-01-01T00:00:00Z", "subject": "old", "isEnabled": True}
    assert (await transport.submit(order())).state == "accepted"
    assert await mailbox.vacation() == Vacation(True, "", TEXT)


async def test_one_in_html_alone_is_shown(server: FakeJmap, mailbox: JmapMailbox) -> None:
    server.state.vacation |= {"htmlBody": "<p>Away</p>", "isEnabled": True, "fromDate": "soon", "toDate": 7}
    assert await mailbox.vacation() == Vacation(True, html="<p>Away</p>")


@pytest.mark.parametrize("missing", ["vacationresponse", "submission"])
async def test_a_server_that_does_not_offer_it_has_none(
    server: FakeJmap, account: JmapAccount, open_box: Callable[[JmapAccount], JmapMailbox], missing: str
) -> None:
    accounts = server.session()["accounts"]
    for one in accounts.values():
        del one["accountCapabilities"][f"urn:ietf:params:jmap:{missing}"]
    server.changes["accounts"] = accounts
    box = open_box(account)
    assert not (await box.connect()).has_vacation
    for attempt in (box.vacation(), box.check_vacation(Vacation(True, "", TEXT)), box.stop_vacation()):
        with pytest.raises(Unsupported):
            await attempt


@pytest.mark.parametrize(
    ("text", "subject", "field"),
    [
        ('Hello\n.\n;\n}\nredirect "eve@evil.example";', "", "body"),
        ("Hello\r\n.\r\n", "", "body"),
        ("Hello\n... and goodbye", "", "body"),
        ('*/ redirect "eve@evil.example"; /*', "", "body"),
        ("Hello", 'x" "y"; redirect "eve@evil.example"; vacation :subject "', "subject"),
        ("Hello", "x\\", "subject"),
    ],
)
async def test_what_a_server_could_take_for_a_script_is_refused(
    server: FakeJmap, mailbox: JmapMailbox, transport: JmapTransport, text: str, subject: str, field: str
) -> None:
    """Cyrus writes both into a Sieve script as they are."""
    with pytest.raises(InvalidRequest) as refused:
        await mailbox.check_vacation(Vacation(True, subject, text))
    assert refused.value.details["field"] == field
    assert (await transport.submit(order(text, subject=subject))).state == "rejected"
    assert not server.state.vacation["isEnabled"]


@pytest.mark.parametrize(
    ("fault", "state", "is_on"),
    [
        (lambda server: server.cut_next("POST", "VacationResponse/set"), "unknown", False),
        (lambda server: server.cut_next("POST", "VacationResponse/set", after_effect=True), "unknown", True),
        (lambda server: server.fail_next("POST", "VacationResponse/set", after_effect=True), "unknown", True),
        (lambda server: server.truncate_next("POST", "VacationResponse/set"), "unknown", True),
        (lambda server: server.fail_next("POST", "VacationResponse/set", status=401, times=2), "retryable", False),
    ],
)
async def test_a_lost_answer_is_settled_by_looking(
    server: FakeJmap, transport: JmapTransport, fault: Callable[[FakeJmap], None], state: str, is_on: bool
) -> None:
    fault(server)
    assert (await transport.submit(order())).state == state
    server.forget_faults()
    assert (await transport.reconcile(order())).state == ("accepted" if is_on else "unknown")
    assert server.state.vacation["isEnabled"] is is_on


def refusing(kind: str) -> Callable[..., Any]:
    def call(*_: Any) -> dict[str, Any]:
        raise Refused(kind)

    return call


def not_updated(kind: str) -> Callable[..., Any]:
    return lambda *_: {"updated": None, "notUpdated": {"singleton": {"type": kind, "description": "a secret"}}}


@pytest.mark.parametrize(
    ("method", "behaviour", "state"),
    [
        ("VacationResponse/set", refusing("unknownMethod"), "rejected"),
        ("VacationResponse/set", refusing("forbidden"), "rejected"),
        ("VacationResponse/set", refusing("rateLimit"), "retryable"),
        ("VacationResponse/set", refusing("serverFail"), "unknown"),
        ("VacationResponse/set", not_updated("forbidden"), "rejected"),
        ("VacationResponse/set", not_updated("overQuota"), "rejected"),
        ("VacationResponse/set", not_updated("serverError"), "unknown"),
        ("VacationResponse/set", lambda *_: {"updated": {"singleton": None}}, "unknown"),
        ("VacationResponse/get", refusing("serverFail"), "unknown"),
        ("VacationResponse/get", lambda *_: {"list": []}, "unknown"),
    ],
)
async def test_only_what_a_server_shows_or_certainly_refuses_is_believed(
    transport: JmapTransport, monkeypatch: pytest.MonkeyPatch, method: str, behaviour: Callable[..., Any], state: str
) -> None:
    monkeypatch.setitem(METHODS, method, behaviour)
    outcome: SubmitOutcome = await transport.submit(order())
    assert (outcome.state, "secret" in outcome.reason) == (state, False)


async def test_somebody_who_changes_it_at_the_same_moment_is_noticed(
    transport: JmapTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = METHODS["VacationResponse/set"]

    def raced(state: Any, arguments: Any) -> dict[str, Any]:
        done = ours(state, arguments)
        state.vacation["textBody"] = "Somebody else's words"
        return done

    monkeypatch.setitem(METHODS, "VacationResponse/set", raced)
    assert (await transport.submit(order())).state == "unknown"
    assert (await transport.reconcile(order())).state == "unknown"


async def test_off_is_only_said_when_the_server_shows_it(
    server: FakeJmap, mailbox: JmapMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.state.vacation["isEnabled"] = True
    monkeypatch.setitem(METHODS, "VacationResponse/set", lambda *_: {"updated": {"singleton": None}})
    with pytest.raises(ProviderError):
        await mailbox.stop_vacation()


async def test_a_script_that_runs_is_not_stopped_by_the_reply(
    server: FakeJmap, mailbox: JmapMailbox, transport: JmapTransport
) -> None:
    server.state.scripts["R1"] = {"id": "R1", "name": "mine", "blobId": "B0", "isActive": True}
    with pytest.raises(Conflict, match="'mine'"):
        await mailbox.check_vacation(Vacation(True, "", TEXT))
    assert (await transport.submit(order())).state == "rejected"
    assert not server.state.vacation["isEnabled"]
    server.state.vacation["isEnabled"] = True  # then the server can do both
    assert (await transport.submit(order())).state == "accepted"


async def test_where_scripts_cannot_be_seen_the_person_is_told(
    server: FakeJmap, account: JmapAccount, open_box: Callable[[JmapAccount], JmapMailbox]
) -> None:
    accounts = server.session()["accounts"]
    for one in accounts.values():
        del one["accountCapabilities"]["urn:ietf:params:jmap:sieve"]
    server.changes["accounts"] = accounts
    wanted = Vacation(True, "", TEXT)
    assert await open_box(account).check_vacation(wanted) == ""
    for one in accounts.values():
        one["accountCapabilities"]["https://cyrusimap.org/ns/jmap/sieve"] = {}
    assert "may stop it" in await open_box(account).check_vacation(wanted)


async def test_rules_leave_a_reply_in_the_same_script_alone(server: FakeJmap, mailbox: JmapMailbox) -> None:
    """Put there over ManageSieve, by an account of the same mailbox."""
    replying = sieve_script.Script(vacation=Vacation(True, "Away", TEXT), addresses=(ADDRESS,))
    blob = server.state.add_blob(replying.text.encode())
    server.state.scripts["R1"] = {"id": "R1", "name": "postroom", "blobId": blob, "isActive": True}

    def kept() -> sieve_script.Script:
        script = server.state.scripts["R1"]
        text = server.state.blobs[script["blobId"]].decode()
        return sieve_script.read(text, is_active=script["isActive"])

    await mailbox.put_rules([RULE])
    assert ((await mailbox.list_rules()).is_active, kept().rules_on, kept().vacation.enabled) == (False, False, True)
    await mailbox.activate_rules(True)
    assert ((await mailbox.list_rules()).is_active, kept().vacation) == (True, replying.vacation)
    await mailbox.activate_rules(False)
    assert ((await mailbox.list_rules()).is_active, kept().runs, kept().vacation.enabled) == (False, True, True)
    server.state.blobs[server.state.scripts["R1"]["blobId"]] += b"discard;"
    with pytest.raises(Conflict):
        await mailbox.put_rules([RULE])


async def test_rules_bring_back_no_reply_that_was_switched_off_in_the_same_moment(
    server: FakeJmap, mailbox: JmapMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    replying = sieve_script.Script(vacation=Vacation(True, "Away", TEXT), addresses=(ADDRESS,))
    silent = replace(replying, vacation=replace(replying.vacation, enabled=False))
    add_blob = State.add_blob
    blobs = [add_blob(server.state, script.text.encode()) for script in (replying, silent)]
    server.state.scripts["R1"] = {"id": "R1", "name": "postroom", "blobId": blobs[0], "isActive": True}

    def switched_off(state: State, content: bytes) -> str:
        state.scripts["R1"] |= {"blobId": blobs[1], "isActive": False}
        return add_blob(state, content)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(State, "add_blob", switched_off)
        with pytest.raises(Conflict, match="changed meanwhile"):
            await mailbox.put_rules([RULE])
    assert (server.state.scripts["R1"]["blobId"], server.state.scripts["R1"]["isActive"]) == (blobs[1], False)
    await mailbox.put_rules([RULE])
    assert [rule.name for rule in (await mailbox.list_rules()).rules] == [RULE.name]


async def test_a_server_that_offers_it_and_fails_at_it_is_found_out_before_anybody_is_asked(tmp_path: Path) -> None:
    """Cyrus 3.6: the process that is asked for a reply that was never set dies."""
    with running_cyrus(vacation=True) as cyrus:
        user = cyrus.new_user()
        account = JmapAccount(name="mine", address=user, session_url=cyrus.url, password=PASSWORD)
        context = ProviderContext(tmp_path, (account,), proxies=False)
        box = JmapMailbox(account, context)
        transport = JmapTransport(account, context, box)
        assert (await box.connect()).has_vacation
        for attempt in (box.vacation(), box.check_vacation(Vacation(True, "", TEXT)), box.stop_vacation()):
            with pytest.raises(PostroomError):
                await attempt
        assert (await transport.submit(order())).state == "unknown"
        assert {folder.name for folder in await box.folders()} >= {"Inbox", "Drafts"}
        await box.close()
