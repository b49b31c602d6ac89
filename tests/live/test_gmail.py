"""The provider on a real Gmail account, where somebody lends one: a draft, a label and a message to oneself, all of
them removed again.

    LIVE_GMAIL_ADDRESS=you@gmail.com LIVE_GMAIL_TOKEN=ya29... pytest tests/live
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import pytest
from tests.contract.mails import PDF, mail, message_id

from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.gmail.provider import GmailMailbox
from postroom.providers.gmail.transport import GmailTransport
from postroom.safety.staged import check_staged
from postroom.settings import GmailAccount

ADDRESS, TOKEN = os.environ.get("LIVE_GMAIL_ADDRESS", ""), os.environ.get("LIVE_GMAIL_TOKEN", "")
pytestmark = pytest.mark.skipif(
    not (ADDRESS and TOKEN), reason="no real account: set LIVE_GMAIL_ADDRESS and LIVE_GMAIL_TOKEN (gmail.modify)"
)
ACCOUNT = GmailAccount(name="live", address=ADDRESS or "nobody@gmail.com", token=TOKEN)  # type: ignore[arg-type]
CONTEXT = ProviderContext(Path())


@pytest.fixture
async def mailbox() -> AsyncIterator[GmailMailbox]:
    mailbox = GmailMailbox(ACCOUNT, CONTEXT)
    await mailbox.connect()
    yield mailbox
    await mailbox.close()


@pytest.fixture
def key() -> str:
    return f"postroom-live-{token_hex(8)}"


async def test_the_inbox_is_listed_and_opened(mailbox: GmailMailbox) -> None:
    page = await mailbox.search(Query(In("inbox")), limit=5, offset=0)
    for row in page.items:
        assert (await mailbox.fetch(row.ref)).envelope == row
    assert any(folder.role == "inbox" for folder in await mailbox.folders())
    assert (await mailbox.identities())[0].is_default


async def test_a_draft_lives_and_ends(mailbox: GmailMailbox, key: str) -> None:
    saved = await mailbox.create_draft(mail(key, text="One.", sender=ADDRESS, files=[("plan.pdf", PDF)]))
    try:
        updated = await mailbox.update_draft(saved.ref, mail(key, text="Two.", sender=ADDRESS, files=[("p.pdf", PDF)]))
        message = await mailbox.fetch(updated.message_ref)
        assert (updated.ref, message.body.text.strip()) == (saved.ref, "Two.")
        assert await mailbox.fetch_part(updated.message_ref, message.attachments[0].part) == PDF
    finally:
        await mailbox.delete_draft(saved.ref)


async def test_a_message_to_oneself_is_staged_sent_labelled_and_thrown_away(mailbox: GmailMailbox, key: str) -> None:
    transport = GmailTransport(ACCOUNT, CONTEXT, mailbox)
    raw = mail(key, subject=key, sender=ADDRESS, to=ADDRESS, days_ago=0)
    request = SubmitRequest(WireEnvelope(ADDRESS, (ADDRESS,)), raw, message_id(key), key)
    request = replace(request, staged_ref=await transport.stage(request))
    held = await transport.staged(request)
    assert held is not None
    check_staged(request, held)
    assert (await transport.reconcile(request)).state == "retryable"
    outcome = await transport.submit(request)
    assert outcome.state == "accepted"
    assert (await transport.reconcile(request)).state == "accepted"
    try:
        assert (await mailbox.apply_label([outcome.message_ref], key))[0].ok
        assert (await mailbox.envelopes([outcome.message_ref]))[0].labels == (key,)  # type: ignore[union-attr]
    finally:
        await mailbox.move([outcome.message_ref], "TRASH")
        label = await mailbox._labels.named(key)
        if label is not None:
            await mailbox._labels.remove(label.id)
