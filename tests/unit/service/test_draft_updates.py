"""A draft that is changed loses nothing: neither what another call or program saves meanwhile, nor what Postroom cannot
read back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig

from postroom.model.draft import SavedDraft
from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.providers.layers.layered import unwrapped
from postroom.service.attachment_files import EncodedFile
from postroom.service.organising.places import Places
from postroom.service.sending import send
from postroom.service.writing import composing
from postroom.service.writing import draft as drafts
from postroom.service.writing.draft import DraftChanges

SEALED = 'multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b'
PARTS = "--b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>{}\r\n--b\r\n\r\nSee you at eight.\r\n--b--\r\n"
LONG = "A line of a very long story.\r\n" * 80_000


def elsewhere(to: str = "bob@demo.example", kind: str = "text/plain", body: str = "Hello.\r\n") -> bytes:
    """As another mail program saves it."""
    head = f"From: alice@demo.example\r\nTo: {to}\r\nSubject: Plans\r\nMessage-ID: <elsewhere@demo.example>\r\n"
    return f"{head}MIME-Version: 1.0\r\nContent-Type: {kind}\r\n\r\n{body}".encode()


async def mailbox_of(gate: GateRig) -> Any:
    return unwrapped((await gate.gateway.accounts.open("alice")).mailbox)


async def saved_elsewhere(gate: GateRig, raw: bytes) -> str:
    await (await mailbox_of(gate)).create_draft(raw)
    (only,) = (await drafts.list_drafts(gate.gateway)).results
    return only.draft_id


async def bytes_of(gate: GateRig) -> bytes:
    mailbox = await mailbox_of(gate)
    ((saved, _),) = (await mailbox.list_drafts(limit=10, offset=0)).items
    raw: bytes = await mailbox.fetch_raw(saved.message_ref)
    return raw


async def test_of_two_changes_at_once_both_are_made(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        wanted = [
            DraftChanges(subject="Dinner"),
            DraftChanges(body="At eight."),
            DraftChanges(cc=("carol@demo.example",)),
        ]

        async with anyio.create_task_group() as calls:
            for changes in wanted:
                calls.start_soon(drafts.update_draft, gate.gateway, saved.draft_id, changes)

        raw = await bytes_of(gate)
        assert all(part in raw for part in (b"Subject: Dinner", b"At eight.", b"Cc: carol@demo.example"))


async def test_what_another_program_saves_at_the_same_moment_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        write = composing.new_mail

        async def overtaken(*args: Any, **kwargs: Any) -> Any:
            mailbox = await mailbox_of(gate)
            ((known, _),) = (await mailbox.list_drafts(limit=10, offset=0)).items
            await mailbox.update_draft(known.ref, elsewhere(body="What I typed just now.\r\n"))
            return await write(*args, **kwargs)

        monkeypatch.setattr(composing, "new_mail", overtaken)
        with pytest.raises(Conflict, match="changed in another program"):
            await drafts.update_draft(gate.gateway, saved.draft_id, DraftChanges(subject="Dinner"))

        assert b"What I typed just now." in await bytes_of(gate)


async def test_what_another_program_saves_right_before_the_draft_is_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        mailbox, looks = (await gate.gateway.accounts.open("alice")).drafts, list[str]()
        find = mailbox.find_draft

        async def overtaken(ref: str) -> SavedDraft:
            found = await find(ref)
            looks.append(ref)
            if len(looks) == 2:  # the last one before it is replaced
                await (await mailbox_of(gate)).update_draft(ref, elsewhere(body="At eight.\r\n"))
            return found

        monkeypatch.setattr(mailbox, "find_draft", overtaken)
        with pytest.raises(Conflict, match="changed in another program"):
            await drafts.update_draft(gate.gateway, saved.draft_id, DraftChanges(subject="Dinner"))

        raw = await bytes_of(gate)
        assert (b"At eight." in raw, b"Dinner" in raw) == (True, False)


async def test_a_draft_is_either_deleted_or_sent_and_both_calls_know_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate, anyio.create_task_group() as calls:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        order = await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED)
        mailbox, ended = (await gate.gateway.accounts.open("alice")).drafts, anyio.Event()
        delete = mailbox.delete_draft

        async def sent() -> None:
            with pytest.raises(Conflict, match="deleted after it was read"):
                await send.send(gate.gateway, order)
            ended.set()

        async def overtaken(ref: str) -> None:
            calls.start_soon(sent)
            while not ended.is_set() and not any(waiting > 1 for _, waiting in gate.gateway._locks.values()):
                await anyio.sleep(0)
            await delete(ref)

        monkeypatch.setattr(mailbox, "delete_draft", overtaken)
        monkeypatch.setattr(Places, "with_role", lambda *_: None)  # no trash: it is deleted for good
        assert await drafts.delete_draft(gate.gateway, saved.draft_id) == ""
        await ended.wait()
        assert await gate.inbox() == []


async def test_a_draft_that_is_sent_off_while_it_is_being_changed_stays_as_it_was_sent_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path, hold_seconds=60) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        before, write = await bytes_of(gate), composing.new_mail

        async def overtaken(*args: Any, **kwargs: Any) -> Any:
            await send.send(gate.gateway, await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED))
            return await write(*args, **kwargs)

        monkeypatch.setattr(composing, "new_mail", overtaken)
        with pytest.raises(Conflict, match="will be sent as it was then"):
            await drafts.update_draft(gate.gateway, saved.draft_id, DraftChanges(subject="Dinner"))

        assert await bytes_of(gate) == before


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (elsewhere(body=LONG), "too large"),
        (elsewhere(to=", ".join(f"p{number}@demo.example" for number in range(2_001))), "too large"),
        (elsewhere(kind=SEALED, body="--b\r\n\r\nVersion: 1\r\n--b--\r\n"), "encrypted"),
        (elsewhere(kind="application/pkcs7-mime; name=smime.p7m", body="MIIB\r\n"), "encrypted"),
        (elsewhere(to="Mia Schmidt, bob@demo.example"), "'Mia Schmidt' in to"),
        (elsewhere(kind="multipart/mixed; boundary=b", body=PARTS.format("<!--")), "several parts"),
    ],
    ids=["text", "recipients", "pgp", "smime", "unfinished-recipient", "part-that-hides-another"],
)
async def test_a_draft_that_cannot_be_read_whole_is_neither_changed_nor_sent(
    tmp_path: Path, raw: bytes, why: str
) -> None:
    async with gate_rig(tmp_path) as gate:
        draft_id = await saved_elsewhere(gate, raw)

        with pytest.raises(InvalidRequest, match=why):
            await drafts.update_draft(gate.gateway, draft_id, DraftChanges(subject="Other"))
        with pytest.raises(InvalidRequest, match=why):
            await send.order_draft(gate.gateway, draft_id, CONFIRMED)

        assert await bytes_of(gate) == raw


async def test_a_draft_of_several_parts_is_written_as_one(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        draft_id = await saved_elsewhere(gate, elsewhere(kind="multipart/mixed; boundary=b", body=PARTS.format("")))
        await drafts.update_draft(gate.gateway, draft_id, DraftChanges(subject="Other"))
        raw = await bytes_of(gate)
        assert b"<p>Hello</p>" in raw
        assert b"See you at eight." in raw


async def test_recipients_that_were_not_finished_can_be_replaced(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        draft_id = await saved_elsewhere(gate, elsewhere(to="Mia Schmidt, bob"))

        view = await drafts.update_draft(gate.gateway, draft_id, DraftChanges(to=("mia@demo.example",)))

        assert view.to == ("mia@demo.example",)
        assert b"Hello." in await bytes_of(gate)


async def test_a_draft_that_is_replaced_keeps_the_files_that_somebody_attached(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        file = "Content-Type: text/csv\r\nContent-Disposition: attachment; filename=sums.csv\r\n\r\n1,2\r\n"
        body = f"--b\r\n\r\nOld words.\r\n--b\r\n{file}--b--\r\n"
        draft_id = await saved_elsewhere(gate, elsewhere(kind="multipart/mixed; boundary=b", body=body))

        await drafts.replace_draft(gate.gateway, draft_id, replace(MAIL, body="New words."))

        raw = await bytes_of(gate)
        assert b"sums.csv" in raw
        assert b"New words." in raw
        assert b"Old words." not in raw


async def test_a_draft_that_is_replaced_has_the_files_that_were_given_within_the_call(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        draft_id = await saved_elsewhere(gate, elsewhere())

        given = (EncodedFile("sums.csv", "MSwyCg==", "text/csv"),)
        await drafts.replace_draft(gate.gateway, draft_id, replace(MAIL, encoded_files=given))

        assert b"sums.csv" in await bytes_of(gate)


async def test_a_draft_that_another_program_saved_without_a_sender_gets_the_accounts_own(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        draft_id = await saved_elsewhere(gate, elsewhere().replace(b"From: alice@demo.example\r\n", b""))

        await drafts.update_draft(gate.gateway, draft_id, DraftChanges(subject="Other"))

        sender = next(line for line in (await bytes_of(gate)).splitlines() if line.startswith(b"From:"))
        assert b"alice@demo.example" in sender


async def test_a_priority_that_another_program_wrote_stays(tmp_path: Path) -> None:
    async with gate_rig(tmp_path) as gate:
        raw = elsewhere().replace(b"Subject:", b"X-Priority: 1 (Highest)\r\nSubject:")
        draft_id = await saved_elsewhere(gate, raw)

        await drafts.update_draft(gate.gateway, draft_id, DraftChanges(subject="Other"))

        assert b"Importance: high" in await bytes_of(gate)


async def new_ref_for_every_change(
    gate: GateRig, monkeypatch: pytest.MonkeyPatch, then: Callable[[], None] = lambda: None
) -> None:
    """As over IMAP: the new version is another message, and to remove what is gone already is fine."""
    account, mailbox = await gate.gateway.accounts.open("alice"), await mailbox_of(gate)

    async def update_draft(draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        new: SavedDraft = await mailbox.create_draft(raw, thread_ref=thread_ref)
        with suppress(NotFound):
            await mailbox.delete_draft(draft_ref)
        then()
        return new

    monkeypatch.setattr(account.mailbox, "update_draft", update_draft, raising=False)


async def test_two_replacements_at_once_leave_one_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        await new_ref_for_every_change(gate, monkeypatch)

        async with anyio.create_task_group() as calls:
            for words in ("First words.", "Second words."):
                calls.start_soon(drafts.replace_draft, gate.gateway, saved.draft_id, replace(MAIL, body=words))

        (only,) = (await drafts.list_drafts(gate.gateway)).results
        assert only.draft_id == saved.draft_id


async def test_a_draft_keeps_its_id_although_the_caller_hung_up_while_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gate_rig(tmp_path) as gate:
        saved = await drafts.create_draft(gate.gateway, MAIL)
        with anyio.CancelScope() as call:
            await new_ref_for_every_change(gate, monkeypatch, then=call.cancel)
            await drafts.update_draft(gate.gateway, saved.draft_id, DraftChanges(subject="Dinner"))

        assert call.cancel_called
        (only,) = (await drafts.list_drafts(gate.gateway)).results
        assert (only.draft_id, only.subject) == (saved.draft_id, "Dinner")
