"""The vacation reply over ManageSieve on a real server: who gets one, when, and what it leaves alone."""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.contract.mails import mail
from tests.peers.accounts import imap_account
from tests.peers.daemon import free_ports
from tests.peers.dovecot import DOMAIN, Dovecot, running_dovecot
from tests.peers.faultproxy import faulty
from tests.peers.scripted_smtp import Script, scripted_smtp

from postroom.model.errors import Conflict, InvalidRequest, ProviderUnavailable, Unsupported
from postroom.model.native import NativeAction, Recipients, freeze, thaw
from postroom.model.outcome import SubmitOutcome, SubmitRequest, WireEnvelope
from postroom.model.rule import Action, Condition, Rule, RuleSet
from postroom.model.vacation import EVERYONE
from postroom.providers.context import ProviderContext
from postroom.providers.imap.provider import ImapMailbox
from postroom.providers.imap.rules.managesieve import Scripts, SieveScripts
from postroom.providers.imap.smtp.transport import SmtpTransport
from postroom.settings import ImapAccount

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
TEXT = 'Back "soon" \\ in January.\n.\n..\n# rule: {"name": "x"}\n} # here they end\nstop;\n\n*/ Grüße ${hex:41}'
STARRING = Rule("star", (Condition("subject", "contains", ("Lunch",)),), (Action("star"),))


@pytest.fixture(scope="module")
def smtp() -> Iterator[Script]:
    with scripted_smtp() as script:
        yield script


@pytest.fixture(scope="module")
def server(smtp: Script) -> Iterator[Dovecot]:
    """What its scripts reply goes to the test's SMTP server."""
    with running_dovecot(settings=f"submission_host = {smtp.host}:{smtp.port}\n") as running:
        yield running


@pytest.fixture
def account(server: Dovecot) -> ImapAccount:
    return with_sieve(server)


def with_sieve(server: Dovecot, **changes: Any) -> ImapAccount:
    sieve = {"sieve_host": server.host, "sieve_port": server.sieve, "sieve_security": "none", "timeout": 5}
    return imap_account(server, **({**sieve, "smtp_host": server.host} | changes))


class Box:
    home: ClassVar[Path]

    def __init__(self, account: ImapAccount) -> None:
        context = ProviderContext(self.home, (account,))
        self.mailbox = ImapMailbox(account, context)
        self.transport = SmtpTransport(account, context, self.mailbox)
        self.scripts = SieveScripts(account)
        self.address = account.address

    def order(self, text: str = TEXT, **fields: Any) -> SubmitRequest:
        everyone = Recipients(to=(EVERYONE,))
        action = NativeAction("vacation", named=everyone, everyone=everyone, text=text, **fields)
        return SubmitRequest(
            WireEnvelope(self.address, (EVERYONE.email,)), b"", "", "attempt", native=thaw(freeze(action))
        )

    async def start(self, text: str = TEXT, **fields: Any) -> SubmitOutcome:
        return await self.transport.submit(self.order(text, **fields))


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> None:
    Box.home = tmp_path


@pytest.fixture
async def box(account: ImapAccount) -> AsyncIterator[Box]:
    opened = Box(account)
    yield opened
    await opened.mailbox.close()


class Correspondent:
    """A stranger each time: nobody gets the same reply twice within a week."""

    count = 0

    def __init__(self, server: Dovecot, smtp: Script) -> None:
        self._server, self._smtp = server, smtp

    def writes(self, user: str, *, to: str = "") -> list[Any]:
        """What comes back."""
        Correspondent.count += 1
        sender = f"stranger{self.count}@elsewhere.example"
        raw = mail(f"v{self.count}", sender=sender, to=to or user, subject="Lunch?")
        with smtplib.LMTP(self._server.host, self._server.lmtp) as lmtp:
            lmtp.sendmail(sender, [user], raw)
        found = [one for one in self._smtp.taken if sender in one.rcpt_tos]
        return [message_from_bytes(_bytes(one.content), policy=policy.default) for one in found]


def _bytes(content: Any) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


@pytest.fixture
def stranger(server: Dovecot, smtp: Script) -> Correspondent:
    return Correspondent(server, smtp)


