"""Rules on a real server: compiled, kept, run on arriving mail, and read back as they were."""

from __future__ import annotations

import smtplib
from typing import Any

import pytest
from tests.contract.mails import mail
from tests.peers.accounts import imap_account
from tests.peers.dovecot import Dovecot

from postroom.model.errors import Conflict, InvalidRequest, Unsupported
from postroom.model.folder import Folder, Role
from postroom.model.query.tree import In, Query
from postroom.model.rule import Action, Condition, Rule, RuleSet
from postroom.providers import sieve as script
from postroom.providers.context import ProviderContext
from postroom.providers.imap.rules.managesieve import SieveScripts
from postroom.providers.registry import open_mailbox
from postroom.settings import ImapAccount

ARCHIVE = Folder("Ablage", "Ablage", Role.ARCHIVE)
FOLDERS = [Folder("INBOX", "INBOX", Role.INBOX), ARCHIVE, Folder("Gesendet", "Gesendet", Role.SENT)]
INVOICES = Rule(
    'in\u00advoices "and" more',
    (
        Condition("from", "matches", ("*@friends.example",)),
        Condition("subject", "contains", ('in\\"voice', "Rechnung für")),
        Condition("size", "greater_than", ("1000000",), negated=True),
    ),
    (Action("archive"), Action("star"), Action("apply_label", "zu tun")),
)


def account_with_rules(dovecot: Dovecot, **changes: Any) -> ImapAccount:
    values = {"sieve_host": "localhost", "sieve_port": dovecot.sieve, "ca_file": dovecot.certificates.ca, "timeout": 5}
    return imap_account(dovecot, **(values | changes))


async def connected(account: ImapAccount, tmp_path: Any) -> Any:
    mailbox: Any = open_mailbox(account, ProviderContext(tmp_path, (account,)))
    assert (await mailbox.connect()).has_server_side_rules
    return mailbox


def deliver(dovecot: Dovecot, user: str, raw: bytes) -> None:
    with smtplib.LMTP(dovecot.host, dovecot.lmtp) as server:
        server.sendmail("ada@friends.example", [user], raw)


async def test_a_rule_is_kept_and_run_and_read_back(dovecot: Dovecot, tmp_path: Any) -> None:
    account = account_with_rules(dovecot)
    mailbox = await connected(account, tmp_path)
    assert await mailbox.list_rules() == RuleSet((), is_active=False)
    assert await mailbox.check_rules([INVOICES]) == {}
    await mailbox.put_rules([INVOICES])
    await mailbox.activate_rules(True)
    assert await mailbox.list_rules() == RuleSet((INVOICES,), is_active=True)

    deliver(dovecot, account.username, mail("one", subject="Rechnung für Juni"))
    deliver(dovecot, account.username, mail("two", subject="Lunch"))
    (filed,) = (await mailbox.search(Query(In("archive")), limit=5, offset=0)).items
    assert (filed.subject, filed.starred, filed.labels) == ("Rechnung für Juni", True, ("zu tun",))
    assert [row.subject for row in (await mailbox.search(Query(In("inbox")), limit=5, offset=0)).items] == ["Lunch"]

    await mailbox.activate_rules(False)
    assert await mailbox.list_rules() == RuleSet((INVOICES,), is_active=False)
    await mailbox.close()


async def test_a_script_of_somebody_else_goes_on_running(dovecot: Dovecot, tmp_path: Any) -> None:
    account = account_with_rules(dovecot)
    others = SieveScripts(account)
    await others.put("holiday", "keep;")
    await others.activate("holiday")
    mailbox = await connected(account, tmp_path)
    await mailbox.put_rules([INVOICES])
    for active in (True, False):
        with pytest.raises(Conflict, match="holiday"):
            await mailbox.activate_rules(active)
    assert (await others.list()).active == "holiday"
    await mailbox.close()


async def test_an_account_without_a_sieve_host_has_no_rules(dovecot: Dovecot, tmp_path: Any) -> None:
    account = account_with_rules(dovecot, sieve_host="")
    mailbox: Any = open_mailbox(account, ProviderContext(tmp_path, (account,)))
    assert not (await mailbox.connect()).has_server_side_rules
    with pytest.raises(Unsupported):
        await mailbox.put_rules([INVOICES])
    await mailbox.close()


@pytest.mark.parametrize(
    ("condition", "action"),
    [
        (Condition("age_days", "greater_than", ("7",)), Action("star")),
        (Condition("labels", "contains", ("x",)), Action("star")),
        (Condition("has_attachment", "equals", ("true",)), Action("star")),
        (Condition("size", "greater_than", ("1; discard",)), Action("star")),
        (Condition("subject", "greater_than", ("7",)), Action("star")),
        (Condition("subject", "contains", ("x",)), Action("forward", "eve@elsewhere.example")),
        (Condition("subject", "contains", ("x",)), Action("move_folder", "Nowhere")),
        (Condition("subject", "contains", ("x",)), Action("move_folder", "Gesendet")),
        (Condition("subject", "contains", ("x",)), Action("remove_label", "x")),
    ],
)
def test_what_cannot_be_expressed_is_said_and_never_left_out(condition: Condition, action: Action) -> None:
    rule = Rule("r", (condition,), (action,))
    (lacking,) = script.inexpressible(rule, FOLDERS)
    assert condition.field in lacking or action.type in lacking
    with pytest.raises(InvalidRequest, match="cannot run the rule"):
        script.compiled([rule], FOLDERS)


@pytest.mark.parametrize("text", ["a\r\nb", "a\0", ""])
def test_text_that_could_change_the_script_is_refused(text: str) -> None:
    rule = Rule("r", (Condition("subject", "contains", (text,)),), (Action("star"),))
    with pytest.raises(InvalidRequest, match="single line"):
        script.compiled([rule], FOLDERS)


def test_quotes_stay_inside_their_string() -> None:
    rule = Rule("r", (Condition("subject", "contains", ('x"; discard; #\\',)),), (Action("star"),))
    assert '["x\\"; discard; #\\\\"]' in script.compiled([rule], FOLDERS)


def test_a_rule_without_a_condition_would_hold_for_every_mail_and_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="at least one condition"):
        script.compiled([Rule("r", (), (Action("delete"),))], FOLDERS)


@pytest.mark.parametrize(
    ("condition", "action", "required"),
    [
        (Condition("subject", "contains", ("x",)), Action("archive"), '["fileinto"]'),
        (Condition("subject", "contains", ("x",)), Action("star"), '["fileinto", "imap4flags"]'),
        (Condition("body", "contains", ("x",), negated=True), Action("archive"), '["fileinto", "body"]'),
    ],
)
def test_a_script_requires_the_extensions_that_its_rules_use(
    condition: Condition, action: Action, required: str
) -> None:
    written = script.compiled([Rule("r", (condition,), (action,))], FOLDERS)
    assert written.startswith(f"require {required};\n")
