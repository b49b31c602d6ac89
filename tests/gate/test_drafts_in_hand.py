"""A saved draft that is changed or taken away by one call, and sent off by another in the same moment, in one process
or in two: one of them has its way, and the other one says so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gate.rigs import CONFIRMED, MAIL, GateRig, gate_rig
from tests.gate.services import SERVICES
from tests.gate.test_staging import drafts_of

from postroom.model.errors import Conflict, PostroomError
from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.views import DraftView
from postroom.service.writing import draft as drafts

Verb = Callable[[GateRig, DraftView], Awaitable[str]]


async def update(gate: GateRig, saved: DraftView) -> str:
    await drafts.update_draft(gate.gateway, saved.draft_id, drafts.DraftChanges(subject="Dinner?"))
    return "done"


async def delete(gate: GateRig, saved: DraftView) -> str:
    await drafts.delete_draft(gate.gateway, saved.draft_id)
    return "done"


async def delete_email(gate: GateRig, saved: DraftView) -> str:
    (item,) = (await organise.delete(gate.gateway, [saved.email_id])).results
    return "done" if item.error is None else item.error.code


async def move_email(gate: GateRig, saved: DraftView) -> str:
    (item,) = (await organise.move(gate.gateway, [saved.email_id], "Archive")).results
    return "done" if item.error is None else item.error.code


VERBS: dict[Verb, tuple[str, str]] = {  # what the provider is asked for
    update: ("drafts", "update_draft"),
    delete: ("mailbox", "move"),
    delete_email: ("mailbox", "move"),
    move_email: ("mailbox", "move"),
}


@asynccontextmanager
async def processes(home: Path, number: int, **settings: Any) -> AsyncIterator[tuple[GateRig, GateRig]]:
    """The one that sends and the one that changes; with `number` 1, it is the same."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(gate_rig(home, **settings))
        if number == 1:
            yield first, first
        else:
            yield first, await stack.enter_async_context(gate_rig(home, time=first.time, **settings))


async def send_draft(gate: GateRig, saved: DraftView) -> str:
    return await sent(gate, await send.order_draft(gate.gateway, saved.draft_id, CONFIRMED))


async def sent(gate: GateRig, order: Any) -> str:
    return (await send.send(gate.gateway, order)).status


async def ended(work: Awaitable[str]) -> str:
    try:
        return await work
    except PostroomError as error:
        return error.code


async def while_it_is_changed(sender: GateRig, changer: GateRig, verb: Verb, saved: DraftView) -> tuple[str, str]:
    """Sent off when everything is checked and only the provider is still to be asked for the change; submitted, if it
    comes to that, when the change is made."""
    results: dict[str, str] = {}
    got_on, is_changed = anyio.Event(), anyio.Event()
    account = await changer.gateway.accounts.open("alice")
    slot, name = VERBS[verb]
    at_provider, real = getattr(account, slot), getattr(getattr(account, slot), name)
    transport = (await sender.gateway.accounts.open("alice")).transport
    submit = transport.submit

    async def submitting(request: Any) -> Any:
        got_on.set()
        await is_changed.wait()
        return await submit(request)

    order = await send.order_draft(sender.gateway, saved.draft_id, CONFIRMED)

    async def sending() -> None:
        results["send"] = await ended(sent(sender, order))
        got_on.set()

    async with anyio.create_task_group() as tasks:

        async def changing(*args: Any, **kwargs: Any) -> Any:
            tasks.start_soon(sending)
            if sender is not changer:  # in one process it waits for this one
                await got_on.wait()
            try:
                return await real(*args, **kwargs)
            finally:
                is_changed.set()

        transport.submit = submitting  # type: ignore[method-assign]
        setattr(at_provider, name, changing)
        results["verb"] = await ended(verb(changer, saved))
    setattr(at_provider, name, real)
    transport.submit = submit  # type: ignore[method-assign]
    return results["verb"], results["send"]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
async def test_a_draft_that_is_being_changed_is_not_sent_as_it_was(tmp_path: Path, verb: Verb, number: int) -> None:
    async with processes(tmp_path, number) as (sender, changer):
        saved = await drafts.create_draft(changer.gateway, MAIL)
        assert await while_it_is_changed(sender, changer, verb, saved) == ("done", "CONFLICT")
        assert await sender.inbox() == []
        assert await drafts_of(changer) == (["Dinner?"] if verb is update else [])
        if verb is update:
            assert (await send_draft(sender, saved), await sender.inbox()) == ("sent", ["Dinner?"])