async def test_everybody_who_writes_gets_exactly_the_approved_words_until_it_is_off(
    box: Box, stranger: Correspondent
) -> None:
    assert stranger.writes(box.address) == []
    subject = 'Away: "Grüße"; redirect "eve@evil.example"; \\'
    assert (await box.start(subject=subject)).state == "accepted"

    (reply,) = stranger.writes(box.address)

    assert reply["subject"] == subject
    assert reply.get_content().splitlines() == TEXT.split("\n")
    assert reply["from"].addresses[0].addr_spec == box.address
    assert stranger.writes(box.address, to="list@elsewhere.example") == []  # not written to the account itself
    found = await box.mailbox.vacation()
    assert (found.enabled, found.subject, found.text) == (True, subject, TEXT)
    await box.mailbox.stop_vacation()
    assert stranger.writes(box.address) == []
    assert await box.scripts.list() == Scripts(("postroom",), "")
    assert (await box.mailbox.vacation()).text == TEXT


@pytest.mark.parametrize(
    ("start", "end", "replies"),
    [
        (NOW - DAY, NOW + DAY, 1),
        (NOW - DAY, None, 1),
        (None, NOW + DAY, 1),
        (NOW + DAY, None, 0),
        (NOW - 2 * DAY, NOW - DAY, 0),
        (NOW + DAY, NOW + 2 * DAY, 0),
    ],
)
async def test_outside_its_period_nobody_gets_a_reply(
    box: Box, stranger: Correspondent, start: datetime | None, end: datetime | None, replies: int
) -> None:
    times = {name: moment.isoformat() for name, moment in (("start", start), ("end", end)) if moment}
    assert (await box.start(**times)).state == "accepted"

    assert len(stranger.writes(box.address)) == replies

    found = await box.mailbox.vacation()
    assert (found.enabled, found.start, found.end) == (True, start, end)


async def test_mail_to_a_further_identity_is_answered_too(
    server: Dovecot, box: Box, account: ImapAccount, stranger: Correspondent
) -> None:
    alias = f"sales@{DOMAIN}"
    both = Box(ImapAccount.model_validate({**account.model_dump(), "identities": [{"address": alias}]}))
    assert (await both.start()).state == "accepted"
    assert len(stranger.writes(box.address, to=alias)) == 1
    await both.mailbox.close()


async def test_rules_and_the_reply_come_and_go_without_each_other(box: Box, stranger: Correspondent) -> None:
    mailbox = box.mailbox
    await mailbox.put_rules([STARRING])
    await box.start()
    assert await mailbox.list_rules() == RuleSet((STARRING,), is_active=False)
    stranger.writes(box.address)
    assert [row.starred for row in await newest(box, 1)] == [False]

    await mailbox.activate_rules(True)
    assert len(stranger.writes(box.address)) == 1
    assert [row.starred for row in await newest(box, 1)] == [True]
    await mailbox.put_rules([])
    await mailbox.put_rules([STARRING])
    assert await mailbox.list_rules() == RuleSet((STARRING,), is_active=True)
    assert len(stranger.writes(box.address)) == 1
    await mailbox.activate_rules(False)
    assert ((await mailbox.vacation()).enabled, (await mailbox.list_rules()).is_active) == (True, False)
    await mailbox.activate_rules(True)
    await mailbox.stop_vacation()
    assert await mailbox.list_rules() == RuleSet((STARRING,), is_active=True)
    assert stranger.writes(box.address) == []
    assert [row.starred for row in await newest(box, 1)] == [True]
    await mailbox.activate_rules(False)
    assert (await box.scripts.list()).active == ""


async def newest(box: Box, count: int) -> Any:
    from postroom.model.query.tree import In, Query

    return (await box.mailbox.search(Query(In("inbox")), limit=count, offset=0)).items


async def test_what_somebody_wrote_above_the_reply_stays_as_it_is(box: Box) -> None:
    own = (
        'require ["fileinto"];\nrequire ["copy"];\n# mine\nif header :is "x" "y" { redirect :copy "me@home.example"; }'
    )
    await box.scripts.put("postroom", own)
    await box.scripts.activate("postroom")
    await box.start()
    assert own in await box.scripts.get("postroom")
    await box.mailbox.stop_vacation()
    assert (await box.scripts.get("postroom")).startswith(f"{own}\n# vacation: ")
    assert (await box.scripts.list()).active == "postroom"


