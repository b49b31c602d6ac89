"""Mailboxes of others over one's own login: accounts of their own in everything that is kept by account."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.memory_mailbox import MemoryMailbox, MemoryTransport, SharingMailbox, provided

from postroom.model.errors import InvalidRequest, ProviderUnavailable, RateLimited, Unsupported
from postroom.service.gateway import Gateway
from postroom.service.reading import read, search
from postroom.service.sending import send
from postroom.service.sending.order import Wishes
from postroom.service.writing.composing import DraftRequest

SALES = "mine/sales@demo.example"
LETTER = DraftRequest(to=("bob@demo.example",), subject="Offer", body="Here it is.")


async def sent(gateway: Gateway, account: str) -> str:
    wishes = Wishes(confirm=True, idempotency_key="offer-1")
    return (await send.send(gateway, await send.order_mail(gateway, LETTER, wishes, account))).status


async def test_a_derived_account_has_a_name_mails_and_handles_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, SharingMailbox) as (gateway, (mine,)):
        mine.add(mail("one", subject="Mine"))
        account = await gateway.accounts.derived("mine", "Sales@DEMO.example")
        MemoryMailbox.kept["sales@demo.example"].add(mail("two", subject="Of sales"))
        assert account.name == SALES
        assert await gateway.accounts.open(SALES) is account
        (row,) = (await search.list_emails(gateway, account=SALES)).results
        assert (row.subject, row.account) == ("Of sales", SALES)
        assert (await read.read_email(gateway, row.email_id)).row.subject == "Of sales"
        with pytest.raises(InvalidRequest, match="belongs to account mine/sales"):
            await read.read_email(gateway, row.email_id, account="mine")
        assert [one.subject for one in (await search.list_emails(gateway)).results] == ["Mine"]
        assert [one.name for one in gateway.accounts.configured] == ["mine"]


async def test_a_handle_of_a_derived_account_still_leads_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, SharingMailbox) as (gateway, _):
        await gateway.accounts.open(SALES)
        MemoryMailbox.kept["sales@demo.example"].add(mail("two", subject="Of sales"))
        (row,) = (await search.list_emails(gateway, account=SALES)).results
        kept = MemoryMailbox.kept
    async with provided(monkeypatch, tmp_path, SharingMailbox) as (gateway, _):
        MemoryMailbox.kept.update(kept)
        assert (await read.read_email(gateway, row.email_id)).row.account == SALES


async def test_keys_rate_window_and_audit_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {"gate": "confirm", "sends_per_hour": 1, "allow_recipients": ["*@demo.example"]}
    async with provided(monkeypatch, tmp_path, SharingMailbox, **rules) as (gateway, _):
        assert await sent(gateway, "mine") == "sent"
        assert await sent(gateway, "mine") == "already_executed"
        assert await sent(gateway, SALES) == "sent"
        assert [address for address, _ in MemoryTransport.submitted] == ["mine@demo.example", "sales@demo.example"]
        other = Wishes(confirm=True, idempotency_key="offer-2")
        for account in ("mine", SALES):
            with pytest.raises(RateLimited):
                await send.send(gateway, await send.order_mail(gateway, LETTER, other, account))
        assert (gateway.store.rate.status("mine").used, gateway.store.rate.status(SALES).used) == (1, 1)


async def test_a_mailbox_the_server_does_not_open_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path, SharingMailbox) as (gateway, _):
        with pytest.raises(ProviderUnavailable):
            await gateway.accounts.derived("mine", SharingMailbox.refused)
        assert (await search.list_emails(gateway)).total_count == 0


async def test_a_provider_without_such_mailboxes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, _):
        for attempt in (gateway.accounts.derived("mine", "sales@demo.example"), gateway.accounts.open(SALES)):
            with pytest.raises(Unsupported, match="shared mailboxes"):
                await attempt


@pytest.mark.parametrize("name", ["nobody/sales@demo.example", "mine/", "mine/sales", "mine/a@b.example/c@d.example"])
async def test_a_name_that_means_no_mailbox_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with provided(monkeypatch, tmp_path, SharingMailbox) as (gateway, _):
        with pytest.raises(InvalidRequest):
            await gateway.accounts.open(name)


@pytest.mark.parametrize("spelling", ["mine/mine@demo.example", "mine/Mine@DEMO.example", "other/mine@demo.example"])
async def test_a_configured_mailbox_is_one_account_however_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    """Under a second name it had a second rate window, second keys, and drafts that no send locked."""
    async with provided(monkeypatch, tmp_path, SharingMailbox, "mine other", gate="confirm", sends_per_hour=1) as (
        gateway,
        _,
    ):
        assert await gateway.accounts.open(spelling) is await gateway.accounts.open("mine")
        assert (await sent(gateway, "mine"), await sent(gateway, spelling)) == ("sent", "already_executed")
        with pytest.raises(RateLimited):
            await send.send(gateway, await send.order_mail(gateway, LETTER, Wishes(confirm=True), spelling))


@pytest.mark.parametrize("named", ["mine/other@demo.example", "mine/OTHER@demo.example"])
async def test_a_client_reaches_no_configured_account_that_it_was_not_given_over_the_login_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    async with provided(monkeypatch, tmp_path, SharingMailbox, "mine other") as (gateway, _):
        accounts = gateway.accounts.only(["mine"])
        for attempt in (accounts.open(named), accounts.derived("mine", named.partition("/")[2])):
            with pytest.raises(InvalidRequest, match="There is no account"):
                await attempt
        with pytest.raises(InvalidRequest, match="There is no account"):
            await accounts.open(accounts.of_user(named.partition("/")[2]))
        assert (await accounts.open(SALES)).name == SALES


async def test_a_client_cannot_find_out_whose_mailboxes_are_configured_that_it_was_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, MemoryMailbox, "mine other") as (gateway, _):
        accounts, said = gateway.accounts.only(["mine"]), []
        for address in ("other@demo.example", "nobody@demo.example"):
            with pytest.raises(Unsupported) as refused:
                await search.list_emails(replace(gateway, accounts=accounts), account=f"mine/{address}")
            said.append(refused.value.message)

    assert said[0] == said[1]


async def test_the_address_of_a_mailbox_that_the_caller_named_is_not_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens their mailbox to this login would otherwise be written to without a person's word."""
    async with provided(monkeypatch, tmp_path, SharingMailbox, gate="auto") as (gateway, _):
        statuses = {}
        for account, own in (("mine", "mine@demo.example"), (SALES, "sales@demo.example")):
            letter = DraftRequest(to=(own,), subject="Note", body="the secrets")
            for confirm in (False, True):
                order = await send.order_mail(gateway, letter, Wishes(confirm=confirm), account)
                statuses[account] = (await send.send(gateway, order)).status

        assert statuses == {"mine": "sent", SALES: "needs_approval"}
