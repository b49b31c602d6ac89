from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from postroom.index.database import Database
from postroom.mime import guarded
from postroom.mime.read.parse import Parsed
from postroom.model.address import Address
from postroom.model.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProviderError,
    ProviderUnavailable,
)
from postroom.model.query.tree import In, Query, Text
from postroom.providers.context import ProviderContext
from postroom.providers.local import convert
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.providers.local.reading_ahead import BLOCK
from postroom.providers.protocol import AliasMaker, Drafts, FolderMaker, Labels, Mailbox, Watcher
from postroom.settings import LocalAccount

Raw = Callable[..., bytes]


async def test_it_is_everything_a_mailbox_may_be(mailbox: LocalMailbox) -> None:
    for protocol in (Mailbox, Drafts, Labels, FolderMaker, AliasMaker, Watcher):
        assert isinstance(mailbox, protocol)


async def test_what_named_a_mail_of_a_deleted_file_names_none_of_the_next(tmp_path: Path, raw: Raw) -> None:
    account = LocalAccount(name="me", address="me@town.example", path=tmp_path / "me.db")
    refs = []
    for _ in range(2):
        mailbox = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
        await mailbox.connect()
        refs += await mailbox.add_messages([NewMail(raw())])
        await mailbox.close()
        for file in tmp_path.glob("me.db*"):
            file.unlink()
    assert refs[0] != refs[1]


async def test_a_new_mailbox_has_a_folder_for_every_role_and_no_mail(mailbox: LocalMailbox) -> None:
    assert {folder.role: (folder.name, folder.total) for folder in await mailbox.folders()} == {
        "inbox": ("INBOX", 0),
        "sent": ("Sent", 0),
        "drafts": ("Drafts", 0),
        "trash": ("Trash", 0),
        "junk": ("Junk", 0),
        "archive": ("Archive", 0),
    }


async def test_connecting_again_answers_the_same(mailbox: LocalMailbox) -> None:
    assert await mailbox.connect() == await mailbox.connect()


async def test_a_mail_is_kept_to_the_last_byte(mailbox: LocalMailbox) -> None:
    for content in (b"", b"no header at all", b"\x00\xff\r\n\r\n\x80", b"Subject: x\n\n" + bytes(range(256)) * 40):
        ref = await mailbox.add_message(content)
        assert await mailbox.fetch_raw(ref) == content
        assert (await mailbox.fetch(ref)).envelope.size == len(content)


async def test_what_a_mail_says_is_what_is_listed(mailbox: LocalMailbox, raw: Raw) -> None:
    ref = await mailbox.add_message(raw("Grüße", Message_ID="<1@x>", Reply_To="other@far.example"), labels=["later"])
    (envelope,) = await mailbox.envelopes([ref])
    assert envelope is not None
    assert (envelope.subject, envelope.sender, envelope.reply_to) == (
        "Grüße",
        Address("dora@far.example", "Dora"),
        (Address("other@far.example"),),
    )
    assert (envelope.unread, envelope.labels, envelope.message_id) == (True, ("later",), "<1@x>")
    assert envelope.date == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert "Some words" in envelope.snippet


async def test_a_mail_without_a_date_takes_the_one_it_came_at(mailbox: LocalMailbox, raw: Raw) -> None:
    came = datetime(2025, 5, 5, tzinfo=UTC)
    without = await mailbox.add_message(raw(Date=""), date=came)
    with_one = await mailbox.add_message(raw(), date=came)
    dates = [envelope.date for envelope in await mailbox.envelopes([without, with_one]) if envelope]
    assert dates == [came, datetime(2026, 3, 1, 12, tzinfo=UTC)]


async def test_a_ref_is_never_given_twice(mailbox: LocalMailbox, raw: Raw) -> None:
    seen = set()
    for _ in range(3):
        draft = await mailbox.create_draft(raw())
        seen.add(draft.ref)
        await mailbox.delete_draft(draft.ref)
    assert len(seen) == 3


async def test_the_same_mail_twice_is_two_mails(mailbox: LocalMailbox, raw: Raw) -> None:
    assert await mailbox.add_message(raw()) != await mailbox.add_message(raw())
    assert (await mailbox.search(Query(), limit=5, offset=0)).total == 2


async def test_a_folder_that_is_missing_is_made_for_the_mail_with_its_parents(mailbox: LocalMailbox, raw: Raw) -> None:
    await mailbox.add_message(raw(), folder="仕事/請求書")
    assert {"仕事", "仕事/請求書"} <= {folder.name for folder in await mailbox.folders()}


async def test_mails_come_in_blocks_and_refs_in_order(mailbox: LocalMailbox, raw: Raw) -> None:
    mails = [NewMail(raw(f"Number {number}"), folder="Archive" if number % 2 else "INBOX") for number in range(1203)]
    refs = await mailbox.add_messages(iter(mails))
    envelopes = await mailbox.envelopes(refs)
    assert [envelope.subject for envelope in envelopes if envelope] == [f"Number {number}" for number in range(1203)]