@pytest.mark.parametrize("verb", [update, delete, delete_email], ids=lambda verb: verb.__name__)
@pytest.mark.parametrize("name", SERVICES)
async def test_nor_is_one_in_a_mailbox_of_which_only_the_service_sends(tmp_path: Path, name: str, verb: Verb) -> None:
    with SERVICES[name].started() as service:
        async with processes(tmp_path, 2, accounts=service.accounts()) as (sender, changer):
            saved = await drafts.create_draft(changer.gateway, MAIL)
            assert await while_it_is_changed(sender, changer, verb, saved) == ("done", "CONFLICT")
            assert service.sent == 0
            assert await drafts_of(changer) == (["Dinner?"] if verb is update else [])


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
@pytest.mark.parametrize("name", SERVICES)
async def test_a_draft_that_is_held_stays_there_by_whatever_id_it_is_called(
    tmp_path: Path, name: str, verb: Verb
) -> None:
    with SERVICES[name].started() as service:
        async with gate_rig(tmp_path, accounts=service.accounts(), hold_seconds=60) as gate:
            saved = await drafts.create_draft(gate.gateway, MAIL)
            assert await send_draft(gate, saved) == "held"
            assert await ended(verb(gate, saved)) == "CONFLICT"
            assert await drafts_of(gate) == ["Lunch?"]


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
async def test_a_draft_that_was_sent_off_while_its_change_was_planned_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: Verb, number: int
) -> None:
    async with processes(tmp_path, number, hold_seconds=60) as (sender, changer):
        saved = await drafts.create_draft(changer.gateway, MAIL)
        journal = changer.gateway.store.journal
        record, in_thread = journal.record, changer.gateway.in_thread

        async def slowly(call: Any, *args: Any, **kwargs: Any) -> Any:
            """The last thing before the draft is taken in hand."""
            if call == record or getattr(call, "__name__", "") == "compose":
                monkeypatch.setattr(changer.gateway, "in_thread", in_thread)
                assert await send_draft(sender, saved) == "held"
            return await in_thread(call, *args, **kwargs)

        monkeypatch.setattr(changer.gateway, "in_thread", slowly)
        assert await ended(verb(changer, saved)) == "CONFLICT"
        assert await drafts_of(changer) == ["Lunch?"]


@pytest.mark.parametrize("moment", ["read", "journalled"])
@pytest.mark.parametrize("verb", [delete, delete_email, move_email], ids=lambda verb: verb.__name__)
@pytest.mark.parametrize("name", ["local", *SERVICES])
async def test_one_that_was_sent_meanwhile_is_not_said_to_be_taken_away_and_the_sent_message_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, verb: Verb, moment: str
) -> None:
    with SERVICES[name].started() if name in SERVICES else nullcontext() as service:
        async with processes(tmp_path, 2, accounts=service.accounts() if service else ()) as (sender, changer):
            saved = await drafts.create_draft(changer.gateway, MAIL)
            mailbox, gateway = (await changer.gateway.accounts.open("alice")).mailbox, changer.gateway
            envelopes, in_thread = mailbox.envelopes, gateway.in_thread

            async def send_once() -> None:
                monkeypatch.undo()
                assert await send_draft(sender, saved) == "sent"

            async def reading(refs: Any) -> Any:
                found = await envelopes(refs)
                await send_once()
                return found

            async def journalling(call: Any, *args: Any, **kwargs: Any) -> Any:
                if call == gateway.store.journal.record:
                    await send_once()
                return await in_thread(call, *args, **kwargs)

            if moment == "read":
                monkeypatch.setattr(mailbox, "envelopes", reading)
            else:
                monkeypatch.setattr(gateway, "in_thread", journalling)
            assert await ended(verb(changer, saved)) in ("CONFLICT", "NOT_FOUND")
            rows = await search.list_emails(sender.gateway, mailbox="Sent", account="alice", limit=10)
            assert [row.subject for row in rows.results] == ["Lunch?"]


async def test_the_others_of_a_batch_are_moved_where_one_is_a_draft_that_another_process_has_in_hand(
    tmp_path: Path,
) -> None:
    async with processes(tmp_path, 2) as (one, other):
        saved, free = [await drafts.create_draft(one.gateway, MAIL) for _ in range(2)]
        ref = one.gateway.store.handles.resolve(saved.draft_id, drafts.Kind.DRAFT).ref
        one.gateway.store.draft_holds.take("alice", [ref])
        view = await organise.delete(other.gateway, [saved.email_id, free.email_id])
        assert [item.ok for item in view.results] == [False, True]
        error = view.results[0].error
        assert error is not None
        assert ("by another process" in error.message, error.retry_after) == (True, 5.0)
        with pytest.raises(Conflict, match="by another process"):
            await drafts.delete_draft(other.gateway, saved.draft_id)
        one.gateway.store.draft_holds.drop("alice", [ref])
        await drafts.delete_draft(other.gateway, saved.draft_id)
        assert await drafts_of(one) == []
