"""What some servers offer and Cyrus does not: new identities, Sieve (RFC 9661), events."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from tests.peers.jmap import ADDRESS, FakeJmap

from postroom.model.address import Address
from postroom.model.errors import Conflict, InvalidRequest, PostroomError, Unsupported
from postroom.model.rule import Action, Condition, Rule
from postroom.providers.jmap.provider import JmapMailbox
from postroom.settings import JmapAccount

RULE = Rule("news", (Condition("from", "contains", ("news@",)),), (Action("move_folder", "Archive"),))
ALIAS = Address("sales@example.test", "Sales")


async def test_capabilities_are_what_the_session_offers(mailbox: JmapMailbox) -> None:
    offered = await mailbox.connect()
    assert (offered.can_send, offered.can_create_alias, offered.has_server_side_rules, offered.has_push) == (True,) * 4


async def test_a_read_only_account_offers_nothing_that_writes(
    server: FakeJmap, account: JmapAccount, open_box: Callable[[JmapAccount], JmapMailbox]
) -> None:
    accounts = server.session()["accounts"]
    server.changes["accounts"] = {key: {**value, "isReadOnly": True} for key, value in accounts.items()}
    box = open_box(account)
    offered = await box.connect()
    assert not any((offered.can_draft, offered.can_send, offered.can_label, offered.can_create_folder))
    with pytest.raises(Unsupported):
        await box.create_draft(b"Subject: one\r\n\r\nHello.")
    assert server.state.blobs == {}


async def test_an_identity_is_created_once_and_listed_behind_the_own_address(mailbox: JmapMailbox) -> None:
    made = await mailbox.create_alias(ALIAS, "<p>Sales</p>")
    assert (made.address, made.signature_html) == (ALIAS, "<p>Sales</p>")
    listed = await mailbox.identities()
    assert [identity.address.email for identity in listed] == [ADDRESS, ALIAS.email]
    assert [identity.is_default for identity in listed] == [True, False]
    with pytest.raises(Conflict):
        await mailbox.create_alias(ALIAS, "")


async def test_signatures_are_those_of_the_servers_identities(server: FakeJmap, mailbox: JmapMailbox) -> None:
    for identity in server.state.identities.values():
        identity |= {"textSignature": "Ann\nLtd", "htmlSignature": "<b>Ann</b>"}
    (own,) = await mailbox.identities()
    assert (own.signature_text, own.signature_html) == ("Ann\nLtd", "<b>Ann</b>")


async def test_an_address_that_the_server_does_not_allow_is_refused(server: FakeJmap, mailbox: JmapMailbox) -> None:
    with pytest.raises(PostroomError):
        await mailbox.create_alias(Address("eve@elsewhere.example"), "")
    assert len(server.state.identities) == 1


async def test_rules_are_put_read_back_activated_and_stopped(server: FakeJmap, mailbox: JmapMailbox) -> None:
    assert await mailbox.check_rules([RULE]) == {}
    assert server.state.scripts == {}
    await mailbox.put_rules([RULE])
    await mailbox.activate_rules(True)
    await mailbox.put_rules([RULE, Rule("two", RULE.conditions, RULE.actions)])
    kept = await mailbox.list_rules()
    assert ([rule.name for rule in kept.rules], kept.is_active) == (["news", "two"], True)
    (script,) = server.state.scripts.values()
    assert b'fileinto "Archive"' in server.state.blobs[script["blobId"]]
    await mailbox.activate_rules(False)
    assert not (await mailbox.list_rules()).is_active


async def test_another_programs_script_is_neither_shown_nor_stopped(server: FakeJmap, mailbox: JmapMailbox) -> None:
    blob = server.state.add_blob(b"keep;")
    server.state.scripts["R0"] = {"id": "R0", "name": "mine", "blobId": blob, "isActive": True}
    assert (await mailbox.list_rules()).rules == ()
    await mailbox.put_rules([RULE])
    with pytest.raises(Conflict, match="mine"):
        await mailbox.activate_rules(True)
    assert server.state.scripts["R0"]["isActive"]


async def test_a_rule_that_would_send_is_never_left_to_the_server(server: FakeJmap, mailbox: JmapMailbox) -> None:
    forwarding = Rule("out", RULE.conditions, (Action("forward", "eve@elsewhere.example"),))
    assert set(await mailbox.check_rules([forwarding])) == {"out"}
    with pytest.raises(InvalidRequest):
        await mailbox.put_rules([forwarding])
    assert server.state.scripts == {}


async def heard(news: Any) -> str:
    with anyio.fail_after(30):
        return str(await anext(news))


async def test_a_change_is_told_at_once_and_a_gap_as_soon_as_it_ends(server: FakeJmap, mailbox: JmapMailbox) -> None:
    async with aclosing(mailbox.changes()) as news:
        assert await heard(news) == "Inbox"
        server.announce("somebody else")
        server.announce()
        assert await heard(news) == "Inbox"
        server.hang_up()
        assert await heard(news) == "Inbox"


async def test_a_server_without_events_has_no_push(
    server: FakeJmap, account: JmapAccount, open_box: Callable[[JmapAccount], JmapMailbox]
) -> None:
    server.changes["eventSourceUrl"] = None
    box = open_box(account)
    assert not (await box.connect()).has_push
    with pytest.raises(Unsupported):
        await anext(box.changes())