async def test_rules_put_while_the_reply_is_on_do_not_run_by_that(box: Box) -> None:
    await box.start()
    for rules in ([], [STARRING]):
        await box.mailbox.put_rules(rules)
        assert await box.mailbox.list_rules() == RuleSet(tuple(rules), is_active=False)
    assert (await box.mailbox.vacation()).enabled


async def test_switching_rules_on_never_brings_a_reply_back(box: Box, stranger: Correspondent) -> None:
    """Somebody stopped the whole script elsewhere; or the connection was lost between storing and starting it."""
    await box.mailbox.put_rules([STARRING])
    await box.start()
    await box.scripts.activate("")
    assert not (await box.mailbox.vacation()).enabled

    await box.mailbox.activate_rules(True)

    assert stranger.writes(box.address) == []
    assert not (await box.mailbox.vacation()).enabled


@pytest.mark.parametrize("name", ["holiday", 'my "own" \\ script', "postroom ACTIVE", "ACTIVE", "x" * 100])
async def test_a_script_of_somebody_else_goes_on_running(box: Box, name: str) -> None:
    await box.scripts.put(name, "keep;")
    await box.scripts.activate(name)
    capabilities = await box.mailbox.connect()
    assert capabilities.has_vacation

    outcome = await box.start()

    assert outcome.state == "rejected"
    found = await box.mailbox.vacation()
    assert (found.enabled, "cannot be told" in found.note) == (False, True)
    for attempt in (box.mailbox.stop_vacation(), box.mailbox.check_vacation(found), box.mailbox.activate_rules(True)):
        with pytest.raises(Conflict, match="not Postroom's"):
            await attempt
    assert (await box.scripts.list()).active == name
    assert await box.scripts.get(name) == "keep;"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + '\nredirect "eve@evil.example";',
        lambda text: 'require ["copy"];\n' + text,
        lambda text: text.replace("January", "June", 1),
        lambda text: text.replace('"enabled": true', '"enabled": false'),
        lambda text: text.replace("# vacation: {", "# vacation: ["),
    ],
)
async def test_a_script_that_somebody_changed_is_neither_read_wrong_nor_replaced(box: Box, change: Any) -> None:
    await box.start("Back in January.")
    changed = change(await box.scripts.get("postroom"))
    await box.scripts.put("postroom", changed)

    found = await box.mailbox.vacation()

    assert (found.enabled, found.text, "changed by somebody else" in found.note) == (False, "", True)
    assert (await box.transport.reconcile(box.order("Back in January."))).state == "unknown"
    assert (await box.start("Other words")).state == "rejected"
    for attempt in (box.mailbox.stop_vacation(), box.mailbox.put_rules([STARRING])):
        with pytest.raises(Conflict):
            await attempt
    assert (await box.scripts.get("postroom")).split() == changed.split()


@pytest.mark.parametrize("text", ["a\0b", "a\rb", "a\x1b[2Jb"])
async def test_control_characters_reach_no_script(box: Box, text: str) -> None:
    assert (await box.start(text)).state == "rejected"
    assert await box.scripts.list() == Scripts((), "")


async def test_a_text_that_the_server_refuses_is_refused_before_anybody_is_asked(smtp: Script) -> None:
    limits = "plugin {\n  sieve_max_script_size = 4k\n}\n"
    with running_dovecot(settings=limits) as small:
        box = Box(with_sieve(small))
        huge = box.order("secret words " * 80_000)
        with pytest.raises(InvalidRequest) as refused:
            await box.mailbox.check_vacation(_vacation(huge))
        assert "secret" not in str(refused.value)
        outcome = await box.transport.submit(huge)
        assert (outcome.state, "secret" in outcome.reason) == ("rejected", False)
        assert await box.scripts.list() == Scripts((), "")
        assert (await box.start("short")).state == "accepted"
        await box.mailbox.close()


def _vacation(request: SubmitRequest) -> Any:
    from postroom.model.vacation import vacation_of

    assert request.native is not None
    return vacation_of(request.native)


