"""Mailboxes in which the server lets an account only read: a shared one, an archive, a backup."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.dovecot import Dovecot, running_dovecot

from postroom.model.errors import PermissionDenied
from postroom.model.query.tree import In, Query
from postroom.settings import ImapAccount

RIGHTS = "mail_plugins = acl\nprotocol imap {\n  mail_plugins = acl\n}\nplugin {\n  acl = vfile\n}\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with running_dovecot(settings=RIGHTS) as server:
        yield server


@pytest.fixture
async def account(server: Dovecot) -> ImapAccount:
    """One whose inbox, with a mail in it, it may only look at."""
    account = imap_account(server)
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("seen"))
        await mailbox.move([draft.ref], "INBOX")
    (server.maildir(account.address) / "dovecot-acl").write_text("owner lr\n")
    return account


async def test_an_inbox_that_can_only_be_read_is_read(account: ImapAccount) -> None:
    async with opened(account) as mailbox:
        assert not (await mailbox.connect()).can_label, "nothing can be marked there"
        page = await mailbox.search(Query(In("INBOX")), limit=10, offset=0)
        assert [row.subject for row in page.items] == ["seen"]
        await mailbox.create_draft(letter("drafts can still be saved"))


async def test_a_change_there_is_refused_as_not_allowed(account: ImapAccount) -> None:
    async with opened(account) as mailbox:
        (row,) = (await mailbox.search(Query(In("INBOX")), limit=10, offset=0)).items
        (result,) = await mailbox.set_flags([row.ref], add=["starred"])
        assert isinstance(result.error, PermissionDenied)
        (again,) = await mailbox.envelopes([row.ref])
        assert (again.starred, again.unread) == (row.starred, row.unread)
