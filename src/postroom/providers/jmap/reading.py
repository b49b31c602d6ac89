"""Envelopes, whole messages, single parts, searches. A listing is one round trip: the query, and what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from postroom.mime.read.parse import extract_part
from postroom.model.errors import InvalidRequest, NotFound, ProviderError, ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Message, Page
from postroom.model.query.tree import And, Filename, In, Node, Query, Text
from postroom.providers.http import concurrency
from postroom.providers.jmap import convert
from postroom.providers.jmap.client import JmapClient, gone
from postroom.providers.jmap.convert import BODIES, LISTED, MARKS, Email
from postroom.providers.jmap.filters import ALL, NONE, Filter, all_of, any_of, filter_of, negated
from postroom.providers.jmap.folders import Directory
from postroom.providers.jmap.wire import Call, is_id
from postroom.providers.querying.judging import Judge

SNIPPET, _SNIPPET_LATE = 12_288, 98_304  # bytes of a text: style elements come before the first visible word
_TEXT = 65_536  # bytes of each text that is read to decide whether a message matches
_WHOLE = 256 * 1024  # bytes of a message of which one part is not downloaded by itself
NEWEST_FIRST = [{"property": "receivedAt", "isAscending": False}]
_UNDATED = datetime.max.replace(tzinfo=UTC)  # last in its thread
_MOST_FAILED = 5  # messages of one request that the server breaks off over; where there are more, it is the server
_JUDGED = 5_000  # messages whose file names are compared at most


class Reader:
    def __init__(self, client: JmapClient, directory: Directory) -> None:
        self._client = client
        self._directory = directory
        self._readers = anyio.CapacityLimiter(8)

    # Messages by id

    async def emails(self, refs: Iterable[str], properties: Sequence[str] = MARKS, **more: Any) -> dict[str, Email]:
        """By id, as many per request as the server allows; what is gone is absent."""
        wanted = [ref for ref in dict.fromkeys(refs) if is_id(ref)]
        size = (await self._client.session()).limits["maxObjectsInGet"]
        found: dict[str, Email] = {}
        for start in range(0, len(wanted), size):
            asked = {"properties": list(properties), **more}
            found.update(await self._readable(wanted[start : start + size], asked, failed=[]))
        return found

    async def _readable(self, ids: list[str], asked: dict[str, Any], failed: list[str]) -> dict[str, Email]:
        """In halves where the server breaks off: a process of Cyrus 3.6 dies over a message whose file is empty. Of
        such a message there are the marks alone."""
        try:
            return await self._plain(ids, asked)
        except ProviderUnavailable:
            if not BODIES.keys() <= asked.keys():  # only for its text the file of a message is read
                raise
            await self._client.read(("Email/get", {"ids": []}))  # raises where it is not about messages
        if len(ids) == 1:
            return await self._whole_or_bare(ids, asked, failed)
        middle = len(ids) // 2
        return {
            **await self._readable(ids[:middle], asked, failed),
            **await self._readable(ids[middle:], asked, failed),
        }

    async def _whole_or_bare(self, ids: list[str], asked: dict[str, Any], failed: list[str]) -> dict[str, Email]:
        try:
            return await self._plain(ids, asked)  # it was away for a moment
        except ProviderUnavailable:
            failed += ids
            if len(failed) > _MOST_FAILED:
                raise
        return await self._plain(ids, {"properties": MARKS})

    async def _plain(self, ids: list[str], asked: dict[str, Any]) -> dict[str, Email]:
        return listed((await self._client.read(("Email/get", {"ids": ids, **asked})))[0])

    async def email(self, ref: str, properties: Sequence[str] = MARKS) -> Email:
        found = (await self.emails([ref], properties)).get(ref)
        if found is None:
            raise gone()
        return found

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        emails = await self.emails(refs, LISTED, **BODIES, maxBodyValueBytes=SNIPPET)
        rows = {row.ref: row for row in await self.rows(list(emails.values()))}
        return [rows.get(ref) for ref in refs]

    async def rows(self, emails: Sequence[Email]) -> list[Envelope]:
        folders = await self._directory.known(having=set().union(*map(convert.mailboxes_of, emails)))
        rows = await anyio.to_thread.run_sync(_rows, emails, folders, limiter=self._readers)
        late = {row.ref for row, email in zip(rows, emails, strict=True) if not row.snippet and convert.is_cut(email)}
        if not late:
            return rows
        longer = await self.emails(late, LISTED, **BODIES, maxBodyValueBytes=_SNIPPET_LATE)
        again = await anyio.to_thread.run_sync(_rows, list(longer.values()), folders, limiter=self._readers)
        by_ref = {row.ref: row for row in again}
        return [by_ref.get(row.ref, row) for row in rows]

    async def fetch(self, ref: str) -> Message:
        return await self._opened(await self.email(ref))

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        emails = await self.emails(refs)
        opened = await concurrency.all_of([partial(self._opened_or_gone, email) for email in emails.values()])
        by_ref = dict(zip(emails, opened, strict=True))
        return [by_ref.get(ref) for ref in refs]

    async def _opened_or_gone(self, email: Email) -> Message | None:
        try:
            return await self._opened(email)
        except NotFound:  # removed in between
            return None

    async def _opened(self, email: Email) -> Message:
        raw = await self.raw_of(email)
        folders = await self._directory.known(having=convert.mailboxes_of(email))
        return await anyio.to_thread.run_sync(_message, email, raw, folders, limiter=self._readers)

    async def raw_of(self, email: Email) -> bytes:
        return await self._client.download(str(email["blobId"]))

    async def fetch_part(self, ref: str, number: str) -> bytes:
        """Of a large message only that part is downloaded, decoded by the server. `parse` numbered the parts, though:
        a server may take a damaged message apart in another way (Cyrus 3.6 one with the same boundary twice)."""
        wanted = ["id", "blobId", "size", "bodyStructure"]
        found = await self.emails([ref], wanted, bodyProperties=["blobId", "type", "subParts"])
        if ref not in found:
            raise gone()
        email = found[ref]
        blob = dict(convert.part_numbers(email.get("bodyStructure"))).get(number)
        if blob is not None and convert.size_of(email) > _WHOLE:
            return await self._client.download(blob)
        raw = await self.raw_of(email)
        return await anyio.to_thread.run_sync(extract_part, raw, number, limiter=self._readers)

    async def thread(self, thread_ref: str) -> list[Envelope]:
        """A draft in Trash was never sent: it belongs to no conversation."""
        rows = await self._in_thread(thread_ref) if is_id(thread_ref) else []
        trash = await self._directory.role(Role.TRASH)
        kept = [row for row in rows if not (row.draft and trash and row.folder == trash.name)]
        if not kept:
            raise NotFound("This thread no longer exists. List or search again.", reason="thread_gone")
        return sorted(kept, key=lambda row: row.date or _UNDATED)

    async def _in_thread(self, thread_ref: str) -> list[Envelope]:
        """One request; for a thread longer than a request may be, several."""
        found: Call = ("Thread/get", {"ids": [thread_ref]})
        try:
            replies = await self._client.read(found, ("Email/get", _got(0, "Thread/get", "/list/*/emailIds")))
        except ProviderUnavailable:  # over one of its messages, perhaps
            replies = await self._client.read(found)
        threads = listed(replies[0])
        if thread_ref not in threads:
            return []
        try:
            return await self.rows(list(listed(replies[1]).values()))
        except (InvalidRequest, IndexError):
            ids = threads[thread_ref].get("emailIds")
            rows = await self.envelopes([str(ref) for ref in ids] if isinstance(ids, list) else [])
            return [row for row in rows if row is not None]

    # Searching

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        named = await self._directory.named(query)
        node = query.node or And(())
        bounds = filter_of(node, named)
        place = ALL if query.names_folder else await self._neither_trash_nor_junk()
        upper = all_of([bounds.upper, place])
        if upper == NONE:
            return Page((), 0, limit, offset, has_more=False)
        if bounds.are_exact:
            return await self._page(upper, limit=limit, offset=offset)
        named_by_server = query.mapped(lambda leaf: In(named[leaf.folder].name) if isinstance(leaf, In) else leaf)
        found = await self._judged(upper, named_by_server.node or And(()))
        rows = await self.envelopes([row.ref for row in found[offset : offset + limit]])
        shown = tuple(row for row in rows if row is not None)
        return Page(shown, len(found), limit, offset, has_more=len(found) > offset + limit)

    async def _page(self, upper: Filter, *, limit: int, offset: int) -> Page[Envelope]:
        """One request, unless the server gives fewer at once than are wanted."""
        rows: list[Envelope] = []
        gone: list[str] = []
        position, end, has_more, total = offset, offset + limit, True, None
        while has_more and position < end:
            ids, emails, total = await self._hits(upper, position, end - position)
            rows += await self.rows([emails[ref] for ref in ids if ref in emails])
            gone += [ref for ref in ids if ref not in emails]
            position += len(ids)
            has_more = bool(ids) and (total is None or position < total)
        return Page(tuple(rows), total, limit, offset, has_more, gone=tuple(gone))

    async def _hits(self, upper: Filter, position: int, limit: int) -> tuple[list[str], dict[str, Email], int | None]:
        size = min(limit, (await self._client.session()).limits["maxObjectsInGet"])
        query = _query(upper, position=position, limit=size, calculateTotal=True)
        try:
            replies = await self._client.read(query, ("Email/get", _got(0, "Email/query", "/ids")))
            emails = listed(replies[1])
        except ProviderUnavailable:  # over one of them, perhaps
            replies = await self._client.read(query)
            emails = await self.emails(ids_of(replies[0]), LISTED, **BODIES, maxBodyValueBytes=SNIPPET)
        return ids_of(replies[0]), emails, _count(replies[0].get("total"))

    async def found(self, upper: Filter, most: int) -> list[str]:
        """The ids of the newest messages that match."""
        ids: list[str] = []
        while len(ids) < most:
            more = ids_of((await self._client.read(_query(upper, position=len(ids), limit=most - len(ids))))[0])
            ids += more
            if not more:
                break
        return ids

    async def _judged(self, upper: Filter, node: Node) -> list[Envelope]:
        """Everything that matches, newest first, decided here from as little of each message as possible."""
        judge: Judge[str] = Judge(node, lambda _: False, lambda _: set())
        leaves = list(Query(node).leaves())
        reads_text = any(isinstance(leaf, Text) for leaf in leaves)
        names_files = any(isinstance(leaf, Filename) for leaf in leaves)
        ids = await self.found(upper, _JUDGED + 1)
        judge.require_few(len(ids))
        if len(ids) > _JUDGED:
            raise InvalidRequest(
                "This mail server cannot search for that by itself, and too many messages would have to be looked at. "
                "Narrow the search with in:, from: or after:.",
                details={"field": "query"},
            )
        more: dict[str, Any] = {"bodyProperties": ["partId", "type", "name"]}
        if reads_text:
            more |= {**BODIES, **more, "maxBodyValueBytes": _TEXT}
        emails = await self.emails(ids, [*LISTED, *["attachments"] * names_files], **more)
        folders = await self._directory.known()
        there = [emails[ref] for ref in ids if ref in emails]
        return await anyio.to_thread.run_sync(_accepted, judge, there, folders, reads_text, limiter=self._readers)

    async def _neither_trash_nor_junk(self) -> Filter:
        """`inMailboxOtherThan` would find a message that is in Trash and elsewhere."""
        away = [folder.ref for folder in await self._directory.known() if folder.role in (Role.TRASH, Role.JUNK)]
        return negated(any_of([{"inMailbox": ref} for ref in away])) if away else ALL

    async def with_ids(self, message_ids: Sequence[str]) -> list[Envelope]:
        """The whole id is compared here: servers look for a part of a header."""
        wanted = [{"header": ["Message-ID", one]} for one in message_ids if one.isprintable()]
        if not wanted:
            return []
        page = await self._page(any_of(wanted), limit=len(wanted) * 4, offset=0)
        return [row for row in page.items if row.message_id in message_ids]


def listed(reply: dict[str, Any]) -> dict[str, Email]:
    found = reply.get("list")
    rows = found if isinstance(found, list) else []
    return {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}


def ids_of(reply: dict[str, Any]) -> list[str]:
    ids = reply.get("ids")
    if not isinstance(ids, list):
        raise ProviderError("The mail server answered a search without a list of messages.")
    return [ref for ref in ids if isinstance(ref, str)]


def _count(total: Any) -> int | None:
    return total if isinstance(total, int) else None


def _query(upper: Filter, **more: Any) -> Call:
    arguments: dict[str, Any] = {"sort": NEWEST_FIRST, "collapseThreads": False, **more}
    return ("Email/query", arguments if upper == ALL else {"filter": upper, **arguments})


def found_by(index: int, name: str, path: str) -> dict[str, str]:
    """What an earlier call of the same request found."""
    return {"resultOf": str(index), "name": name, "path": path}


def _got(index: int, name: str, path: str) -> dict[str, Any]:
    return {"#ids": found_by(index, name, path), "properties": LISTED, **BODIES, "maxBodyValueBytes": SNIPPET}


def _rows(emails: Sequence[Email], folders: Sequence[Folder]) -> list[Envelope]:
    from postroom.mime.guarded import snippet
    from postroom.mime.quotes.folding import context_of

    rows = []
    for email in emails:
        parsed = convert.headers_of(email)
        shown = snippet(convert.body_of(email), context_of(parsed))
        rows.append(convert.envelope_of(email, parsed, folders, shown))
    return rows


def _message(email: Email, raw: bytes, folders: Sequence[Folder]) -> Message:
    from postroom.mime import guarded
    from postroom.mime.quotes.folding import context_of

    parsed = guarded.parse(raw)
    snippet = guarded.snippet(parsed.body, context_of(parsed))
    envelope = convert.envelope_of(email, parsed, folders, snippet)
    return Message(envelope, parsed.body, parsed.attachments, parsed.headers, parsed.defects)


def _accepted(
    judge: Judge[str], emails: Sequence[Email], folders: Sequence[Folder], reads_text: bool
) -> list[Envelope]:
    from postroom.mime import guarded

    found = []
    for email in emails:
        row = convert.envelope_of(email, convert.headers_of(email), folders, "")
        text = guarded.search_text(convert.body_of(email)) if reads_text else ""
        if judge.accepts(row.ref, row, text, convert.filenames_of(email)):
            found.append(row)
    return found
