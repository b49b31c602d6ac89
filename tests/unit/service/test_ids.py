"""Ids by scheme: the same services show and take handles, the provider's own ids, or numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.rigs import MAIL, gate_rig

from postroom.model.errors import InvalidRequest, NotFound, PermissionDenied, PostroomError
from postroom.model.ids import Kind
from postroom.providers.layers.layered import unwrapped
from postroom.providers.local import provider as local
from postroom.service.attachment_files import EncodedFile
from postroom.service.gateway import Gateway
from postroom.service.ids.numbers import within
from postroom.service.organising import organise
from postroom.service.reading import read, search
from postroom.service.sending import send
from postroom.service.sending.order import Wishes
from postroom.service.writing import draft
from postroom.service.writing.composing import DraftRequest, ReplyRequest
from postroom.store import Handle

LETTER = (
    b"From: eve@demo.example\r\nTo: alice@demo.example\r\nSubject: %s\r\nMessage-ID: <%s@demo.example>\r\n\r\nHi\r\n"
)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    """Of a dialect that shows the provider's own ids."""
    async with gate_rig(tmp_path, dialect="graph") as rig:
        yield rig.gateway


async def put(gateway: Gateway, subject: str = "one", account: str = "alice") -> str:
    mailbox = unwrapped((await gateway.accounts.open(account)).mailbox)
    return await mailbox.add_message(LETTER % (subject.encode(), subject.encode()))


async def test_mails_are_listed_and_read_by_the_providers_own_id(gateway: Gateway) -> None:
    ref = await put(gateway)
    (row,) = (await search.list_emails(gateway)).results
    assert row.email_id == ref
    opened = await read.read_email(gateway, ref)
    assert opened.row.subject == "one"
    assert [one.row.email_id for one in (await read.get_thread(gateway, row.thread_id)).emails] == [ref]


async def test_an_id_that_was_never_shown_is_asked_of_the_provider(gateway: Gateway) -> None:
    assert (await read.read_email(gateway, await put(gateway))).row.subject == "one"


@pytest.mark.parametrize("odd", ["../../etc/passwd", "AAMkAD/+==", "a\nb", "", "x" * 5000, "9" * 400, "eabcdefghjk"])
async def test_an_id_that_names_nothing_is_not_found_whatever_it_looks_like(gateway: Gateway, odd: str) -> None:
    with pytest.raises(NotFound) as refused:
        await read.read_email(gateway, odd)
    assert refused.value.reason in ("unknown_id", "email_gone")
    with pytest.raises(NotFound):
        await read.get_thread(gateway, odd)
    (item,) = (await organise.mark(gateway, [odd], "read")).results
    assert item.error is not None
    assert item.error.code == "NOT_FOUND"


async def test_an_id_shown_for_one_account_is_not_taken_for_anothers(gateway: Gateway) -> None:
    await put(gateway, account="bob")
    (row,) = (await search.list_emails(gateway, account="bob")).results
    with pytest.raises(InvalidRequest) as refused:
        await read.read_email(gateway, row.email_id, account="alice")
    assert refused.value.reason == "wrong_account"
    assert (await read.read_email(gateway, row.email_id, account="bob")).row.account == "bob"


async def test_an_id_that_was_only_shown_for_another_mailbox_of_that_name_has_to_be_listed_first(
    tmp_path: Path,
) -> None:
    def accounts(address: str) -> list[dict[str, Any]]:
        """One file, so that the ids coincide."""
        return [{"name": "alice", "provider": "local", "address": address, "path": "alice.db"}]

    async with gate_rig(tmp_path, dialect="graph", accounts=accounts("alice@demo.example")) as rig:
        ref = await put(rig.gateway)
        await search.list_emails(rig.gateway)
    async with gate_rig(tmp_path, dialect="graph", accounts=accounts("carol@demo.example")) as rig:
        with pytest.raises(NotFound, match="List or search again"):
            await read.read_email(rig.gateway, ref)
        await search.list_emails(rig.gateway)
        assert (await read.read_email(rig.gateway, ref)).row.email_id == ref


async def test_an_id_that_two_accounts_have_is_the_default_accounts_unless_one_is_named(gateway: Gateway) -> None:
    for name in ("alice", "bob"):
        gateway.store.handles.issue(Kind.EMAIL, name, ["5"])
    for account, owner in ((None, "alice"), ("bob", "bob")):
        assert await gateway.ids.find(gateway, Kind.EMAIL, ["5"], account) == [Handle(owner, "5")]


async def test_without_an_account_an_id_is_never_taken_for_another_accounts(gateway: Gateway) -> None:
    """Over IMAP two accounts may have the same ids, and a move voids the one that was shown."""
    ref = await put(gateway, account="bob")
    await search.list_emails(gateway, account="bob")
    with pytest.raises(NotFound):
        await read.read_email(gateway, ref)
    (item,) = (await organise.delete(gateway, [ref])).results
    assert item.error is not None
    assert item.error.code == "NOT_FOUND"
    gateway.store.handles.issue(Kind.EMAIL, "alice", ["INBOX|1|5"])
    gateway.store.handles.issue(Kind.EMAIL, "bob", ["INBOX|1|5"])
    gateway.store.handles.rename(Kind.EMAIL, "alice", {"INBOX|1|5": "Archive|1|2"})
    assert await gateway.ids.find(gateway, Kind.EMAIL, ["INBOX|1|5"], None) == [Handle("alice", "INBOX|1|5")]


