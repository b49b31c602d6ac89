"""Labels on a server where they are folders."""

from __future__ import annotations

from tests.peers.accounts import imap_account, letter, opened
from tests.peers.dovecot import running_dovecot
from tests.peers.gmail_imap import FOLDERS, gmail_imap


async def test_the_labels_are_the_folders_people_made_and_a_new_one_is_among_them_at_once() -> None:
    with running_dovecot(settings=FOLDERS) as dovecot, gmail_imap(dovecot.imap) as gmail:
        async with opened(imap_account(dovecot, port=gmail.port)) as mailbox:
            assert await mailbox.labels() == ["Archive"]
            draft = await mailbox.create_draft(letter("one"))
            (result,) = await mailbox.apply_label([draft.message_ref], "Grüße & Co")
            assert result.ok
            assert await mailbox.labels() == ["Archive", "Grüße & Co"]
            assert [row.labels for row in await mailbox.envelopes([draft.message_ref]) if row] == [("Grüße & Co",)]
