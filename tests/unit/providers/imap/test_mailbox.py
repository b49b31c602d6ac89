"""What only IMAP has: UIDVALIDITY, other programs' deleted mails, narrow servers, big folders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from imapclient import IMAPClient
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot

from postroom.model.errors import NotFound
from postroom.model.query.tree import HasAttachment, In, Query, Text
from postroom.providers.imap.mail.reading import rows
from postroom.providers.imap.mail.refs import read_ref
from postroom.providers.imap.provider import ImapMailbox
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.client import Session

PLAIN_SERVER = "IMAP4rev1 NAMESPACE"
SERVERS = ["full", "without MOVE", "plain"]


@pytest.fixture(scope="module")
def narrow_servers(dovecot: Dovecot) -> Iterator[dict[str, Dovecot]]:
    without_move = "IMAP4rev1 UIDPLUS NAMESPACE UNSELECT ESEARCH SORT LITERAL+"
    with running_dovecot(capability=without_move) as second, running_dovecot(capability=PLAIN_SERVER) as third:
        yield dict(zip(SERVERS, (dovecot, second, third), strict=True))


def logged_in(dovecot: Dovecot, user: str) -> Any:
    client = IMAPClient(dovecot.host, dovecot.imap, ssl=False, timeout=10)
    client.login(user, PASSWORD)
    return client


async def put(mailbox: ImapMailbox, *keys: str) -> list[str]:
    """Mails in the inbox, by way of Drafts: the provider's own verbs are enough."""
    saved = [await mailbox.create_draft(letter(key)) for key in keys]
    return [result.new_ref for result in await mailbox.move([draft.ref for draft in saved], "INBOX")]


@pytest.mark.parametrize("server", SERVERS)
async def test_moving_never_takes_another_programs_deleted_mails_along(
    narrow_servers: dict[str, Dovecot], server: str
) -> None:
    dovecot = narrow_servers[server]
    account = imap_account(dovecot)
    async with opened(account) as mailbox:
        first, second, third = await put(mailbox, "first", "second", "third")
        with logged_in(dovecot, account.username) as other:
            other.select_folder("INBOX")
            other.add_flags([int(second.rpartition("|")[2])], ["\\Deleted"])
            (result,) = await mailbox.move([first], "Archive")
            assert result.ok
            assert result.new_ref.startswith("Archive|")
            other.noop()
            left = other.fetch(other.search(), ["FLAGS", "ENVELOPE"])
            subjects = {item[b"ENVELOPE"].subject for item in left.values()}
            assert b"second" in subjects, "a mail that another program had marked is gone"
            other.remove_flags([int(second.rpartition("|")[2])], ["\\Deleted"])
        page = await mailbox.search(Query(In("INBOX")), limit=10, offset=0)
        assert {row.ref for row in page.items} == {second, third}
        assert [row.subject for row in await mailbox.thread("<first@seed.example>")] == ["first"]