@pytest.mark.parametrize("lost", [b"PUTSCRIPT", b"SETACTIVE"])
async def test_a_lost_answer_is_settled_by_looking(server: Dovecot, stranger: Correspondent, lost: bytes) -> None:
    with faulty(server.sieve) as proxy:
        box = Box(with_sieve(server, sieve_port=proxy.port))
        await box.mailbox.connect()
        proxy.reset(swallow_after=lost)
        outcome = await box.start("Back in January.")
        proxy.reset()

        assert outcome.state == "unknown"
        looked = await box.transport.reconcile(box.order("Back in January."))
        is_on = bool(stranger.writes(box.address))
        assert looked.state == ("accepted" if is_on else "unknown")
        assert is_on == (lost == b"SETACTIVE")
        await box.mailbox.activate_rules(True)
        assert (await box.mailbox.vacation()).enabled == is_on
        await box.mailbox.close()


async def test_a_server_that_cannot_be_reached_has_changed_nothing(server: Dovecot) -> None:
    (port,) = free_ports(1)
    box = Box(with_sieve(server, sieve_port=port))
    assert (await box.mailbox.connect()).has_vacation  # which nobody could deny
    assert (await box.start()).state == "retryable"
    with pytest.raises(ProviderUnavailable):
        await box.mailbox.vacation()
    await box.mailbox.close()


@pytest.mark.parametrize("missing", ["sieve_host", "smtp_host"])
async def test_without_a_sieve_host_or_a_way_to_send_there_is_none(server: Dovecot, missing: str) -> None:
    box = Box(with_sieve(server, **{missing: ""}))
    assert not (await box.mailbox.connect()).has_vacation
    with pytest.raises(Unsupported):
        await box.mailbox.vacation()
    await box.mailbox.close()


@pytest.mark.parametrize(("lacking", "has_vacation", "plans"), [("-vacation", False, False), ("-date", True, False)])
async def test_what_the_servers_sieve_lacks_is_said(lacking: str, has_vacation: bool, plans: bool) -> None:
    with running_dovecot(settings=f"plugin {{\n  sieve_extensions = {lacking}\n}}\n") as old:
        box = Box(with_sieve(old))
        assert (await box.mailbox.connect()).has_vacation is has_vacation
        planned = await box.start(start=NOW.isoformat())
        assert (planned.state == "accepted") is plans
        assert ((await box.start()).state == "accepted") is has_vacation
        await box.mailbox.close()


@pytest.mark.parametrize("greeting", [b"* OK IMAP4rev1 ready\r\n", b" \r\nOK\r\n", b'"SIEVE" "\xff"\r\nOK\r\n', b""])
async def test_an_account_opens_whatever_listens_where_managesieve_should(server: Dovecot, greeting: bytes) -> None:
    async def greet(_: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as other:
        box = Box(with_sieve(server, sieve_port=other.sockets[0].getsockname()[1]))
        assert (await box.mailbox.connect()).can_draft
        with pytest.raises(ProviderUnavailable):
            await box.mailbox.list_rules()
        await box.mailbox.close()


async def test_a_long_line_arrives_whole(box: Box, stranger: Correspondent, smtp: Script) -> None:
    text = "long " * 390 + "ü"
    assert (await box.start(text)).state == "accepted"
    (reply,) = stranger.writes(box.address)
    assert reply.get_content().split() == text.split()
    assert (reply.get_all("mime-version"), reply.get_content_type()) == (["1.0"], "text/plain")


async def test_a_reply_that_is_switched_off_as_rules_are_put_there_stays_off_and_the_rules_are_there(
    account: ImapAccount,
) -> None:
    """Both are in one script, which either writes whole: by two processes, or by two calls at once."""
    one, other = Box(account), Box(account)
    for number in range(12):
        await one.start()
        rule = replace(STARRING, name=f"star {number}")
        await asyncio.gather(one.mailbox.stop_vacation(), other.mailbox.put_rules([rule]))
        found = await one.mailbox.vacation(), (await other.mailbox.list_rules()).rules
        assert (found[0].enabled, found[1]) == (False, (rule,))
