"""Connections that die, hang or crawl: reading goes on unnoticed, writing says honestly what it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing

import anyio
import pytest
from tests.peers.accounts import imap_account, letter, opened
from tests.peers.dovecot import Dovecot, running_dovecot
from tests.peers.faultproxy import FaultProxy, faulty

from postroom.model.errors import ProviderUnavailable
from postroom.model.query.tree import In, Query
from postroom.providers.imap.provider import ImapMailbox
from postroom.settings import ImapAccount

BIG = "x" * 60_000


@pytest.fixture
def proxy(dovecot: Dovecot) -> Iterator[FaultProxy]:
    with faulty(dovecot.imap) as proxy:
        yield proxy


@pytest.fixture
def account(dovecot: Dovecot, proxy: FaultProxy) -> ImapAccount:
    return imap_account(dovecot, port=proxy.port, timeout=2)


async def drafts_of(mailbox: ImapMailbox) -> list[str]:
    page = await mailbox.search(Query(In("Drafts")), limit=50, offset=0)
    return [row.subject for row in page.items]


async def test_connections_that_died_while_idle_are_replaced_unnoticed(account: ImapAccount, proxy: FaultProxy) -> None:
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("one"))
        proxy.cut_all()
        assert (await mailbox.fetch(draft.ref)).envelope.subject == "one"
        proxy.cut_all()
        await mailbox.create_draft(letter("two"))
        proxy.cut_all()
        assert [result.ok for result in await mailbox.set_flags([draft.ref], add=["starred"])] == [True]
        assert sorted(await drafts_of(mailbox)) == ["one", "two"]


async def test_a_restarted_server_is_found_again() -> None:
    with running_dovecot() as server:
        async with opened(imap_account(server, timeout=5)) as mailbox:
            draft = await mailbox.create_draft(letter("one"))
            server.kill()
            with pytest.raises(ProviderUnavailable):
                await mailbox.fetch(draft.ref)
            server.start()
            assert (await mailbox.fetch(draft.ref)).envelope.subject == "one"


async def test_a_fetch_that_is_cut_in_the_middle_is_repeated(account: ImapAccount, proxy: FaultProxy) -> None:
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("big", text=BIG))
        proxy.cut_all()
        proxy.reset(cut_after_down=30_000, times=1)
        assert BIG.encode() in await mailbox.fetch_raw(draft.ref)


async def test_a_fetch_that_is_cut_each_time_says_that_the_server_is_unavailable(
    account: ImapAccount, proxy: FaultProxy
) -> None:
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("big", text=BIG))
        proxy.cut_all()
        proxy.reset(cut_after_down=30_000)
        with pytest.raises(ProviderUnavailable) as caught:
            await mailbox.fetch_raw(draft.ref)
        assert caught.value.retryable
        proxy.reset()
        assert BIG.encode() in await mailbox.fetch_raw(draft.ref)


async def test_a_server_killed_during_a_fetch_gives_no_half_mail() -> None:
    with running_dovecot() as server, faulty(server.imap) as proxy:
        async with opened(imap_account(server, port=proxy.port, timeout=5)) as mailbox:
            draft = await mailbox.create_draft(letter("big", text=BIG))
            proxy.reset(drip=0.001)

            async def kill() -> None:
                await anyio.sleep(0.3)
                server.kill()
                proxy.cut_all()

            async with anyio.create_task_group() as group:
                group.start_soon(kill)
                with pytest.raises(ProviderUnavailable):
                    await mailbox.fetch_raw(draft.ref)


async def test_an_append_that_is_cut_before_it_is_whole_is_not_repeated_and_left_nothing(
    account: ImapAccount, proxy: FaultProxy
) -> None:
    async with opened(account) as mailbox:
        proxy.reset(cut_before_client=b"END-OF-MAIL")
        with pytest.raises(ProviderUnavailable, match="may or may not have happened"):
            await mailbox.create_draft(letter("cut", text=BIG + "END-OF-MAIL"))
        proxy.reset()
        assert await drafts_of(mailbox) == []


async def test_an_append_whose_answer_is_lost_is_said_to_be_unclear_and_there_is_one_copy(
    account: ImapAccount, proxy: FaultProxy
) -> None:
    async with opened(account) as mailbox:
        proxy.reset(swallow_after=b"END-OF-MAIL")
        with pytest.raises(ProviderUnavailable, match="may or may not have happened"):
            await mailbox.create_draft(letter("lost", text="END-OF-MAIL"))
        proxy.reset()
        assert await drafts_of(mailbox) == ["lost"]


async def test_a_move_whose_answer_is_lost_is_unclear_for_its_items_and_loses_nothing(
    account: ImapAccount, proxy: FaultProxy
) -> None:
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("one"))
        proxy.reset(swallow_after=b"UID MOVE")
        (result,) = await mailbox.move([draft.ref], "Archive")
        assert isinstance(result.error, ProviderUnavailable)
        proxy.reset()
        everywhere = await mailbox.search(Query(), limit=10, offset=0)
        assert [row.subject for row in everywhere.items] == ["one"]


@pytest.mark.parametrize("fault", ["swallow_after", "cut_before_client"])
async def test_a_rename_whose_answer_is_lost_is_found_out_about_and_ids_lead_to_the_mails_either_way(
    account: ImapAccount, proxy: FaultProxy, fault: str
) -> None:
    async with opened(account) as mailbox:
        await mailbox.create_folder("Plans")
        await mailbox.create_folder("Plans/2026")
        draft = await mailbox.create_draft(letter("one"))
        (moved,) = await mailbox.move([draft.ref], "Plans/2026")
        proxy.reset(**{fault: b"RENAME"}, times=1)
        if fault == "cut_before_client":
            with pytest.raises(ProviderUnavailable, match="may or may not have happened"):
                await mailbox.rename_folder("Plans", "Ideas")
            ref = moved.new_ref
        else:
            renamed = await mailbox.rename_folder("Plans", "Ideas")
            assert (renamed.folder.name, renamed.refs) == ("Ideas", {"Plans": "Ideas", "Plans/2026": "Ideas/2026"})
            ref = mailbox.ref_after_rename(moved.new_ref, renamed.refs)
        proxy.reset()
        assert (await mailbox.fetch(ref)).envelope.subject == "one"


async def test_a_draft_update_cut_before_the_old_one_is_gone_loses_no_text(
    account: ImapAccount, proxy: FaultProxy
) -> None:
    async with opened(account) as mailbox:
        old = await mailbox.create_draft(letter("plan", text="One."))
        proxy.reset(cut_before_client=b"UID STORE", times=1)
        new = await mailbox.update_draft(old.ref, letter("plan", text="Two."))
        proxy.reset()
        assert (await mailbox.fetch(new.ref)).body.text.strip() == "Two."
        assert await drafts_of(mailbox) == ["plan"]


async def test_a_silent_server_is_given_up_after_the_timeout(dovecot: Dovecot, proxy: FaultProxy) -> None:
    async with opened(imap_account(dovecot, port=proxy.port, timeout=1)) as mailbox:
        draft = await mailbox.create_draft(letter("one"))
        proxy.reset(silent=True)
        with anyio.fail_after(30), pytest.raises(ProviderUnavailable):
            await mailbox.fetch(draft.ref)
        proxy.reset()
        assert (await mailbox.fetch(draft.ref)).envelope.subject == "one"


async def test_a_server_silent_from_the_start_is_given_up_too(dovecot: Dovecot, proxy: FaultProxy) -> None:
    proxy.reset(silent=True)
    with anyio.fail_after(30), pytest.raises(ProviderUnavailable, match="in time"):
        async with opened(imap_account(dovecot, port=proxy.port, timeout=1)):
            pass


async def test_a_server_that_drips_bytes_is_given_up_in_the_end(
    dovecot: Dovecot, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.providers.imap.session.pool._PATIENCE", 2)
    async with opened(imap_account(dovecot, port=proxy.port, timeout=1)) as mailbox:
        draft = await mailbox.create_draft(letter("big", text=BIG))
        proxy.reset(drip=0.05)
        with anyio.fail_after(30), pytest.raises(ProviderUnavailable):
            await mailbox.fetch_raw(draft.ref)


async def test_fifty_calls_at_once_share_the_allowed_connections(dovecot: Dovecot, proxy: FaultProxy) -> None:
    async with opened(imap_account(dovecot, port=proxy.port, max_connections=3)) as mailbox:
        draft = await mailbox.create_draft(letter("one"))
        subjects: list[str] = []

        async def read() -> None:
            subjects.append((await mailbox.fetch(draft.ref)).envelope.subject)

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(read)
        assert subjects == ["one"] * 50
        assert proxy.connections <= 3


async def test_a_server_that_allows_fewer_connections_than_the_settings_is_shared() -> None:
    with running_dovecot(settings="mail_max_userip_connections = 2\n") as server:
        async with opened(imap_account(server, max_connections=6)) as mailbox:
            draft = await mailbox.create_draft(letter("one"))
            subjects: list[str] = []

            async def read() -> None:
                subjects.append((await mailbox.fetch(draft.ref)).envelope.subject)

            async with anyio.create_task_group() as group:
                for _ in range(30):
                    group.start_soon(read)
            assert subjects == ["one"] * 30


async def test_fifty_calls_at_once_survive_that_every_connection_is_cut(
    account: ImapAccount, proxy: FaultProxy
) -> None:
    async with opened(account) as mailbox:
        draft = await mailbox.create_draft(letter("one"))
        subjects: list[str] = []

        async def read() -> None:
            subjects.append((await mailbox.fetch(draft.ref)).envelope.subject)

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(read)
            await anyio.sleep(0)
            proxy.cut_all()
        assert subjects == ["one"] * 50


async def test_a_watcher_whose_connection_is_cut_listens_again(account: ImapAccount, proxy: FaultProxy) -> None:
    async with opened(account) as mailbox, aclosing(mailbox.changes()) as news:
        with anyio.fail_after(30):
            assert await anext(news) == "INBOX"  # it listens
            proxy.cut_all()
            assert await anext(news) == "INBOX"  # it listens again, and something may have been missed
            await _knock(mailbox)
            assert await anext(news) == "INBOX"


async def _knock(mailbox: ImapMailbox) -> None:
    draft = await mailbox.create_draft(letter("news"))
    await mailbox.move([draft.ref], "INBOX")