async def test_what_is_known_already_can_be_passed_over(mailbox: LocalMailbox, raw: Raw) -> None:
    first = await mailbox.add_messages([NewMail(raw("a")), NewMail(raw("b"))])
    again = await mailbox.add_messages([NewMail(raw("a")), NewMail(raw("c")), NewMail(raw("c"))], skip_known=True)
    assert all(first)
    assert [bool(ref) for ref in again] == [False, True, False]


async def test_a_mail_that_cannot_be_filed_takes_its_block_with_it_and_no_other(
    mailbox: LocalMailbox, raw: Raw
) -> None:
    mails = [NewMail(raw()) for _ in range(BLOCK)] + [NewMail(raw(), folder="bad//name")]
    with pytest.raises(InvalidRequest):
        await mailbox.add_messages(mails)
    assert (await mailbox.search(Query(), limit=1, offset=0)).total == BLOCK


async def test_a_source_that_fails_is_heard(mailbox: LocalMailbox, raw: Raw) -> None:
    def broken() -> Any:
        yield NewMail(raw())
        raise OSError("unreadable")

    with pytest.raises(OSError, match="unreadable"):
        await mailbox.add_messages(broken())


@pytest.mark.parametrize("ref", ["", "0", "999", "-1", "1.0", "01", "x", "\udc80", "1 OR 1"])
async def test_a_ref_that_is_none_is_not_found(mailbox: LocalMailbox, raw: Raw, ref: str) -> None:
    await mailbox.add_message(raw())
    assert await mailbox.envelopes([ref]) == [None]
    with pytest.raises(NotFound):
        await mailbox.fetch(ref)
    with pytest.raises(NotFound):
        await mailbox.fetch_raw(ref)
    with pytest.raises(NotFound):
        await mailbox.fetch_part(ref, "1")
    (result,) = await mailbox.move([ref], "Trash")
    assert isinstance(result.error, NotFound)


async def test_reading_changes_nothing(mailbox: LocalMailbox, raw: Raw) -> None:
    ref = await mailbox.add_message(raw())
    await mailbox.fetch(ref)
    await mailbox.fetch_raw(ref)
    (envelope,) = await mailbox.envelopes([ref])
    assert envelope is not None
    assert envelope.unread


async def test_a_folder_is_made_once_and_unmade_while_empty(mailbox: LocalMailbox) -> None:
    folder = await mailbox.create_folder("Reisen/Cafe\u0301")
    assert folder.name == "Reisen/Café"
    with pytest.raises(Conflict):
        await mailbox.create_folder("reisen/café")
    await mailbox.delete_folder(folder.ref)
    with pytest.raises(NotFound):
        await mailbox.delete_folder(folder.ref)
    with pytest.raises(Conflict):
        await mailbox.delete_folder("INBOX")


async def test_the_own_address_is_the_default_identity_and_aliases_follow(mailbox: LocalMailbox) -> None:
    made = await mailbox.create_alias(Address("sales@town.example", "Sales"), "<b>Sales</b>")
    own, alias = await mailbox.identities()
    assert (own.address.email, own.is_default) == ("ann@town.example", True)
    assert alias == made


@pytest.mark.parametrize("taken", ["ann@town.example", "BOB@town.example", "sales@town.example", "Info@town.example"])
async def test_an_alias_that_is_anyones_address_is_refused(town: Any, taken: str) -> None:
    ann, bob = await town.mailbox("ann"), await town.mailbox("bob")
    await ann.create_alias(Address("sales@town.example"), "")
    await bob.create_alias(Address("info@town.example"), "")
    with pytest.raises(Conflict, match="belongs to an account"):
        await ann.create_alias(Address(taken), "")


async def test_an_alias_that_is_no_address_is_refused(mailbox: LocalMailbox) -> None:
    with pytest.raises(InvalidRequest):
        await mailbox.create_alias(Address("not an address"), "")