@pytest.mark.parametrize("ref", [" INBOX|1|2", "メール\u3000保存|1|2", "AAMkAD/+==", "../x", "%2e%2e", "a?b#c"])
async def test_an_id_is_handed_on_as_it_came(gateway: Gateway, ref: str) -> None:
    assert await gateway.ids.find(gateway, Kind.EMAIL, [gateway.ids.tidy(ref)], None) == [Handle("alice", ref)]


async def test_what_was_changed_by_provider_ids_is_undone_by_handles(gateway: Gateway) -> None:
    ref = await put(gateway)
    view = await organise.move(gateway, [ref], "archive")
    assert (view.succeeded, view.results[0].email_id) == (1, ref)
    assert (await organise.undo(gateway, view.operation_id)).succeeded == 1
    assert (await search.list_emails(gateway)).total_count == 1


async def test_drafts_have_the_providers_ids_too(gateway: Gateway) -> None:
    saved = await draft.create_draft(gateway, MAIL)
    changed = await draft.update_draft(gateway, saved.draft_id, draft.DraftChanges(subject="Two"))
    assert (changed.draft_id, changed.subject) == (saved.draft_id, "Two")
    assert await draft.delete_draft(gateway, saved.draft_id)
    with pytest.raises(PostroomError):
        await draft.find_draft(gateway, saved.draft_id, None)


async def test_a_reply_by_a_providers_id_marks_the_original_once_it_left(gateway: Gateway) -> None:
    ref = await put(gateway)
    request = ReplyRequest("Fine", to_author=True)
    order = await send.order_reply(gateway, ref, request, Wishes(confirm=True))
    assert order.answers_ref != ref
    assert gateway.store.handles.resolve(order.answers_ref, Kind.EMAIL).ref == ref


async def test_a_mail_may_answer_another_by_its_id(gateway: Gateway) -> None:
    ref = await put(gateway)
    request = DraftRequest(("bob@demo.example",), subject="one", body="Yes", in_reply_to=ref)
    order = await send.order_mail(gateway, request, Wishes(confirm=True))
    assert (order.kind, order.draft.subject) == ("email_reply", "Re: one")
    assert order.draft.threading.in_reply_to == "<one@demo.example>"
    with pytest.raises(NotFound):
        await send.order_mail(gateway, replace(request, in_reply_to="4711"), Wishes())


@pytest.fixture(params=[True, False], ids=["own-numbers", "no-numbers"])
async def numbered(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "CAPABILITIES", replace(local.CAPABILITIES, has_uids=request.param))
    async with gate_rig(tmp_path, dialect="drafts") as rig:
        yield rig.gateway


async def test_numbers_count_within_a_folder_and_never_mean_another_mail(numbered: Gateway) -> None:
    await put(numbered)
    (row,) = (await search.list_emails(numbered)).results
    assert (await read.read_email(numbered, row.email_id)).row.subject == "one"
    assert (await organise.move(numbered, [row.email_id], "archive")).succeeded == 1
    for wrong in (row.email_id, within("inbox", int(row.email_id)), "0", "-1", str(10**30), "x", "", "٣"):
        with pytest.raises(NotFound) as refused:
            await read.read_email(numbered, wrong)
        assert refused.value.reason == "unknown_id"
    (moved,) = (await search.list_emails(numbered, mailbox="archive")).results
    assert (await read.read_email(numbered, within("archive", int(moved.email_id)))).row.subject == "one"
    await put(numbered, "two")
    (second,) = (await search.list_emails(numbered)).results
    assert int(second.email_id) > int(row.email_id)


async def test_a_draft_is_replaced_by_its_number(numbered: Gateway) -> None:
    saved = await draft.create_draft(numbered, MAIL)
    again = await draft.replace_draft(numbered, saved.draft_id, replace(MAIL, subject="Two"))
    (row,) = (await search.list_emails(numbered, mailbox="drafts")).results
    assert (row.email_id, row.subject) == (again.draft_id, "Two")
    with pytest.raises(PostroomError) as refused:
        await draft.replace_draft(numbered, "4711", MAIL)
    assert refused.value.reason == "not_a_draft"


async def test_a_draft_whose_mail_has_a_name_of_its_own_is_found_by_number(numbered: Gateway) -> None:
    """As with Gmail, where a draft and the mail inside it have different ids."""
    saved = await draft.create_draft(numbered, MAIL)
    mailbox: Any = (await numbered.accounts.open()).mailbox
    find, listing = mailbox.find_draft, mailbox.list_drafts

    async def find_draft(draft_ref: str) -> Any:
        if not draft_ref.startswith("r-"):
            raise NotFound("no such draft")
        return replace(await find(draft_ref.removeprefix("r-")), ref=draft_ref)

    async def list_drafts(*, limit: int, offset: int) -> Any:
        page = await listing(limit=limit, offset=offset)
        return replace(page, items=tuple((replace(one, ref=f"r-{one.ref}"), mail) for one, mail in page.items))

    mailbox.find_draft, mailbox.list_drafts = find_draft, list_drafts
    _, found = await draft.find_draft(numbered, saved.draft_id, None)
    assert found.ref == f"r-{found.message_ref}"


async def test_files_by_path_and_within_the_call_go_along_together_and_only_paths_need_a_folder(
    gateway: Gateway,
) -> None:
    within_call = EncodedFile("a.txt", "aGk=")
    draft_of = await send.order_mail(gateway, replace(MAIL, encoded_files=(within_call,)), Wishes())
    assert [(file.filename, file.content) for file in draft_of.draft.files] == [("a.txt", b"hi")]
    with pytest.raises(PermissionDenied) as refused:
        await send.order_mail(gateway, replace(MAIL, encoded_files=(within_call,), attachments=("b.txt",)), Wishes())
    assert refused.value.reason == "attachment_not_allowed"
