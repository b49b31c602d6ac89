"""A change at Gmail or Microsoft whose answer was lost may have been made: what is read next is asked there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.peers.graph.content import Content
from tests.unit.sync.cloud import Cloud, cloud_of

from postroom.model.query.tree import Query
from postroom.sync.answering.mirrored import MirrorLayer, mirrored

pytestmark = pytest.mark.anyio

CHANGES = {"gmail": "messages.batchModify", "graph": "batch"}


def deliver(cloud: Cloud, provider: str) -> str:
    if provider == "gmail":
        return str(cloud.side.peer.deliver(cloud.side.user, mail("one"), {"INBOX", "UNREAD"}).id)
    return str(cloud.side.user.add(Content(mail("one")), "inbox").immutable_id)


def lose_the_answer(cloud: Cloud, operation: str, how: str) -> None:
    if how == "cut":
        cloud.side.peer.cut_next("POST", operation, after_effect=True)
    elif how == "fail":
        cloud.side.peer.fail_next("POST", operation, status=502, after_effect=True)
    else:
        cloud.side.peer.html_next("POST", operation, status=200, after_effect=True)


@pytest.mark.parametrize("how", ["cut", "fail", "page"])
@pytest.mark.parametrize("provider", CHANGES)
async def test_what_may_have_been_changed_is_shown_as_the_service_has_it(
    provider: str, how: str, tmp_path: Path
) -> None:
    async with cloud_of(provider, tmp_path) as cloud:
        ref = deliver(cloud, provider)
        await cloud.sync()
        async with cloud.mailbox() as mailbox:
            box = mirrored(mailbox, MirrorLayer(mailbox, cloud.mirror, cloud.side.settings), provider)
            await box.set_flags([ref], add=["unread"])
            lose_the_answer(cloud, CHANGES[provider], how)
            (result,) = await box.set_flags([ref], add=["read"])
            assert not result.ok
            (row,) = (await box.search(Query(), limit=5, offset=0)).items
            assert not row.unread
