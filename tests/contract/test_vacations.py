"""The vacation reply, where the provider has one: switched on by a submission alone, read back, switched off."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from postroom.model.errors import InvalidRequest, Unsupported
from postroom.model.native import NativeAction, Recipients, freeze, thaw
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.vacation import EVERYONE, Vacation
from postroom.providers.protocol import NativeActions

from .rigs import RigAccount

pytestmark = pytest.mark.needs("has_vacation")
TEXT = "Back in <January> & well.\n\nAsk Sam: sam@demo.example"
FIRST, LAST = datetime(2026, 12, 20, tzinfo=UTC), datetime(2027, 1, 4, tzinfo=UTC)


def request(account: RigAccount, **fields: Any) -> SubmitRequest:
    everyone = Recipients(to=(EVERYONE,))
    action = NativeAction("vacation", named=everyone, everyone=everyone, **fields)
    envelope = WireEnvelope(account.address, (EVERYONE.email,))
    return SubmitRequest(envelope, b"", "", "attempt-one", native=thaw(freeze(action)))


def replies(account: RigAccount) -> Any:
    return account.mailbox


async def test_a_vacation_reply_is_switched_on_read_and_switched_off(account: RigAccount) -> None:
    assert isinstance(account.transport, NativeActions)
    assert "vacation" in account.transport.native_kinds
    assert not (await replies(account).vacation()).enabled
    period = {"start": FIRST.isoformat(), "end": LAST.isoformat()}
    wanted = request(account, text=TEXT, **period)
    assert wanted.native is not None
    assert (await account.transport.recipients_of(wanted.native)).to == (EVERYONE,)

    assert account.transport is not None
    before = await account.transport.reconcile(wanted)
    sent = await account.transport.submit(wanted)
    after = await account.transport.reconcile(wanted)
    other = await account.transport.reconcile(request(account, text="Other words", **period))

    assert [one.state for one in (before, sent, after, other)] == ["unknown", "accepted", "accepted", "unknown"]
    found = await replies(account).vacation()
    assert (found.enabled, found.start, found.end) == (True, FIRST, LAST)
    for _ in range(2):
        await replies(account).stop_vacation()
        assert not (await replies(account).vacation()).enabled
    assert "January" in (found := await replies(account).vacation()).text + found.html


async def test_without_days_it_is_on_until_it_is_switched_off(account: RigAccount) -> None:
    assert account.transport is not None
    assert (await account.transport.submit(request(account, text=TEXT))).state == "accepted"

    found = await replies(account).vacation()

    assert (found.enabled, found.start, found.end) == (True, None, None)


@pytest.mark.parametrize("wanted", [Vacation(True, "Away", TEXT), Vacation(True, "", TEXT, start=FIRST)])
async def test_what_cannot_be_replied_is_said_before_anybody_is_asked(account: RigAccount, wanted: Vacation) -> None:
    if account.capabilities.provider == "graph":  # which has no subject of its own, and plans only with an end
        with pytest.raises((Unsupported, InvalidRequest)):
            await replies(account).check_vacation(wanted)
    else:
        await replies(account).check_vacation(wanted)
    assert not (await replies(account).vacation()).enabled
