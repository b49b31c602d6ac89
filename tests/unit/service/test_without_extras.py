"""What the service does on a provider that has nothing but the required verbs, and how often it asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.mails import PDF, mail
from tests.peers.memory_mailbox import MemoryMailbox, provided

from postroom.model.capabilities import Capabilities
from postroom.model.errors import InvalidRequest, NoAnswer, NotFound, PermissionDenied, Unsupported
from postroom.model.folder import Role
from postroom.model.message import Message
from postroom.service import recent
from postroom.service.gateway import Gateway
from postroom.service.organising import organise
from postroom.service.reading import read, search, several
from postroom.service.reading.rendering import Reading
from postroom.service.writing import composing, draft


class BatchMailbox(MemoryMailbox):
    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        found = [await self.fetch(ref) if ref in self.contents.mails else None for ref in refs]
        self.contents.calls["fetch"] -= sum(message is not None for message in found)
        self.asked("fetch_many")
        return found


class SilentMailbox(MemoryMailbox):
    """It lists what it has, and then says nothing any more."""

    async def fetch(self, ref: str) -> Message:
        raise self.silence("fetch")

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        raise self.silence("fetch_many")

    def silence(self, verb: str) -> NoAnswer:
        self.asked(verb)
        error = NoAnswer("The mail server did not answer in time.")
        error.tries = 2  # it was asked again below
        return error


async def ids(gateway: Gateway) -> dict[str, str]:
    return {row.subject: row.email_id for row in (await search.search_emails(gateway, "in:anywhere")).results}


async def test_a_thread_is_found_by_subject_and_told_apart_by_the_ids_its_mails_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        contents.add(mail("one", subject="Plans", text="First.", days_ago=3))
        contents.add(mail("two", subject="Re: Plans", text="Second.", days_ago=2, answers=["one"]), "Sent")
        contents.add(mail("three", subject="Fwd: Re: Plans", text="Third.", days_ago=1, answers=["one", "two"]))
        contents.add(mail("other", subject="Plans", text="Of somebody else."))
        known = await ids(gateway)
        for subject in ("Re: Plans", "Fwd: Re: Plans"):
            view = await read.get_thread(gateway, known[subject])
            assert [email.body.strip() for email in view.emails] == ["First.", "Second.", "Third."]
            assert {email.row.thread_id for email in view.emails} == {view.thread_id}
        again = await read.get_thread(gateway, view.thread_id)
        assert [email.row.email_id for email in again.emails] == [email.row.email_id for email in view.emails]


async def test_a_server_that_is_silent_is_waited_for_once_however_many_messages_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, SilentMailbox) as (gateway, (contents,)):
        for name in ("one", "two", "three"):
            contents.add(mail(name, subject=name))
        items = await several.read_emails(gateway, list((await ids(gateway)).values()), Reading())
        assert [item.error.code for item in items if item.error is not None] == ["PROVIDER_ERROR"] * 3
        assert (contents.calls["fetch_many"], contents.calls["fetch"]) == (1, 0)


async def test_a_thread_of_which_nothing_is_left_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        contents.add(mail("one"))
        (email_id,) = (await ids(gateway)).values()
        contents.mails.clear()
        with pytest.raises(NotFound):
            await read.get_thread(gateway, email_id)


async def test_a_mail_that_cannot_be_had_whole_is_forwarded_as_a_quote_with_its_attachments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, _):
        account = await gateway.accounts.open()
        mailbox: Any = account.mailbox
        raw = mail("one", subject="Numbers", text="See the file.", bcc="x@y.example", files=[("n.pdf", PDF)])
        ref = MemoryMailbox.kept["mine@demo.example"].add(raw)
        request = composing.ForwardRequest(to=("bob@demo.example",), comment="For you.")
        made = await composing.forward_of(gateway, account, await mailbox.fetch(ref), request)
        assert made.forwarded is None
        assert made.text.startswith("For you.\n\n---------- Forwarded message ----------\nFrom: Ada Byron")
        assert "Subject: Numbers" in made.text
        assert made.text.endswith("See the file.")
        assert "x@y.example" not in made.text
        assert [(file.filename, file.content) for file in made.files] == [("n.pdf", PDF)]


async def test_what_needs_the_raw_mail_says_that_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        contents.add(mail("one"))
        (email_id,) = (await ids(gateway)).values()
        with pytest.raises(Unsupported, match="raw messages"):
            await read.read_email(gateway, email_id, body_format="raw")
        with pytest.raises(Unsupported, match="raw messages"):
            await read.raw_email(gateway, email_id)
        with pytest.raises(Unsupported, match="drafts"):
            await draft.create_draft(gateway, composing.DraftRequest(to=("a@b.example",), body="x"))


@pytest.mark.parametrize(("mailbox", "expected"), [(MemoryMailbox, (3, 0)), (BatchMailbox, (0, 1))])
async def test_a_thread_is_one_fetch_where_the_provider_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mailbox: type[MemoryMailbox], expected: tuple[int, int]
) -> None:
    async with provided(monkeypatch, tmp_path, mailbox) as (gateway, (contents,)):
        for number in range(3):
            answers = [f"n{earlier}" for earlier in range(number)]
            contents.add(mail(f"n{number}", subject="Plans", answers=answers, days_ago=9 - number))
        (email_id, *_) = (await ids(gateway)).values()
        contents.calls.clear()
        for verb in ("fetch_many", "fetch_each"):
            monkeypatch.setattr(f"postroom.service.reading.threads.{verb}", _from_list(contents))
        await read.get_thread(gateway, email_id)
        assert (contents.calls["fetch"], contents.calls["fetch_many"]) == expected


def _from_list(contents: Any) -> Any:
    """Finding the thread aside: only opening its mails is counted."""

    async def found(account: Any, refs: Sequence[str], **_: Any) -> list[Message | None]:
        before = contents.calls.copy()
        messages = [await account.mailbox.fetch(ref) for ref in refs]
        contents.calls.clear()
        contents.calls.update(before)
        return list(messages)

    return found


async def test_folders_and_identities_are_asked_for_once_in_a_moment_and_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        for key in ("one", "two"):
            contents.add(mail(key))
        for subject in await ids(gateway):
            await search.search_emails(gateway, f'from:me "{subject}"', mailbox="Work")
        assert (contents.calls["folders"], contents.calls["identities"]) == (1, 1)
        monkeypatch.setattr(recent, "KEPT", 0.0)
        await search.search_emails(gateway, "from:me", mailbox="Work")
        assert (contents.calls["folders"], contents.calls["identities"]) == (2, 2)


async def test_where_mails_are_put_the_folders_are_looked_up_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        contents.add(mail("one"))
        (email_id,) = (await ids(gateway)).values()
        await organise.move(gateway, [email_id], "Work")
        moved = await organise.move(gateway, [email_id], "Plans")
        contents.folders[3] = replace(contents.folders[3], role=Role.SENT)
        with pytest.raises(PermissionDenied):
            await organise.undo(gateway, moved.operation_id)


async def test_a_folder_that_is_named_but_unknown_is_looked_for_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        await search.list_emails(gateway, mailbox="Work")
        contents.make_folder("New")
        await search.list_emails(gateway, mailbox="New")
        assert contents.calls["folders"] == 2


class WithoutSizes(MemoryMailbox):
    capabilities = Capabilities(provider="rest", search_not_applied=("larger",))


async def test_a_filter_that_the_provider_cannot_apply_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path, WithoutSizes) as (gateway, (contents,)):
        contents.add(mail("one", subject="Plans"))
        contents.add(mail("two", subject="Other"))
        page = await search.search_emails(gateway, "plans larger:50M")
        assert [row.subject for row in page.results] == ["Plans"]
        assert page.filters_not_applied == ("larger",)


async def test_an_identity_that_is_named_but_unknown_is_looked_for_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with provided(monkeypatch, tmp_path) as (gateway, (contents,)):
        account = await gateway.accounts.open()
        await composing.find_identity(account, "")
        gateway.accounts.named(None).__dict__["address"] = "new@demo.example"  # as if another program had made it
        assert (await composing.find_identity(account, "new@demo.example")).address.email == "new@demo.example"
        with pytest.raises(InvalidRequest, match="may not write as"):
            await composing.find_identity(account, "other@demo.example")
        assert contents.calls["identities"] == 3
