"""One change to many messages: planned for all, journalled as one operation, applied in blocks, answered one by one.

What can be refused is refused before anything is changed; what fails later is reported for the messages it concerns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
    PostroomError,
    ProviderUnavailable,
    RateLimited,
)
from postroom.model.folder import Role
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.model.outcome import ItemResult
from postroom.providers.protocol import DraftLookup
from postroom.service.accounts.folders import folders_of
from postroom.service.draft_locks import locked, locks_among, unchanging_among
from postroom.service.gateway import Account, Gateway, IdScheme
from postroom.service.organising.trails import lead_on, trails
from postroom.service.presenting import error_view, gone
from postroom.service.views import ItemView, WriteView
from postroom.store import JournalItem, Send
from postroom.store.sends.drafts import in_hand

Progress = Callable[[int, int], Awaitable[None]]
MAX_BATCH = 1000
_CLOSED = (ProviderUnavailable, RateLimited, AuthRequired)  # what says that an account cannot be used now


@dataclass(frozen=True, slots=True)
class Change:
    """One verb, as a batch needs it: what it does, and what the journal should know of a message before and after."""

    action: str
    apply: Callable[[Account, Sequence[str]], Awaitable[list[ItemResult]]]
    before: Callable[[Envelope], dict[str, Any]]
    after: Callable[[Envelope], dict[str, Any]]
    into: str = ""  # the ref of the folder it moves messages to

    @property
    def takes_away(self) -> bool:
        """From where the mail lies."""
        return bool(self.into)

    def alters(self, envelope: Envelope) -> bool:
        return self.before(envelope) != self.after(envelope)


Plan = Callable[[Account], Awaitable[Change]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Messages, and what shall become of them. Where `expect` is given, only those are touched that are still so."""

    email_ids: Sequence[str]
    plan: Plan
    expect: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Which step of which larger operation a batch is. An account that cannot be used then ends it with an error: the
    larger one decides whether to go on."""

    whole: str
    step: int


@dataclass(frozen=True, slots=True)
class Work:
    """What is really to be done in one account: the messages that are there and are not yet as wanted."""

    account: Account
    change: Change
    todo: list[tuple[str, Envelope]]
    drafts: dict[str, str]  # those among them that are saved drafts, where they are taken away: see `_drafts_among`


@dataclass
class Course:
    """How far a batch has come. `told` are failures that are the result of the messages they concern, and not of the
    call; `refusal` is the first of them that another attempt would meet again."""

    report: Progress | None
    told: tuple[type[PostroomError], ...]
    total: int = 0
    done: int = 0
    refusal: PostroomError | None = None

    def tell(self, email_ids: Iterable[str], error: PostroomError, answers: dict[str, ItemView]) -> None:
        if not isinstance(error, _CLOSED):
            self.refusal = self.refusal or error
        answers.update({email_id: ItemView(email_id, False, error=error_view(error)) for email_id in email_ids})

    async def advance(self, count: int) -> None:
        self.done += count
        if self.report is not None:
            await self.report(self.done, self.total)


async def carry_out(
    gateway: Gateway,
    wanted: Sequence[Wanted],
    account: str | None,
    progress: Progress | None,
    ids: IdScheme | None = None,
    part: Part | None = None,
    *,
    each_for_itself: bool = False,
) -> WriteView:
    """Plan everything, journal it as one operation, apply it; one result per id, in the order given.

    The ids are of the scheme `ids`: the dialect's, unless they were taken from the journal. The operation may be `part`
    of a larger one. `each_for_itself`: what is refused for some messages keeps no others from being changed, and is an
    error only where nothing succeeded.
    """
    ids = ids or gateway.ids
    answers: dict[str, ItemView] = {}
    course = Course(progress, (PostroomError,) if each_for_itself else () if part else _CLOSED)
    works = [work for one in wanted for work in await _planned(gateway, one, ids, account, answers, course)]
    operation_id = await _journalled(gateway, works, ids, part) if works else ""
    course.total = sum(len(work.todo) for work in works)
    for work in works:
        await _apply(gateway, work, ids, answers, course)
    if each_for_itself and course.refusal is not None and not any(answer.ok for answer in answers.values()):
        raise course.refusal
    return _written(operation_id, tuple(answers[email_id] for one in wanted for email_id in one.email_ids))


async def _planned(
    gateway: Gateway,
    part: Wanted,
    ids: IdScheme,
    account: str | None,
    answers: dict[str, ItemView],
    course: Course,
) -> list[Work]:
    """Per account what is left to do; what is already done, gone or changed since gets its result here, and so do the
    messages of an account that cannot be used now: it does not keep the others from being changed."""
    works = []
    for name, refs in (await _resolved(gateway, part.email_ids, ids, account, answers)).items():
        try:
            work = await _work(gateway, part, name, refs, answers)
        except course.told as error:
            course.tell(refs, error, answers)
        else:
            works += [work] if work.todo else []
    return works


async def _work(
    gateway: Gateway, part: Wanted, name: str, refs: Mapping[str, str], answers: dict[str, ItemView]
) -> Work:
    opened = await gateway.accounts.open(name)
    change = await part.plan(opened)
    envelopes = await _looked_at(opened, change, list(refs.values()), is_conditional=part.expect is not None)
    drafts = await _drafts_among(opened, filter(None, envelopes)) if change.takes_away else {}
    locks = await _locks_by_mail(gateway, name, drafts)
    todo = []
    for email_id, envelope in zip(refs, envelopes, strict=True):
        answered = _settled_already(email_id, envelope, change, part.expect, locks)
        if answered is not None:
            answers[email_id] = answered
        elif envelope is not None:
            todo.append((email_id, envelope))
    return Work(opened, change, todo, drafts)


async def _looked_at(
    account: Account, change: Change, refs: Sequence[str], *, is_conditional: bool
) -> list[Envelope | None]:
    """Nobody is asked to change what is as wanted already, or is not as it has to be, so that is the server's word: a
    mirror may be older than what another program did."""
    if is_conditional:
        return await account.at_server.envelopes(refs)
    found = await account.mailbox.envelopes(refs)
    done = [one.ref for one in found if one is not None and not change.alters(one)]
    if not done or account.at_server is account.mailbox:
        return found
    now = dict(zip(done, await account.at_server.envelopes(done), strict=True))
    return [None if one is None else now.get(one.ref, one) for one in found]


async def _drafts_among(account: Account, mails: Iterable[Envelope]) -> dict[str, str]:
    """The refs of drafts by those of the mails. Also of what another program saved among the drafts without marking it
    as one: it can be sent all the same. One that is none any more, since it was sent in this moment, has its own."""
    homes = {folder.name for folder in await folders_of(account) if folder.role is Role.DRAFTS}
    refs = [mail.ref for mail in mails if mail.draft or not homes.isdisjoint(mail.folders)]
    found = await account.mailbox.draft_refs(refs) if refs and isinstance(account.mailbox, DraftLookup) else {}
    return {ref: found.get(ref, ref) for ref in refs}


async def _locks_by_mail(gateway: Gateway, account: str, drafts: Mapping[str, str]) -> dict[str, Send]:
    locks = await locks_among(gateway, account, drafts.values()) if drafts else {}
    return {ref: locks[draft] for ref, draft in drafts.items() if draft in locks}


def _settled_already(
    email_id: str,
    envelope: Envelope | None,
    change: Change,
    expect: dict[str, Any] | None,
    locks: Mapping[str, Send],
) -> ItemView | None:
    if envelope is None:
        return ItemView(email_id, False, error=error_view(gone(email_id)))
    if not change.alters(envelope):
        return ItemView(email_id, True)
    if expect is not None and change.before(envelope) != expect:
        moved_on = Conflict("The message has been changed again since; it was left as it is.")
        return ItemView(email_id, False, error=error_view(moved_on))
    if envelope.ref in locks:
        return ItemView(email_id, False, error=error_view(locked(locks[envelope.ref], f"The draft {email_id}")))
    return None


async def _resolved(
    gateway: Gateway, email_ids: Sequence[str], ids: IdScheme, account: str | None, answers: dict[str, ItemView]
) -> dict[str, dict[str, str]]:
    """account -> {email_id: ref}; ids that resolve to nothing get their result at once."""
    found: dict[str, dict[str, str]] = {}
    for email_id, one in zip(email_ids, await ids.find(gateway, Kind.EMAIL, email_ids, account), strict=True):
        if isinstance(one, PostroomError):
            answers[email_id] = ItemView(email_id, False, error=error_view(one))
        else:
            found.setdefault(one.account, {})[email_id] = one.ref
    return found


async def _journalled(gateway: Gateway, works: Sequence[Work], ids: IdScheme, part: Part | None) -> str:
    """One operation for all: handles know their accounts, so `undo` finds each message by itself."""
    first = works[0]
    items = []
    for work in works:
        mails = {email_id: envelope.ref for email_id, envelope in work.todo}
        handles = await ids.handles_of(gateway, work.account.name, mails)
        trail_of = await trails(work.account, work.change.into)
        items += [
            JournalItem(handle, work.change.before(envelope), work.change.after(envelope), trail_of(envelope))
            for handle, (_, envelope) in zip(handles, work.todo, strict=True)
        ]
    record, detail = gateway.store.journal.record, {"step": part.step} if part else {}
    whole = part.whole if part else ""
    return await gateway.in_thread(record, first.account.name, first.change.action, items, detail, part_of=whole)


async def _apply(gateway: Gateway, work: Work, ids: IdScheme, answers: dict[str, ItemView], course: Course) -> None:
    """In blocks. A block that fails as a whole ends the work in its account: its messages and those behind it are
    answered with the failure. A refusal before anything was done is a failure of the call, unless the account cannot be
    used now. A caller who hangs up ends it between two blocks: of what the server has moved, the handles know where
    to."""
    size = work.account.capabilities.changes_at_once
    for start in range(0, len(work.todo), size):
        block = work.todo[start : start + size]
        drafts = {envelope.ref: work.drafts[envelope.ref] for _, envelope in block if envelope.ref in work.drafts}
        await anyio.lowlevel.checkpoint_if_cancelled()
        async with unchanging_among(gateway, work.account.name, drafts.values()) as busy:
            with anyio.CancelScope(shield=True):
                free = block
                try:
                    free = await _still_free(gateway, work, block, drafts, busy, answers) if drafts else block
                    refs = [envelope.ref for _, envelope in free]
                    results = await work.change.apply(work.account, refs) if refs else []
                except PostroomError as error:
                    if not course.done and not isinstance(error, course.told):
                        raise
                    behind = work.todo[start + size :]
                    course.tell([email_id for email_id, _ in (*free, *behind)], error, answers)
                    return
                await _settle(gateway, work.account, ids, free, results, answers)
        await course.advance(len(block))


async def _still_free(
    gateway: Gateway,
    work: Work,
    block: list[tuple[str, Envelope]],
    drafts: Mapping[str, str],
    busy: Collection[str],
    answers: dict[str, ItemView],
) -> list[tuple[str, Envelope]]:
    """Without those drafts that another process has in hand, or that were sent off, sent or moved since it was planned.
    Their ids may have stayed, as those of the messages that were sent, or be taken by a provider that does not look."""
    locks = await _locks_by_mail(gateway, work.account.name, drafts)
    as_now = dict(zip(drafts, await work.account.at_server.envelopes(list(drafts)), strict=True))
    free = []
    for email_id, planned in block:
        answer = None
        if drafts.get(planned.ref) in busy:
            answer = ItemView(email_id, False, error=error_view(in_hand(f"The draft {email_id}")))
        elif planned.ref in drafts:
            expect = work.change.before(planned)
            answer = _settled_already(email_id, as_now[planned.ref], work.change, expect, locks)
        if answer is None:
            free.append((email_id, planned))
        else:
            answers[email_id] = answer
    return free


async def _settle(
    gateway: Gateway,
    account: Account,
    ids: IdScheme,
    block: Sequence[tuple[str, Envelope]],
    results: Sequence[ItemResult],
    answers: dict[str, ItemView],
) -> None:
    """Handles follow their messages to new refs; then each item gets its result."""
    renamed = {result.ref: result.new_ref for result in results if result.ok and result.new_ref}
    await lead_on(gateway, account.name, renamed)
    for (email_id, _), result in zip(block, results, strict=True):
        error = error_view(result.error) if result.error else None
        moved = ids.show_moved(result.new_ref) if result.ok and result.new_ref else ""
        answers[email_id] = ItemView(email_id, result.ok, moved, error)


def checked_ids(email_ids: Sequence[str], scheme: IdScheme) -> list[str]:
    ids = list(dict.fromkeys(map(scheme.tidy, email_ids)))
    if not ids:
        raise InvalidRequest("email_id is empty: give at least one message.", details={"field": "email_id"})
    if len(ids) > MAX_BATCH:
        raise InvalidRequest(
            f"At most {MAX_BATCH} messages at once; {len(ids)} were given.", details={"field": "email_id"}
        )
    return ids


def _written(operation_id: str, results: tuple[ItemView, ...]) -> WriteView:
    succeeded = sum(result.ok for result in results)
    return WriteView(operation_id, results, succeeded, len(results) - succeeded)
