"""The mirror of `needs`: a capability that is true is really there, one that is false raises Unsupported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from postroom.model.address import Address
from postroom.model.errors import Unsupported
from postroom.model.outcome import SubmitRequest, WireEnvelope
from postroom.providers.protocol import (
    AliasMaker,
    Changes,
    Drafts,
    FolderMaker,
    FolderRenamer,
    Labels,
    ManyFolders,
    RawAccess,
    Rules,
    Threads,
    Vacations,
    Watcher,
)

from .mails import mail, message_id
from .rigs import RigAccount

VERBS: list[tuple[str, type, Callable[[Any], Awaitable[Any]]]] = [
    ("can_draft", Drafts, lambda mailbox: mailbox.create_draft(mail("one"))),
    ("can_draft", Drafts, lambda mailbox: mailbox.list_drafts(limit=1, offset=0)),
    ("can_label", Labels, lambda mailbox: mailbox.labels()),
    ("can_label", Labels, lambda mailbox: mailbox.apply_label(["1"], "errand")),
    ("can_label", Labels, lambda mailbox: mailbox.remove_label(["1"], "errand")),
    ("can_create_folder", FolderMaker, lambda mailbox: mailbox.create_folder("Receipts")),
    ("can_rename_folder", FolderRenamer, lambda mailbox: mailbox.rename_folder("Receipts", "Bills")),
    ("can_create_alias", AliasMaker, lambda mailbox: mailbox.create_alias(Address("a@demo.example"), "")),
    ("has_raw", RawAccess, lambda mailbox: mailbox.fetch_raw("1")),
    ("has_threading", Threads, lambda mailbox: mailbox.thread("1")),
    ("has_many_folders", ManyFolders, lambda mailbox: mailbox.put_into(["1"], ["INBOX"])),
    ("has_delta", Changes, lambda mailbox: mailbox.changed_since("", limit=1)),
    ("has_server_side_rules", Rules, lambda mailbox: mailbox.list_rules()),
    ("has_server_side_rules", Rules, lambda mailbox: mailbox.put_rules([])),
    ("has_vacation", Vacations, lambda mailbox: mailbox.vacation()),
    ("has_vacation", Vacations, lambda mailbox: mailbox.stop_vacation()),
    ("has_push", Watcher, lambda mailbox: anext(mailbox.changes())),
]


@pytest.mark.parametrize(("capability", "proto", "call"), VERBS)
async def test_a_capability_is_there_or_its_verb_is_unsupported(
    account: RigAccount, capability: str, proto: type, call: Callable[[Any], Awaitable[Any]]
) -> None:
    if getattr(account.capabilities, capability):
        assert isinstance(account.mailbox, proto)
        return
    with pytest.raises(Unsupported) as caught:
        await call(account.mailbox)
    assert caught.value.details["provider"] == account.capabilities.provider


async def test_sending_is_there_or_unsupported(account: RigAccount) -> None:
    assert (account.transport is not None) >= account.capabilities.can_send
    if account.transport is None or account.capabilities.can_send:
        return
    envelope = WireEnvelope(account.address, (account.second_address,))
    with pytest.raises(Unsupported):
        await account.transport.submit(SubmitRequest(envelope, mail("one"), message_id("one"), "attempt-one"))
