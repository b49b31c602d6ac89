"""What the judge is told of an order: all of it, and nothing that could not be found out."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import AsyncMock

import pytest
from tests.gate.rigs import MAIL, gate_rig

from postroom.model.address import Address
from postroom.model.draft import Identity
from postroom.model.errors import ProviderUnavailable
from postroom.safety.judge import Facts
from postroom.safety.policy import Policy
from postroom.service.sending.facts import facts_for
from postroom.service.sending.order import Answered, Wishes

AWAY = replace(MAIL, to=("bob@demo.example", "nobody@elsewhere.example"))


async def test_an_order_is_described_whole(tmp_path):
    async with gate_rig(tmp_path) as gate:
        wishes = Wishes(confirm=True, can_elicit=True, answer=Answered("accepted", "s1"))
        await gate.send()
        order = await gate.order(AWAY, wishes)
        assert await facts_for(gate.gateway, order, Policy()) == Facts(
            kind="email_send",
            confirm=True,
            can_elicit=True,
            answer="accepted",
            known=frozenset({"bob@demo.example"}),
            own=Address("alice@demo.example"),
            unreachable=("nobody@elsewhere.example",),
        )
        again = await facts_for(gate.gateway, await gate.order(wishes=Wishes()), Policy())
        assert (again.confirm, again.answer, again.duplicate, again.unreachable) == (False, None, True, ())


async def test_a_preview_warns_of_a_recipient_whom_the_account_cannot_reach(tmp_path):
    async with gate_rig(tmp_path) as gate:
        view = await gate.send(AWAY, confirm=False)
        assert "This account cannot reach nobody@elsewhere.example: mail would be refused." in view.warnings


@pytest.mark.parametrize("is_asked", [True, False])
async def test_where_it_cannot_be_told_who_is_reached_nobody_is_said_not_to_be(tmp_path, monkeypatch, is_asked):
    async with gate_rig(tmp_path) as gate:
        order = await gate.order(AWAY)

        async def away(_emails: object) -> list[str]:
            raise ProviderUnavailable("The server is away.")

        if is_asked:
            monkeypatch.setattr(order.account.mailbox, "unreachable", away, raising=False)
        else:
            monkeypatch.setattr("postroom.service.sending.facts.RecipientCheck", str)  # which no mailbox is
        assert (await facts_for(gate.gateway, order, Policy())).unreachable == ()


def test_the_unreachable_are_found_under_a_name_of_their_own():
    from postroom.model.address import Address
    from postroom.model.draft import Draft
    from postroom.safety.judge import findings

    draft = Draft(Address("a@demo.example"), to=(Address("b@demo.example"),), subject="S", text="T")
    known = frozenset({"b@demo.example"})
    (found,) = findings(draft, Policy(), Facts(known=known, unreachable=("b@demo.example",)))
    assert found.code == "unreachable"


async def test_without_a_configured_address_oneself_is_the_default_identity_or_nobody(tmp_path):
    alias, main = (Identity(Address(f"{name}@demo.example")) for name in ("alias", "main"))
    async with gate_rig(tmp_path) as gate:
        order = await gate.order()
        object.__setattr__(order.account.settings, "address", "")
        for identities, own in (((alias, replace(main, is_default=True)), main.address), ((alias,), Address(""))):
            order.account.identities.get = AsyncMock(return_value=identities)
            assert (await facts_for(gate.gateway, order, Policy())).own == own


async def test_what_was_just_sent_is_recognised_by_its_html_where_it_has_any(tmp_path):
    noon, one = (replace(MAIL, body="Lunch", body_html=f"<p>Shall we say {hour}?</p>") for hour in ("noon", "one"))
    async with gate_rig(tmp_path) as gate:
        await gate.send(noon)
        found = [await facts_for(gate.gateway, await gate.order(mail), Policy()) for mail in (noon, one)]
        assert [facts.duplicate for facts in found] == [True, False]