@pytest.mark.parametrize("server", SERVERS)
async def test_many_chunks_are_each_moved_from_the_right_folder(
    narrow_servers: dict[str, Dovecot], server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.providers.imap.session.uid_sets._CHUNK", 2)
    monkeypatch.setattr("postroom.providers.imap.mail.organising._MOVED_AT_ONCE", 2)
    async with opened(imap_account(narrow_servers[server])) as mailbox:
        keys = [f"m{n}" for n in range(7)]
        refs = await put(mailbox, *keys)
        await mailbox.move([(await mailbox.create_draft(letter("bystander"))).ref], "Archive")
        results = await mailbox.move(refs, "Archive")
        assert all(result.ok and result.new_ref for result in results)
        rows = await mailbox.envelopes([result.new_ref for result in results])
        assert [row and row.subject for row in rows] == keys
        archived = await mailbox.search(Query(In("Archive")), limit=20, offset=0)
        assert archived.total == 8
        assert (await mailbox.search(Query(In("INBOX")), limit=20, offset=0)).total == 0


async def test_after_a_new_uidvalidity_old_refs_lead_nowhere(dovecot: Dovecot) -> None:
    account = imap_account(dovecot)
    async with opened(account) as mailbox:
        refs = await put(mailbox, "first", "second")
    dovecot.renumber(account.username)
    async with opened(account) as mailbox:
        assert await mailbox.envelopes(refs) == [None, None]
        with pytest.raises(NotFound):
            await mailbox.fetch(refs[0])
        results = await mailbox.set_flags(refs, add=["starred"])
        assert [type(result.error) for result in results] == [NotFound, NotFound]
        results = await mailbox.move(refs, "Trash")
        assert [result.ok for result in results] == [False, False]
        page = await mailbox.search(Query(In("INBOX")), limit=10, offset=0)
        assert len(page.items) == 2
        assert not any(row.starred for row in page.items)


async def test_a_folder_of_odd_letters_is_read_written_and_named_in_refs(dovecot: Dovecot) -> None:
    async with opened(imap_account(dovecot)) as mailbox:
        folder = await mailbox.create_folder('a|b "q" & ü\\x')
        (ref,) = await put(mailbox, "one")
        (moved,) = await mailbox.move([ref], folder.ref)
        assert (await mailbox.fetch(moved.new_ref)).envelope.folder == folder.name
        page = await mailbox.search(Query(In(folder.name)), limit=10, offset=0)
        assert [row.ref for row in page.items] == [moved.new_ref]


async def test_a_folder_below_the_inbox_is_found_however_the_inbox_was_written(dovecot: Dovecot) -> None:
    async with opened(imap_account(dovecot)) as mailbox:
        made = await mailbox.create_folder("Inbox/Plans")
        assert made.name == "INBOX/Plans"
        assert made.ref in [folder.ref for folder in await mailbox.folders()]
        await mailbox.delete_folder(made.ref)


async def test_what_takes_too_long_to_count_is_not_counted(dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.providers.imap.search.searching.CHECKED_WHOLE", 3)
    monkeypatch.setattr("postroom.providers.imap.session.uid_sets._CHUNK", 2)
    with_file = (
        b"Subject: filed\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf; name=a.pdf\r\n"
        b"Content-Disposition: attachment\r\n\r\nx\r\n"
    )
    async with opened(imap_account(dovecot)) as mailbox:
        for key in range(6):
            await mailbox.create_draft(letter(f"m{key}"))
            await mailbox.create_draft(with_file)
        first = await mailbox.search(Query(HasAttachment()), limit=2, offset=0)
        assert (len(first.items), first.total, first.has_more) == (2, None, True)
        last = await mailbox.search(Query(HasAttachment()), limit=4, offset=4)
        assert (len(last.items), last.has_more) == (2, False)


async def test_a_folder_removed_elsewhere_is_passed_over_or_not_found_by_name(dovecot: Dovecot) -> None:
    account = imap_account(dovecot)
    async with opened(account) as mailbox:
        await mailbox.create_folder("Shortlived")
        (ref,) = await put(mailbox, "one")
        assert len((await mailbox.search(Query(), limit=10, offset=0)).items) == 1
        with logged_in(dovecot, account.username) as other:
            other.delete_folder("Shortlived")
        assert [row.ref for row in (await mailbox.search(Query(), limit=10, offset=0)).items] == [ref]
        assert [row.ref for row in await mailbox.thread("<one@seed.example>")] == [ref]
        with pytest.raises(NotFound):
            await mailbox.search(Query(In("Shortlived")), limit=10, offset=0)


async def test_a_thread_with_undated_mails_is_in_order(dovecot: Dovecot) -> None:
    undated = letter("late").replace(
        b"Date: Mon, 1 Jun 2026 10:00:00 +0000\r\n", b"In-Reply-To: <root@seed.example>\r\n"
    )
    async with opened(imap_account(dovecot)) as mailbox:
        await mailbox.create_draft(undated)
        await mailbox.create_draft(letter("root"))
        assert [row.subject for row in await mailbox.thread("<root@seed.example>")] == ["root", "late"]


async def test_changes_are_heard_within_seconds_over_tls(dovecot: Dovecot) -> None:
    account = imap_account(
        dovecot, host="localhost", port=dovecot.imaps, security="tls", ca_file=dovecot.certificates.ca
    )
    heard: list[str] = []
    async with opened(account) as mailbox:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:

                async def listen() -> None:
                    async for folder in mailbox.changes():
                        heard.append(folder)
                        if len(heard) == 1:
                            group.start_soon(put, mailbox, "news")
                        elif folder == "INBOX":
                            group.cancel_scope.cancel()

                group.start_soon(listen)
    assert (heard[0], set(heard)) == ("INBOX", {"INBOX", "Drafts"})  # where it was put together


async def test_a_word_of_the_mime_headers_finds_nothing(dovecot: Dovecot) -> None:
    async with opened(imap_account(dovecot)) as mailbox:
        await put(mailbox, "one")
        assert (await mailbox.search(Query(Text("plain")), limit=10, offset=0)).items == ()


async def test_no_drafts_folder_is_an_error_that_names_the_missing_role() -> None:
    bare = "namespace inbox {\n  mailbox Drafts {\n    auto = no\n  }\n}\n"
    with running_dovecot(settings=bare) as server:
        async with opened(imap_account(server)) as mailbox:
            with pytest.raises(NotFound, match="no Drafts folder") as missing:
                await mailbox.create_draft(letter("one"))
            assert (missing.value.reason, missing.value.details) == ("folder_role_missing", {"role": "drafts"})


async def test_draft_update_leaves_other_deleted_drafts_alone(dovecot: Dovecot) -> None:
    account = imap_account(dovecot)
    async with opened(account) as mailbox:
        marked = await mailbox.create_draft(letter("marked"))
        draft = await mailbox.create_draft(letter("draft"))
        with logged_in(dovecot, account.username) as other:
            other.select_folder("Drafts")
            other.add_flags([int(marked.ref.rpartition("|")[2])], ["\\Deleted"])
            await mailbox.update_draft(draft.ref, letter("draft", text="Two."))
            other.noop()
            assert len(other.search()) == 2


async def test_of_two_mails_with_one_message_id_neither_takes_the_others_place(
    narrow_servers: dict[str, Dovecot], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some servers do not say where a mail went; what is found there in its stead might be brought back for it."""
    monkeypatch.setattr(wire, "read_copied", lambda _: (0, {}))  # Dovecot says it without being asked
    async with opened(imap_account(narrow_servers["plain"])) as mailbox:
        first, second = [(await put(mailbox, "twin"))[0], (await put(mailbox, "other"))[0]]
        forged = await mailbox.create_draft(letter("twin", text="forged"))
        await mailbox.move([forged.ref], "Archive")

        (result,) = await mailbox.move([first], "Archive")
        (alone,) = await mailbox.move([second], "Archive")

        assert (result.ok, result.new_ref) == (True, "")
        assert alone.new_ref.startswith("Archive|")


async def test_a_message_that_is_removed_while_it_is_listed_is_not_listed_as_an_empty_one(dovecot: Dovecot) -> None:
    account = imap_account(dovecot)
    async with opened(account) as mailbox:
        kept, taken = await put(mailbox, "kept", "taken")

        def list_while_it_goes(session: Session) -> list[str]:
            validity = session.open("INBOX").validity
            with logged_in(dovecot, account.username) as other:
                other.select_folder("INBOX")
                other.move([read_ref(taken).uid], "Archive")
            found = rows(session, "INBOX", "INBOX", validity, [read_ref(kept).uid, read_ref(taken).uid])
            return [row.subject for row in found.values()]

        assert await mailbox._pool.run("INBOX", list_while_it_goes) == ["kept"]


async def test_a_message_that_is_removed_while_it_is_fetched_does_not_enter_a_mirror_empty(dovecot: Dovecot) -> None:
    account = imap_account(dovecot)
    async with opened(account) as mailbox:
        kept, taken = await put(mailbox, "kept", "taken")

        def fetch_while_it_goes(session: Session) -> list[int]:
            session.open("INBOX")
            with logged_in(dovecot, account.username) as other:
                other.select_folder("INBOX")
                other.move([read_ref(taken).uid], "Archive")
            return list(session.fetch([read_ref(kept).uid, read_ref(taken).uid], "UID BODY.PEEK[]<0.1000>"))

        assert await mailbox._pool.run("INBOX", fetch_while_it_goes) == [read_ref(kept).uid]
