"""The provider on a real Microsoft account, where somebody lends one: a draft, a category and a message to oneself, all
of them removed again.

    LIVE_GRAPH_ADDRESS=you@outlook.com LIVE_GRAPH_TOKEN=eyJ0... pytest tests/live
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import anyio
import pytest
from tests.contract.mails import PDF, mail, message_id

from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.query.tree import In, Is, Query
from postroom.providers.context import ProviderContext
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.transport import GraphTransport
from postroom.safety.staged import check_staged
from postroom.settings import GraphAccount

ADDRESS, TOKEN = os.environ.get("LIVE_GRAPH_ADDRESS", ""), os.environ.get("LIVE_GRAPH_TOKEN", "")
pytestmark = pytest.mark.skipif(
    not (ADDRESS and TOKEN),
    reason="no real account: set LIVE_GRAPH_ADDRESS and LIVE_GRAPH_TOKEN (User.Read, Mail.ReadWrite, Mail.Send)",
)
ACCOUNT = GraphAccount(name="live", address=ADDRESS or "nobody@outlook.com", token=TOKEN)  # type: ignore[arg-type]
CONTEXT = ProviderContext(Path())


@pytest.fixture
async def mailbox() -> AsyncIterator[GraphMailbox]:
    mailbox = GraphMailbox(ACCOUNT, CONTEXT)
    await mailbox.connect()
    yield mailbox
    await mailbox.close()


@pytest.fixture
def key() -> str:
    return f"postroom-live-{token_hex(8)}"


async def test_the_inbox_is_listed_searched_and_opened(mailbox: GraphMailbox) -> None:
    page = await mailbox.search(Query(In("inbox")), limit=5, offset=0)
    for row in page.items:
        assert (await mailbox.fetch(row.ref)).envelope.message_id == row.message_id
    await mailbox.search(Query(In("inbox")).narrowed(Is("unread")), limit=5, offset=0)
    assert {"inbox", "sent", "drafts", "trash"} <= {folder.role for folder in await mailbox.folders()}


async def test_a_draft_lives_and_ends(mailbox: GraphMailbox, key: str) -> None:
    saved = await mailbox.create_draft(mail(key, text="One.", sender=ADDRESS, files=[("plan.pdf", PDF)]))
    try:
        saved = await mailbox.update_draft(saved.ref, mail(key, text="Two.", sender=ADDRESS, files=[("p.pdf", PDF)]))
        message = await mailbox.fetch(saved.message_ref)
        assert message.body.text.strip() == "Two."
        assert await mailbox.fetch_part(saved.message_ref, message.attachments[0].part) == PDF
    finally:
        await mailbox.draft_box.remove(saved.ref)


async def test_a_message_to_oneself_is_staged_sent_labelled_and_removed(mailbox: GraphMailbox, key: str) -> None:
    transport = GraphTransport(ACCOUNT, CONTEXT, mailbox)
    raw = mail(key, subject=key, sender=ADDRESS, to=ADDRESS, days_ago=0)
    request = SubmitRequest(WireEnvelope(ADDRESS, (ADDRESS,)), raw, message_id(key), key)
    request = replace(request, staged_ref=await transport.stage(request))
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)
    assert (await transport.reconcile(request)).state == "retryable"
    assert (await transport.submit(request)).state == "accepted"
    with anyio.fail_after(120):
        while (await transport.reconcile(request)).state != "accepted":
            await anyio.sleep(1)  # Exchange files what it sent after it has answered
    try:
        assert (await mailbox.apply_label([request.staged_ref], key))[0].ok
        assert (await mailbox.envelopes([request.staged_ref]))[0].labels == (key,)  # type: ignore[union-attr]
    finally:
        for row in await mailbox.mails_with_ids([message_id(key)], near=""):
            await mailbox.draft_box.remove(row.ref)