async def test_a_locked_file_is_said_while_everything_else_goes_on(
    town: Any, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(Database.__init__.__kwdefaults__, "wait_for_lock", 0.2)
    mailbox = await town.mailbox("ann")
    ref = await mailbox.add_message(raw())
    other = sqlite3.connect(town.folder / "ann.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused: list[Exception] = []

    async def mark() -> None:
        try:
            await mailbox.set_flags([ref], add=["read"])
        except ProviderUnavailable as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(mark)
        for _ in range(20):
            assert (await mailbox.search(Query(Text("words")), limit=1, offset=0)).total == 1
    assert len(refused) == 6
    other.rollback()
    assert [result.ok for result in await mailbox.set_flags([ref], add=["read"])] == [True]


LOOP, READER, ASIDE = (True, 0), (False, 1), (False, 0)


@pytest.mark.parametrize(
    ("size", "where"), [(10, [LOOP] * 3), (40_000, [LOOP, READER, READER]), (convert.AT_ONCE, [ASIDE] * 3)]
)
async def test_a_large_mail_keeps_nobody_waiting_while_it_is_parsed(
    mailbox: LocalMailbox, raw: Raw, monkeypatch: pytest.MonkeyPatch, size: int, where: list[tuple[bool, int]]
) -> None:
    parse, seen = guarded.parse, list[tuple[bool, int]]()

    def watched(content: bytes) -> Parsed:
        seen.append((threading.current_thread() is threading.main_thread(), mailbox._readers.borrowed_tokens))
        return parse(content)

    refs = [await mailbox.add_message(raw(body="a" * size)) for _ in range(2)]
    monkeypatch.setattr(guarded, "parse", watched)
    opened = [await mailbox.fetch(refs[0]), *await mailbox.fetch_many(refs)]
    assert [message.body.text.strip() for message in opened if message] == ["a" * size] * 3
    assert seen == where


async def test_little_is_read_without_a_thread_and_much_with_one(mailbox: LocalMailbox, raw: Raw) -> None:
    ref = await mailbox.add_message(raw(body="Some words."))
    holders = [object() for _ in range(int(mailbox._readers.total_tokens))]
    for holder in holders:
        await mailbox._readers.acquire_on_behalf_of(holder)
    page = await mailbox.search(Query(In("INBOX")), limit=10, offset=0)
    (one,) = page.items
    assert (await mailbox.search(Query(Text("words")), limit=10, offset=0)).items == page.items
    assert await mailbox.envelopes([ref]) == await mailbox.thread(one.thread_ref) == [one]
    assert (await mailbox.fetch(ref)).envelope == one
    assert await mailbox.mails_with_ids([one.message_id], near=ref) == ([one] if one.message_id else [])
    for much in (
        mailbox.search(Query(Text("some words", phrase=True)), limit=10, offset=0),
        mailbox.envelopes([ref] * 100),
    ):
        with anyio.move_on_after(0) as limit:
            await much
        assert limit.cancelled_caught
    for holder in holders:
        mailbox._readers.release_on_behalf_of(holder)


async def test_a_damaged_file_is_an_error_of_that_account_alone(town: Any, raw: Raw) -> None:
    (town.folder / "bob.db").write_bytes(b"ruined" * 1000)
    with pytest.raises(ProviderError, match=r"bob\.db"):
        await town.mailbox("bob")
    assert await (await town.mailbox("ann")).add_message(raw())


async def test_read_only_reads_and_refuses_every_change(tmp_path: Path, raw: Raw) -> None:
    account = LocalAccount(name="ann", address="ann@town.example", path=tmp_path / "ann.db")
    writer = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
    await writer.connect()
    ref = await writer.add_message(raw())
    reader = LocalMailbox(account, ProviderContext(tmp_path, (account,), read_only=True))
    await reader.connect()
    assert (await reader.fetch(ref)).envelope.subject == "Hello"
    for change in (
        reader.set_flags([ref], add=["read"]),
        reader.move([ref], "Trash"),
        reader.create_draft(raw()),
        reader.create_folder("New"),
        reader.apply_label([ref], "x"),
    ):
        with pytest.raises(PermissionDenied, match="read-only"):
            await change
    await reader.close()
    await writer.close()


async def test_fifty_calls_at_once_all_count(mailbox: LocalMailbox, raw: Raw) -> None:
    async def add(number: int) -> None:
        ref = await mailbox.add_message(raw(f"n{number}"))
        await mailbox.set_flags([ref], add=["starred"])
        await mailbox.move([ref], "Archive")

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(add, number)
    page = await mailbox.search(Query(In("Archive")), limit=100, offset=0)
    assert {envelope.subject for envelope in page.items if envelope.starred} == {f"n{number}" for number in range(50)}


async def test_a_path_is_taken_from_home_and_its_folders_are_made(tmp_path: Path) -> None:
    account = LocalAccount(name="ann", address="ann@town.example", path=Path("mail/deep/ann.db"))
    mailbox = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
    await mailbox.connect()
    assert (tmp_path / "mail/deep/ann.db").exists()
    await mailbox.close()


async def test_every_folder_is_named_at_first_and_then_whatever_changes_whoever_changes_it(town: Any, raw: Raw) -> None:
    mailbox, elsewhere = await town.mailbox("ann"), LocalMailbox(town.accounts["ann"], town.context)
    await elsewhere.connect()
    ref = await mailbox.add_message(raw())
    changes = mailbox.changes()

    async def heard(number: int) -> list[str]:
        with anyio.fail_after(30):
            return [await anext(changes) for _ in range(number)]

    assert await heard(6) == sorted(folder.name for folder in await mailbox.folders())
    await elsewhere.move([ref], "Archive")
    assert await heard(2) == ["Archive", "INBOX"]
    await mailbox.create_folder("New")
    assert await heard(1) == ["New"]
    await changes.aclose()  # type: ignore[attr-defined]
    await elsewhere.close()
