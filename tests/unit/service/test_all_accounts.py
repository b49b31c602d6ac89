"""Every account at once: asked side by side, and what one of them cannot answer is said beside what the others did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.contract.mails import mail
from tests.peers.memory_mailbox import MemoryMailbox, provided

from postroom.doors.mcp.dialects.postroom import results
from postroom.model.errors import ProviderUnavailable
from postroom.service.accounts.folders import list_accounts
from postroom.service.gateway import Gateway
from postroom.service.reading import search


class MeetingMailbox(MemoryMailbox):
    """Answers a search only once the other account is being searched as well."""

    waiting = 0
    met: anyio.Event

    async def search(self, *args: Any, **kwargs: Any) -> Any:
        MeetingMailbox.waiting += 1
        if MeetingMailbox.waiting == 2:
            self.met.set()
        await self.met.wait()
        return await super().search(*args, **kwargs)


class ArrivingMailbox(MemoryMailbox):
    """Lists messages as they arrived, whatever date their senders wrote, as Gmail does."""

    async def search(self, query: Any, *, limit: int, offset: int) -> Any:
        page = await super().search(query, limit=10_000, offset=0)
        rows = sorted(page.items, key=lambda row: [*self.contents.mails].index(row.ref), reverse=True)
        shown = tuple(rows[offset : offset + limit])
        return replace(page, items=shown, limit=limit, offset=offset, has_more=len(rows) > offset + limit)


class HangingMailbox(MemoryMailbox):
    """Does not say before it is released that it cannot be reached."""

    attempts = 0
    released: anyio.Event

    async def connect(self) -> Any:
        HangingMailbox.attempts += 1
        await self.released.wait()
        return await super().connect()


@pytest.fixture(autouse=True)
def nobody_waits() -> None:
    MeetingMailbox.waiting, MeetingMailbox.met = 0, anyio.Event()
    HangingMailbox.attempts, HangingMailbox.released = 0, anyio.Event()


async def test_all_accounts_are_searched_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path, MeetingMailbox, "one two") as (gateway, (one, two)):
        one.add(mail("first", days_ago=1))
        two.add(mail("second", days_ago=2))
        with anyio.fail_after(20):
            page = await search.search_emails(gateway, "subject", account="all")
        assert [row.account for row in page.results] == ["one", "two"]
        assert (page.total_count, page.filters_not_applied, page.notices) == (2, (), ())


async def test_all_accounts_are_checked_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path, MeetingMailbox, "one two") as (gateway, _):
        with anyio.fail_after(20):
            assert [account.status for account in await list_accounts(gateway, check=True)] == ["ok", "ok"]
        assert [account.status for account in await list_accounts(gateway)] == ["", ""]


async def test_an_account_that_does_not_answer_is_named_beside_the_mails_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, names="one dead") as (gateway, (one, dead)):
        one.add(mail("first"))
        dead.is_down = True
        page = await search.list_emails(gateway, account="all")
        assert [row.account for row in page.results] == ["one"]
        assert page.total_count is None
        assert page.filters_not_applied == ("account:dead",)
        assert page.notices == ("Account dead was not searched. The mail server does not answer. Try again later.",)
        shown = results.email_page(page, with_account=True)
        assert "Notice: Account dead was not searched." in shown.content[-1].text  # type: ignore[union-attr]
        assert shown.structured_content is not None
        assert "notices" not in shown.structured_content
        assert shown.structured_content["filters_not_applied"] == ["account:dead"]


async def test_all_who_wait_for_a_server_that_hangs_wait_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[str] = []

    async def ask(gateway: Gateway) -> None:
        with pytest.raises(ProviderUnavailable) as caught:
            await search.list_emails(gateway)
        failures.append(caught.value.message)

    async with provided(monkeypatch, tmp_path, HangingMailbox) as (gateway, (dead,)):
        dead.is_down = True
        for attempts in (1, 2):
            HangingMailbox.released = anyio.Event()
            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(ask, gateway)
                await anyio.wait_all_tasks_blocked()
                HangingMailbox.released.set()
            assert (HangingMailbox.attempts, len(failures)) == (attempts, 8 * attempts)
        dead.is_down = False
        assert (await search.list_emails(gateway)).results == ()


async def test_who_waits_for_an_attempt_that_is_given_up_makes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, HangingMailbox) as (gateway, _):
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as given_up:
                async with anyio.create_task_group() as first:
                    first.start_soon(search.list_emails, gateway)
                    await anyio.wait_all_tasks_blocked()
                    tasks.start_soon(search.list_emails, gateway)
                    await anyio.wait_all_tasks_blocked()
                    given_up.cancel()
            await anyio.wait_all_tasks_blocked()
            HangingMailbox.released.set()
        assert HangingMailbox.attempts == 2


async def test_what_the_mirrors_of_the_others_have_is_not_called_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, names="one dead") as (gateway, (one, dead)):
        one.add(mail("first"))
        for is_down in (True, False):
            dead.is_down = is_down
            page = await search.list_emails(gateway, account="all")
            shown = results.email_page(replace(page, as_of="2026-06-01T10:00:00+00:00")).structured_content
            assert shown is not None
            assert shown["complete"] is not is_down


@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_pages_of_all_accounts_neither_skip_nor_repeat_a_message_whatever_its_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    odd = {3: 9_000, 9: 20_000, 15: -500}  # written years ago, as it says, or only next year
    async with provided(monkeypatch, tmp_path, ArrivingMailbox, "one two") as (gateway, contents):
        for place, one in enumerate(contents):
            for day in range(30 - 12 * place, 0, -1):
                one.add(mail(f"{place}-{day}", days_ago=odd.get(day, day) if place == 0 else day))
        shown: list[str] = []
        has_more = True
        while has_more:
            page = await search.list_emails(gateway, account="all", limit=limit, offset=len(shown))
            shown += [row.subject for row in page.results]
            has_more = page.has_more
        assert len(shown) == len(set(shown)) == 48
        days = [int(subject.rpartition("-")[2]) for subject in shown if subject != "Subject of 0-15"]
        assert days == sorted(days)


async def test_where_no_account_answers_the_search_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path, names="one two") as (gateway, contents):
        for one in contents:
            one.is_down = True
        with pytest.raises(ProviderUnavailable):
            await search.list_emails(gateway, account="all")


async def test_one_account_asked_for_by_name_fails_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path, names="one dead") as (gateway, (_, dead)):
        dead.is_down = True
        with pytest.raises(ProviderUnavailable):
            await search.list_emails(gateway, account="dead")
