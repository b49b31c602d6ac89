"""Search: one list of ids, one batch of messages. What Gmail cannot decide is decided here, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import anyio.to_thread

from postroom.mime import guarded
from postroom.model.errors import InvalidRequest
from postroom.model.folder import Folder
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import And, Filename, In, Is, Label, MessageId, Node, Or, Query, Text
from postroom.providers.gmail.mail.convert import Row
from postroom.providers.gmail.mail.labels import ARCHIVE, DISCARDED, PLACES, Labels, LabelSet
from postroom.providers.gmail.mail.reading import Reader
from postroom.providers.gmail.search.listing import Listings
from postroom.providers.gmail.search.words import LONGEST, NONE, Speaker, spoken
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import PER_BATCH, PER_PAGE, UNITS, text_of
from postroom.providers.querying.bounds import Bounds
from postroom.providers.querying.judging import READ_WHOLE, Judge

_TRUE = And(())
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """What goes to Gmail: labels that a message must all have, and the words of the rest."""

    labels: tuple[str, ...]
    node: Node | None
    everywhere: bool  # also in Trash and Spam

    def params(self, words: str) -> dict[str, Any]:
        return {
            "fields": "messages/id,nextPageToken",
            **({"labelIds": list(self.labels)} if self.labels else {}),
            **({"q": words} if words else {}),
            **({"includeSpamTrash": "true"} if self.everywhere else {}),
        }


@dataclass
class Searcher:
    client: Client
    labels: Labels
    reader: Reader

    def __post_init__(self) -> None:
        self.listings = Listings(self.client)

    async def page(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        known = await self.labels.recent() if _needs_labels(query) else LabelSet()
        known = await self._knowing(query, known)
        query = query.mapped(lambda leaf: In(known.folder(leaf.folder).name) if isinstance(leaf, In) else leaf)
        asked = _asked(query, known)
        if asked is None:
            return Page((), 0, limit, offset, has_more=False)
        say = Speaker(known)
        bounds = spoken(asked.node or _TRUE, say)
        if len(bounds.upper) > LONGEST and (halves := _halves(query)):
            return await self._merged(halves, limit=limit, offset=offset)
        if bounds.upper == NONE:
            return Page((), 0, limit, offset, has_more=False)
        if isinstance(query.node, In) and offset + limit >= PER_PAGE and offset > 0:
            return await self._far_down(asked, bounds.upper, known.folder(query.node.folder), limit, offset)
        if offset == 0:
            self.listings.forget()
        if bounds.are_exact:
            return await self._listed(asked, bounds.upper, limit, offset)
        return await self._judged(asked, bounds, say, limit, offset)

    async def _merged(self, queries: Sequence[Query], *, limit: int, offset: int) -> Page[Envelope]:
        """Several questions where one would be too long: who is in any of their answers."""
        pages = [await self.page(query, limit=offset + limit + 1, offset=0) for query in queries]
        different = {row.ref: row for page in pages for row in page.items}
        rows = sorted(different.values(), key=lambda row: row.date or _NEVER, reverse=True)
        is_whole = not any(page.has_more for page in pages)
        return Page(
            tuple(rows[offset : offset + limit]),
            len(rows) if is_whole else None,
            limit,
            offset,
            has_more=not is_whole or len(rows) > offset + limit,
        )

    async def _knowing(self, query: Query, known: LabelSet) -> LabelSet:
        """A folder or label that is not known may be new."""
        for leaf in query.leaves():
            if isinstance(leaf, Label) and known.named(leaf.name) is None:
                return await self.labels.current()
            if isinstance(leaf, In) and known.find(leaf.folder) is None:
                return await self.labels.current()
        return known

    async def _listed(self, asked: Asked, words: str, limit: int, offset: int) -> Page[Envelope]:
        refs, is_more = await self._ids(asked, words, offset + limit + 1)
        some = refs[offset : offset + limit]
        rows = await self.reader.envelopes(some)
        items = tuple(row for row in rows if row is not None)
        total, has_more = None if is_more else len(refs), len(refs) > offset + limit
        return Page(items, total, limit, offset, has_more, gone=_missing(some, rows))

    async def _far_down(self, asked: Asked, words: str, folder: Folder, limit: int, offset: int) -> Page[Envelope]:
        """In a folder. What left it since it was listed is not shown, and the next page is of a new list."""
        refs, is_more, is_old = await self.listings.first(asked.params(words), offset + limit + 1)
        some = refs[offset : offset + limit]
        rows = await self.reader.envelopes(some)
        items = tuple(row for row in rows if row is not None and (not is_old or _is_in(folder, row)))
        if len(items) < len(rows):
            self.listings.forget()
        total, has_more = None if is_more else len(refs), len(refs) > offset + limit
        return Page(items, total, limit, offset, has_more, gone=_missing(some, rows))

    async def _judged(self, asked: Asked, bounds: Bounds[str], say: Speaker, limit: int, offset: int) -> Page[Envelope]:
        assert asked.node is not None
        wanted = offset + limit + 1
        candidates, is_more = await self._ids(asked, bounds.upper, READ_WHOLE)
        sure = set[str]()
        if bounds.lower != NONE and len(bounds.lower) <= LONGEST:
            sure = set((await self._ids(asked, bounds.lower, READ_WHOLE))[0])
        judge = await self._judge(asked, say, candidates)
        judge.require_few(len(candidates) - len(sure) + (READ_WHOLE if is_more else 0))
        found: list[str] = []
        for start in range(0, len(candidates), PER_BATCH):
            some = candidates[start : start + PER_BATCH]
            accepted = sure | await self._accepted(judge, [ref for ref in some if ref not in sure])
            found += [ref for ref in some if ref in accepted]
            if len(found) >= wanted:
                is_more = True
                break
        rows = await self.reader.envelopes(found[offset : offset + limit])
        items = tuple(row for row in rows if row is not None)
        return Page(items, None if is_more else len(found), limit, offset, has_more=len(found) > offset + limit)

    async def _accepted(self, judge: Judge[str], refs: Sequence[str]) -> set[str]:
        """From the envelopes, which may be known already, where those say enough."""
        if not judge.reads_text and not any(isinstance(leaf, Filename) for leaf in judge.ours):
            rows = await self.reader.envelopes(refs)
            return {row.ref for row in rows if row is not None and judge.accepts(row.ref, row)}
        opened = [row for row in await self.reader.rows(refs) if row is not None]
        return await anyio.to_thread.run_sync(_read_and_accepted, judge, opened)

    async def _judge(self, asked: Asked, say: Speaker, candidates: Sequence[str]) -> Judge[str]:
        """What an envelope says is compared here; for words Gmail is asked, which has read the texts, once for each.
        Conditions that every candidate fulfils need no decision."""
        assert asked.node is not None
        parts = asked.node.nodes if isinstance(asked.node, And) else (asked.node,)
        known = {part: set(candidates) for part in parts if spoken(part, say).are_exact}
        for leaf in Query(asked.node).leaves():
            if isinstance(leaf, Text) and leaf not in known and (said := spoken(leaf, say)).are_exact:
                known[leaf] = set((await self._ids(asked, said.upper, READ_WHOLE))[0])
        return Judge(asked.node, lambda node: node in known, lambda node: known[node])

    async def _ids(self, asked: Asked, words: str, most: int) -> tuple[list[str], bool]:
        if words == NONE:
            return [], False
        if len(words) > LONGEST:
            raise InvalidRequest(
                "The search is longer than Gmail accepts. Search for fewer words or people at once.",
                details={"field": "query"},
            )
        entries, is_more = await self.client.listed(
            "messages", "messages", asked.params(words), units=UNITS["messages"], most=most
        )
        return [ref for entry in entries if (ref := text_of(entry.get("id")))], is_more

    async def with_ids(self, message_ids: Sequence[str]) -> list[Envelope]:
        if not message_ids:
            return []
        query = Query(Or(tuple(MessageId(one) for one in message_ids)), anywhere=True)
        page = await self.page(query, limit=2 * PER_BATCH, offset=0)
        return [row for row in page.items if row.message_id in message_ids]


def _needs_labels(query: Query) -> bool:
    return any(isinstance(leaf, In | Label | Is) for leaf in query.leaves())


def _asked(query: Query, known: LabelSet) -> Asked | None:
    """Folders and labels that must all hold go as labels, which Gmail compares exactly; None where one is missing."""
    parts = query.node.nodes if isinstance(query.node, And) else (query.node,) if query.node is not None else ()
    labels: list[str] = []
    rest: list[Node] = []
    for part in parts:
        if isinstance(part, In) and (ref := known.folder(part.folder).ref) != ARCHIVE:
            labels.append(ref)
        elif isinstance(part, Label):
            label = known.named(part.name)
            if label is None:
                return None
            labels.append(label.id)
        else:
            rest.append(part)
    # Naming a folder in any other way says where to look: everywhere, and the condition decides.
    names_more = any(isinstance(leaf, In) for part in rest if not isinstance(part, In) for leaf in Query(part).leaves())
    everywhere = query.anywhere or names_more or not DISCARDED.isdisjoint(labels)
    return Asked(tuple(dict.fromkeys(labels)), And(tuple(rest)) if rest else None, everywhere)


def _halves(query: Query) -> list[Query]:
    """The query with the one half of its longest OR, and with the other; none where there is nothing to divide."""
    parts = list(query.node.nodes) if isinstance(query.node, And) else [query.node]
    longest = max((part for part in parts if isinstance(part, Or)), key=lambda part: len(part.nodes), default=None)
    if longest is None or len(longest.nodes) < 2:
        return []
    middle, at = len(longest.nodes) // 2, parts.index(longest)
    return [
        Query(And((*_present(parts[:at]), Or(half), *_present(parts[at + 1 :]))), query.anywhere)
        for half in (longest.nodes[:middle], longest.nodes[middle:])
    ]


def _missing(refs: Sequence[str], rows: Sequence[Envelope | None]) -> tuple[str, ...]:
    return tuple(ref for ref, row in zip(refs, rows, strict=True) if row is None)


def _is_in(folder: Folder, row: Envelope) -> bool:
    if folder.ref == ARCHIVE:  # whatever its labels
        return {name for name, _ in PLACES.values()}.isdisjoint(row.folders)
    return folder.name in row.folders


def _present(parts: Sequence[Node | None]) -> list[Node]:
    return [part for part in parts if part is not None]


def _read_and_accepted(judge: Judge[str], rows: Sequence[Row]) -> set[str]:
    """For a worker thread: these texts are read."""
    found = set[str]()
    for row in rows:
        text = guarded.search_text(row.parsed.body) if judge.reads_text else ""
        if judge.accepts(row.envelope.ref, row.envelope, text, [file.filename for file in row.attachments]):
            found.add(row.envelope.ref)
    return found
