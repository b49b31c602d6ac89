"""A mailbox that answers from its mirror where that is complete and fresh, and otherwise asks the server.

It is a layer around the provider's mailbox, so the result offers the same protocols (`isinstance` is as true or false
as before), with the same answers.

- Reads come from the index where every folder concerned is complete (`coverage`) and was confirmed recently
  (`trust`). A mirror that is not fresh first catches up, which is one round trip where nothing changed. While a folder
  is still being filled, the server is asked for the rest (`merging`), or for all where it cannot tell the rest apart.
- Drafts are the server's alone: they change under the same ref, and what is sent must be what is there.
- With the server away, reads go on from the index, however old, and say so (`Page.as_of`, `MirrorLayer.outage`); writes
  raise.
- Writes go to the server first. What it confirmed is written to the index at once, so that the next read shows it; the
  next synchronization settles the rest, and the server wins.
- Whatever is wrong with the mirror itself (damaged, locked, absent) is no error for a caller: the server is asked.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from postroom.index.folders import list_folders
from postroom.index.search import is_quick
from postroom.model.capabilities import Capabilities
from postroom.model.changes import Hits
from postroom.model.errors import CursorExpired
from postroom.model.message import Envelope, Message, Page
from postroom.model.query.tree import Query, Text
from postroom.providers.layers.layered import Call, Layered
from postroom.providers.protocol import FolderSync, Mailbox, Transport
from postroom.sqlite.database import remembered
from postroom.sync.answering.consulting import CatchUp, Consulting, of_messages
from postroom.sync.answering.conversations import Conversations
from postroom.sync.answering.coverage import Coverage, coverage_of, coverage_of_all, folders_concerned
from postroom.sync.answering.heads import page_of_head
from postroom.sync.answering.lookup import AT_ONCE, Lookup, trusted
from postroom.sync.answering.merging import Half, half_of, is_enough, merged
from postroom.sync.answering.trust import MAX_AGE, Outage, Trust
from postroom.sync.answering.word_searches import WordSearches
from postroom.sync.answering.writes import Writes, noted, then_stale
from postroom.sync.file import abilities, contents
from postroom.sync.file.limits import Limits, limits_of, noted_limits
from postroom.sync.tables.labelling import as_gmail_reads
from postroom.sync.tables.unread import folders_without_words, not_given_out

if TYPE_CHECKING:
    from postroom.model.folder import Folder
    from postroom.settings.accounts import ServerAccount
    from postroom.sync.file.mirror import Mirror

R = TypeVar("R")

_STALING = frozenset(
    {"create_draft", "update_draft", "delete_draft", "create_folder", "delete_folder", "rename_folder"}
)
_FETCHING = frozenset({"fetch", "fetch_content", "fetch_many", "fetch_part", "fetch_raw"})
_SENDING = frozenset({"submit", "stage", "discard_staged", "reconcile"})


def mirrored(mailbox: Mailbox, layer: MirrorLayer, provider: str) -> Mailbox:
    return cast("Mailbox", _Mirrored(mailbox, layer, provider))


class _Mirrored(Layered):
    """`at_server` see `layers.layered`. No server offers the others."""

    def __init__(self, mailbox: Mailbox, layer: MirrorLayer, provider: str) -> None:
        super().__init__(mailbox, provider, [layer])
        self.at_server = Layered(mailbox, provider, [layer.asking_only])
        self.fetch_thread = layer.fetch_thread
        self.fetch_with_ids = layer.fetch_with_ids
        if layer.conversations is not None:
            self.conversation_names = layer.conversations.names


def noticing_sends(transport: Transport, mirror: Mirror, provider: str) -> Transport:
    """What was sent is in Sent, and a draft that was sent is gone: the next read looks."""

    def layer(verb: str, call: Call) -> Call:
        return partial(then_stale, mirror, call) if verb in _SENDING else call

    return cast("Transport", Layered(transport, provider, [layer]))


class MirrorLayer:
    """`catch_up` brings the mirror up to date, or raises; None where only another process can. `outage` is on while the
    server cannot be reached and the mirror answers in its place."""

    def __init__(
        self,
        mailbox: Mailbox,
        mirror: Mirror,
        settings: ServerAccount,
        catch_up: CatchUp | None = None,
        max_age: float = MAX_AGE,
    ) -> None:
        self._mailbox = mailbox
        self.mirror = mirror
        self._settings = settings
        self._limits = limits_of(settings)
        self._consult = Consulting(mailbox, mirror, settings, catch_up, max_age)
        self._word_searches = WordSearches()
        self._lookup = Lookup(threads_by_headers=(by_headers := isinstance(mailbox, FolderSync)))
        self.conversations = Conversations(mailbox, self._consult, self._lookup.thread) if by_headers else None
        writes = Writes(mailbox, mirror)
        self._methods: dict[str, Callable[..., Awaitable[Any]]] = {
            "connect": self._connect,
            "folders": self._folders,
            "search": self._search,
            "envelopes": self._envelopes,
            "fetch": self._fetch,
            "fetch_content": self._fetch,
            "fetch_many": self._fetch_many,
            "fetch_raw": self._fetch_raw,
            "fetch_part": self._fetch_part,
            "thread": self._thread,
            "mails_with_ids": self._mails_with_ids,
            "set_flags": writes.set_flags,
            "move": writes.move,
            "put_into": writes.put_into,
            "apply_label": writes.apply_label,
            "remove_label": writes.remove_label,
        }

    @property
    def outage(self) -> Outage:
        return self._consult.outage

    def __call__(self, verb: str, call: Call) -> Call:
        if verb in self._methods:
            return partial(self._methods[verb], of_messages(call) if verb in _FETCHING else call)
        return partial(then_stale, self.mirror, partial(self._changing, call)) if verb in _STALING else call

    def asking_only(self, verb: str, call: Call) -> Call:
        """A layer that knows of the mirror only whether the server could be reached."""
        asked = of_messages(call) if verb in _FETCHING else call
        return partial(self._consult.ask, asked) if verb in self._methods and verb != "connect" else call

    # --- reading

    async def _connect(self, ask: Call) -> Capabilities:
        """What it could do the last time: with the server away, and where it would be waited for although the mirror
        is fresh."""
        known = await self._consult.now(self._abilities) if self._consult.greeted is not None else None
        return await self._consult.ask_first(self._abilities, self._found_out, ask) if known is None else known

    def _abilities(self, connection: sqlite3.Connection, trust: Trust) -> Capabilities | None:
        if trust.is_last_resort:
            return abilities.noted(connection)
        is_fresh = trust.accepts(coverage_of_all(connection))
        return abilities.noted_by(connection, self._settings) if is_fresh else None

    async def _found_out(self, ask: Call) -> Capabilities:
        found = cast("Capabilities", await ask())
        await noted(self.mirror, abilities.note, found, self._settings)
        return found

    async def _folders(self, ask: Call) -> list[Folder]:
        """Asked of the server while it answers: only that knows what a folder is for."""
        return await self._consult.ask_unless_away(lambda connection, _: list_folders(connection) or None, ask)

    async def _search(self, ask: Call, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        has_words = any(isinstance(leaf, Text) for leaf in query.leaves())

        def look(connection: sqlite3.Connection, trust: Trust) -> Page[Envelope] | Half | None:
            wanted, kept = as_gmail_reads(connection, query), remembered(connection, noted_limits)
            needs_bodies = has_words and kept.mode == "headers"
            trust.spare(is_quick(wanted, offset))
            if needs_bodies and not trust.is_last_resort:
                return None
            coverage = coverage_of(connection, wanted)
            if not trust.accepts(coverage):
                trust.spare(False)
                return self._part(connection, trust, wanted, limit, offset)
            page = self._lookup.search(connection, wanted, limit, offset)
            if not trust.is_last_resort and _may_lack_older(page, kept):
                return None
            is_partial = needs_bodies or (has_words and _lacks_words(connection, wanted))
            bare = not_given_out(connection, [row.ref for row in page.items], self._limits)
            names = None if self.conversations is None else self.conversations.of_page(connection, page.items)
            return _described(page, coverage, kept, bare, names, is_partial=is_partial)

        found: Page[Envelope] | Half | None = await self._consult.at_hand(look)
        if isinstance(found, Page):
            return found
        answer = partial(self._complete, ask, query, limit, offset)
        call: Callable[[], Awaitable[Any]] = partial(answer, found)
        has_all = self._settings.mirror == "full" and not self._settings.mirror_days  # or will have
        if has_words and has_all and not is_enough(found):
            call = partial(self._word_searches.run, lambda: self._consult.now(look), answer, is_enough)
        return cast("Page[Envelope]", await self._consult.ask_first(look, call))

    def _whole_thread(self, connection: sqlite3.Connection, trust: Trust, thread_ref: str) -> list[Envelope] | None:
        """None where only the server knows whether there is more of it."""
        coverage = coverage_of_all(connection)
        if not trust.accepts(coverage) or (coverage.leaves_out and not trust.is_last_resort):
            return None
        found = self._lookup.thread(connection, thread_ref, trust)
        may_lack_some = remembered(connection, noted_limits).days and not trust.is_last_resort
        return None if may_lack_some and _names_others(found) else found

    def _part(
        self, connection: sqlite3.Connection, trust: Trust, query: Query, limit: int, offset: int
    ) -> Page[Envelope] | Half | None:
        """Of a mirror that does not have everything."""
        if remembered(connection, noted_limits).days:
            return None
        if isinstance(self._mailbox, FolderSync):
            return half_of(connection, trust, query, offset + limit + 1)
        return page_of_head(connection, trust, self._lookup, query, limit=limit, offset=offset)

    async def _complete(
        self, ask: Call, query: Query, limit: int, offset: int, found: Page[Envelope] | Half | None
    ) -> Page[Envelope]:
        """What the mirror has, with the rest from the server."""
        if isinstance(found, Page):
            return found
        rest = None if found is None else await self._rest(query, found)
        if found is None or rest is None:
            return cast("Page[Envelope]", await ask(query, limit=limit, offset=offset))
        refs, total, has_more = merged(found, rest, limit=limit, offset=offset)
        rows = await self._each(self._mailbox.envelopes, refs, self._envelopes_found)
        complete = not (found.lacks or found.leaves_out)
        there = tuple(row for row in rows if row is not None)
        return Page(there, total, limit, offset, has_more, as_of=found.coverage.as_of, complete=complete)

    async def _rest(self, query: Query, half: Half) -> Hits | None:
        """None where the folder was numbered anew."""
        with suppress(CursorExpired):
            return await cast("FolderSync", self._mailbox).search_rest(query, half.rest, wanted=half.wanted)
        return None

    async def _envelopes(self, ask: Call, refs: Sequence[str]) -> list[Envelope | None]:
        return await self._each(ask, refs, self._envelopes_found)

    async def _fetch_many(self, ask: Call, refs: Sequence[str]) -> list[Message | None]:
        return await self._each(ask, refs, self._messages_found)

    async def _each(
        self, ask: Call, refs: Sequence[str], look: Callable[[sqlite3.Connection, Trust, Sequence[str]], dict[str, R]]
    ) -> list[R | None]:
        """Those that the mirror has, and the others from the server."""
        found = await self._consult.current(lambda connection, trust: look(connection, trust, refs) or None) or {}
        missing = [ref for ref in refs if ref not in found]
        if missing:
            found = {**found, **await self._asked_for(ask, missing, look)}
        return [found.get(ref) for ref in refs]

    async def _asked_for(
        self, ask: Call, refs: list[str], look: Callable[[sqlite3.Connection, Trust, Sequence[str]], dict[str, R]]
    ) -> dict[str, R]:
        """By ref. With the server away nobody knows whether the others are gone."""

        def look_for_all(connection: sqlite3.Connection, trust: Trust) -> dict[str, R] | None:
            known = look(connection, trust, refs)
            return known if len(known) == len(set(refs)) else None

        async def asked() -> dict[str, R]:
            answers = zip(refs, await ask(refs), strict=True)
            return {ref: answer for ref, answer in answers if answer is not None}

        return await self._consult.ask_first(look_for_all, asked)

    def _envelopes_found(
        self, connection: sqlite3.Connection, trust: Trust, refs: Sequence[str]
    ) -> dict[str, Envelope]:
        trust.spare(len(refs) <= AT_ONCE)
        found = [envelope for envelope in self._lookup.envelopes(connection, refs) if envelope is not None]
        return trusted(connection, trust, found)

    def _messages_found(self, connection: sqlite3.Connection, trust: Trust, refs: Sequence[str]) -> dict[str, Message]:
        there = self._envelopes_found(connection, trust, refs)
        return self._lookup.messages(connection, list(there.values()), trust)

    def _opened(self, connection: sqlite3.Connection, trust: Trust, found: Sequence[Envelope]) -> dict[str, Message]:
        trust.spare(len(found) <= AT_ONCE)
        return self._lookup.messages(connection, list(trusted(connection, trust, found).values()), trust)

    async def _fetch(self, ask: Call, ref: str) -> Message:
        def look(connection: sqlite3.Connection, trust: Trust) -> Message | None:
            return self._messages_found(connection, trust, [ref]).get(ref)

        return await self._consult.answer(look, ask, ref)

    async def _fetch_raw(self, ask: Call, ref: str) -> bytes:
        return await self._consult.answer(partial(self._raw, ref), ask, ref)

    async def _fetch_part(self, ask: Call, ref: str, part: str) -> bytes:
        """A part has the same number in the mirror where it keeps the bytes; else only its provider knows the name."""

        def look(connection: sqlite3.Connection, trust: Trust) -> bytes | None:
            from postroom.mime.read import parse

            trust.spare(False)
            raw = self._raw(ref, connection, trust)
            return None if raw is None else parse.extract_part(raw, part)

        return await self._consult.answer(look, ask, ref, part)

    def _raw(self, ref: str, connection: sqlite3.Connection, trust: Trust) -> bytes | None:
        trust.spare(False)
        return contents.raw_of(connection, ref) if self._envelopes_found(connection, trust, [ref]) else None

    async def _thread(self, ask: Call, thread_ref: str) -> list[Envelope]:
        def look(connection: sqlite3.Connection, trust: Trust) -> list[Envelope] | None:
            return self._whole_thread(connection, trust, thread_ref)

        if self.conversations is not None:
            ask = partial(self.conversations.at_server, ask)
        return await self._consult.answer(look, ask, thread_ref)

    async def _mails_with_ids(self, ask: Call, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        def look(connection: sqlite3.Connection, trust: Trust) -> list[Envelope] | None:
            if not trust.accepts(coverage := coverage_of_all(connection)):
                return None
            found = self._lookup.mails_with_ids(connection, message_ids, trust)
            return None if _may_be_left_out(message_ids, found, coverage, trust) else found

        return await self._consult.answer(look, ask, message_ids, near=near)

    async def fetch_thread(
        self, thread_ref: str, choose: Callable[[Sequence[Envelope]], Sequence[Envelope]]
    ) -> tuple[list[Envelope], dict[str, Message]] | None:
        def look(connection: sqlite3.Connection, trust: Trust) -> tuple[list[Envelope], dict[str, Message]] | None:
            found = self._whole_thread(connection, trust, thread_ref)
            return None if found is None else (found, self._opened(connection, trust, choose(found)))

        return await self._consult.at_hand(look)

    async def fetch_with_ids(
        self, message_ids: Sequence[str], choose: Callable[[Sequence[Envelope]], Envelope | None]
    ) -> tuple[Message | None] | None:
        def look(connection: sqlite3.Connection, trust: Trust) -> tuple[Message | None] | None:
            if not trust.accepts(coverage := coverage_of_all(connection)):
                return None
            found = self._lookup.mails_with_ids(connection, message_ids, trust)
            if _may_be_left_out(message_ids[:1], found, coverage, trust):  # the nearest, which would be chosen
                return None
            chosen = choose(found)
            message = self._opened(connection, trust, [chosen]).get(chosen.ref) if chosen is not None else None
            return None if chosen is not None and message is None else (message,)

        return await self._consult.at_hand(look)

    # --- writing

    async def _changing(self, change: Call, *args: Any, **kwargs: Any) -> Any:
        """A server that changed something is back: only there the next reader finds, say, a new folder."""
        answer = await change(*args, **kwargs)
        self.outage.end()
        return answer


def _lacks_words(connection: sqlite3.Connection, query: Query) -> bool:
    """Of some messages in the folders concerned."""
    lacking = remembered(connection, folders_without_words)
    return bool(lacking) and not lacking.isdisjoint(folders_concerned(connection, query) or lacking)


def _described(
    page: Page[Envelope],
    coverage: Coverage,
    kept: Limits,
    bare: tuple[str, ...],
    conversations: Mapping[str, str] | None,
    *,
    is_partial: bool,
) -> Page[Envelope]:
    """A page of recent mail that goes on is the server's own, where the mirror has all that is recent."""
    is_all = coverage.is_whole and not (coverage.leaves_out or is_partial or _may_lack_older(page, kept))
    total = None if kept.days else page.total
    return replace(page, total=total, as_of=coverage.as_of, complete=is_all, bare=bare, conversations=conversations)


def _may_lack_older(page: Page[Envelope], kept: Limits) -> bool:
    """Of what is older than it keeps, a mirror has only what came to a folder since: not what belongs between."""
    oldest = kept.oldest(time.time())
    is_beyond = oldest is not None and any(row.date is None or row.date < oldest for row in page.items)
    return oldest is not None and (is_beyond or not page.has_more)


def _names_others(thread: Sequence[Envelope]) -> bool:
    """Whether messages of this thread name some that only the server may have."""
    named = {link for row in thread for link in (row.in_reply_to, *row.references) if link}
    return not named <= {row.message_id for row in thread}


def _may_be_left_out(message_ids: Sequence[str], found: Sequence[Envelope], coverage: Coverage, trust: Trust) -> bool:
    is_there = {*message_ids} <= {row.message_id for row in found}
    return coverage.leaves_out and not (is_there or trust.is_last_resort)
