"""What holds for a transport that submits what lies with its provider already.

The local provider has no need of that; for it a transport that submits drafts stands in, so that these always run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.gate.transports import Stages

from postroom.providers.protocol import Staging
from postroom.safety.staged import check_staged

from .mails import PDF, listed
from .rigs import Rig, RigAccount
from .test_submit import request

pytestmark = pytest.mark.needs("can_send")


@pytest.fixture
def transport(rig: Rig, account: RigAccount) -> Any:
    if isinstance(account.transport, Staging):
        return account.transport
    if account.capabilities.provider != "local":
        pytest.skip(f"{account.capabilities.provider} submits bytes as they are and stages nothing")
    assert account.transport is not None
    return Stages(account.transport, account.mailbox)


async def test_what_is_staged_is_what_was_given_and_reaches_nobody_yet(
    rig: Rig, account: RigAccount, transport: Any
) -> None:
    given = request(
        account, "ready", account.address, account.second_address, to=account.address, files=[("plan.pdf", PDF)]
    )
    given = replace(given, staged_ref=await transport.stage(given))
    held = await transport.staged(given)
    check_staged(given, held)
    assert set(held.recipients) == {account.address, account.second_address}
    assert await rig.inbox_of(account.second_address) == []


async def test_a_ref_that_was_lost_is_found_again(rig: Rig, account: RigAccount, transport: Any) -> None:
    given, other = request(account, "lost"), request(account, "other")
    assert await transport.find_staged(given) == ""
    ref = await transport.stage(given)
    await rig.settle()
    assert await transport.find_staged(given) == ref
    assert await transport.find_staged(replace(given, raw=b"")) == ref
    assert await transport.find_staged(other) == ""


async def test_what_is_discarded_is_gone_and_may_be_discarded_again(
    rig: Rig, account: RigAccount, transport: Any
) -> None:
    given = request(account, "away")
    ref = await transport.stage(given)
    for _ in range(2):
        await transport.discard_staged(ref)
    assert await transport.staged(replace(given, staged_ref=ref)) is None
    assert await transport.find_staged(given) == ""


async def test_what_has_left_is_not_discarded(rig: Rig, account: RigAccount, transport: Any) -> None:
    """A provider may call the sent mail by the name of the draft."""
    given = request(account, "left", subject="Left")
    given = replace(given, staged_ref=await transport.stage(given))
    assert (await transport.submit(given)).state == "accepted"
    await rig.settle()
    assert await transport.staged(given) is None
    await transport.discard_staged(given.staged_ref)
    assert [row.subject for row in (await listed(account, "sent")).items] == ["Left"]
    assert len(await rig.inbox_of(account.second_address)) == 1


async def test_reconciling_tells_what_is_staged_from_what_has_left(
    rig: Rig, account: RigAccount, transport: Any
) -> None:
    given = request(account, "which")
    given = replace(given, staged_ref=await transport.stage(given))
    assert (await transport.reconcile(given)).state in ("retryable", "unknown")
    await transport.submit(given)
    await rig.settle()
    assert (await transport.reconcile(given)).state in ("accepted", "unknown")
    assert len(await rig.inbox_of(account.second_address)) == 1
