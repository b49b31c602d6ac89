"""Searching: the service finds words, everything else is decided here, message by message.

A listing's row decides most conditions. What it cannot decide (copies, attachments, Message-IDs, text) is read from
the opened message, for at most `READ_WHOLE` messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import anyio.to_thread

from postroom.mime.guarded import search_text
from postroom.mime.read.dates import read_date
from postroom.model.errors import InvalidRequest, NotFound, PostroomError
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.message import Envelope, Page
from postroom.model.query.match import matches
from postroom.model.query.tree import And, In, Is, Node, Not, Or, Query, Subject, Text
from postroom.model.query.widening import widened
from postroom.providers.http.concurrency import all_of, settled
from postroom.providers.querying.bounds import FALSE, TRUE, within
from postroom.providers.querying.judging import READ_WHOLE
from postroom.providers.rest import convert, wire
from postroom.providers.rest.client import RestClient
from postroom.providers.rest.details import LARGEST, DetailCache
from postroom.providers.rest.places import Places

_ONLY_OPENED = frozenset({"cc", "has", "filename", "message_id", "text"})  # fields that no row can decide
_ONLY_READ = frozenset({"text"})
_WORD = re.compile(r"\w+")
_MOST_FOUND = 100_000  # of one word, in one mailbox


@dataclass(frozen=True, slots=True)
class _Candidate:
    row: wire.Row
    folder: str
    node: Node  # what is left to decide in this folder


class Searcher:
    def __init__(self, client: RestClient, details: DetailCache, places: Places) -> None:
        self._client = client
        self._details = details
        self._places = places

    async def search(self, query: Query, folders: list[Folder], limit: int, offset: int) -> Page[Envelope]:
        listing = plain_listing(query)
        if listing is not None:
            return await self._listed(_named(folders, listing[0]), listing[1], limit, offset)
        wanted = _inside(query, folders)
        found = await all_of([partial(self._candidates, folder, node) for folder, node in wanted])
        candidates = sorted((one for some in found for one in some), key=_moment, reverse=True)
        accepted = await self._judged(candidates)
        shown = accepted[offset : offset + limit]
        envelopes = await self.envelopes([(one.row, one.folder) for one in shown])
        bare = self._bare([one.row for one in shown])
        return Page(tuple(envelopes), len(accepted), limit, offset, len(accepted) > offset + limit, bare=bare)

    async def _listed(self, folder: Folder, unread: bool, limit: int, offset: int) -> Page[Envelope]:
        """The service's own order, which is newest first."""
        rows, has_more = await self._places.rows(folder.ref, limit=limit, offset=offset, unread=unread)
        total = offset + len(rows) if not has_more and (rows or not offset) else None
        envelopes = await self.envelopes([(row, folder.name) for row in rows])
        return Page(tuple(envelopes), total, limit, offset, has_more, bare=self._bare(rows))

    def _bare(self, rows: Sequence[wire.Row]) -> tuple[str, ...]:
        return tuple(row.id for row in rows if self._details.known(row) is None)

    async def envelopes(self, placed: Sequence[tuple[wire.Row, str]]) -> list[Envelope]:
        known = await self._details.of([row for row, _ in placed])
        return [convert.envelope(row, folder, more) for (row, folder), more in zip(placed, known, strict=True)]

    async def _candidates(self, folder: Folder, node: Node) -> list[_Candidate]:
        terms = _terms(node)
        if terms is None:
            rows = await self._places.every_row(folder.ref, unread=_asks_for_unread(node))
        else:
            hits = await all_of([partial(self._hits, word, folder.ref) for word in sorted(terms)])
            rows = list({row.id: row for some in hits for row in some}.values())
        return [_Candidate(row, folder.name, node) for row in rows]

    async def _hits(self, word: str, mailbox: str) -> list[wire.Row]:
        """The API has no second page of a search: it is asked for more at once until it has no more."""
        limit = wire.PAGE
        rows = await self._places.found(word, mailbox, limit=limit)
        while len(rows) >= limit and limit < _MOST_FOUND:
            limit *= 4
            more = await self._places.found(word, mailbox, limit=limit)
            if len(more) <= len(rows):
                break
            rows = more
        return rows

    async def _judged(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Those that match, in order. Many rows take a while: not in the event loop."""
        verdicts = await anyio.to_thread.run_sync(lambda: [self._from_listing(one) for one in candidates])
        undecided = [place for place, verdict in enumerate(verdicts) if verdict is None]
        if len(undecided) > READ_WHOLE:
            raise _too_many()
        read = await settled([partial(self._read, candidates[place]) for place in undecided])
        await self._details.require_the_service(read)
        for place, verdict in zip(undecided, read, strict=True):
            verdicts[place] = _counted(verdict)
        return [one for one, verdict in zip(candidates, verdicts, strict=True) if verdict]

    def _from_listing(self, one: _Candidate) -> bool | None:
        """From its row, or from what is known of it already; None where it must be opened."""
        verdict = _verdict(one.node, convert.envelope(one.row, one.folder), (), _ONLY_OPENED)
        known = self._details.known(one.row)
        if verdict is not None or known is None:
            return verdict
        shown, text = convert.envelope(one.row, one.folder, known), self._details.known_text(one.row)
        if text is not None:
            return matches(one.node, shown, text, known.filenames)
        return _verdict(one.node, shown, known.filenames, _ONLY_READ)

    async def _read(self, one: _Candidate) -> bool:
        found = await self._client.message(one.row.id, largest=LARGEST)
        known, text = await self._details.learn(one.row, found)
        if text is None:
            text = await anyio.to_thread.run_sync(search_text, convert.body(found))
        return matches(one.node, convert.envelope(one.row, one.folder, known), text, known.filenames)


def _counted(verdict: bool | PostroomError) -> bool:
    """A message that is gone is no match; one that cannot be read may be one, and is shown."""
    return not isinstance(verdict, NotFound) if isinstance(verdict, PostroomError) else verdict


def _verdict(node: Node, shown: Envelope, filenames: Sequence[str], unknown: frozenset[str]) -> bool | None:
    """None where a condition that is not known yet decides."""
    may_match, may_fail = _bounds(node, unknown)
    if not matches(may_match, shown, "", filenames):
        return False
    return True if not matches(may_fail, shown, "", filenames) else None


@lru_cache(maxsize=64)
def _bounds(node: Node, unknown: frozenset[str]) -> tuple[Node | None, Node | None]:
    """What a message must fulfil to match perhaps, and not to match perhaps."""
    return widened(Query(node), unknown)[0].node, widened(Query(Not(node)), unknown)[0].node


def plain_listing(query: Query) -> tuple[str, bool] | None:
    """The folder and whether only unread messages are wanted, where the query asks for nothing else."""
    leaves = query.node.nodes if isinstance(query.node, And) else (query.node,)
    folders = [leaf.folder for leaf in leaves if isinstance(leaf, In)]
    rest = [leaf for leaf in leaves if not isinstance(leaf, In)]
    if len(folders) != 1 or any(leaf != Is("unread") for leaf in rest):
        return None
    return folders[0], bool(rest)


def _inside(query: Query, folders: list[Folder]) -> list[tuple[Folder, Node]]:
    """What is asked for in each folder that may contain a match."""
    for leaf in query.leaves():
        if isinstance(leaf, In):
            _named(folders, leaf.folder)
    hidden = () if query.names_folder else (Role.TRASH, Role.JUNK)
    placed = [(folder, _left(query, folders, folder)) for folder in folders if folder.role not in hidden]
    return [(folder, node) for folder, node in placed if node != FALSE]


def _left(query: Query, folders: list[Folder], folder: Folder) -> Node:
    return within(query.node or TRUE, lambda name: _named(folders, name).ref == folder.ref)


def _named(folders: list[Folder], name: str) -> Folder:
    found = match_folder(folders, name)
    if found is None:
        raise NotFound(
            "There is no such folder. Call list_folders to see the folders.",
            reason="folder_unknown",
            details={"folder": name[:80]},
        )
    return found


def _terms(node: Node) -> frozenset[str] | None:
    """Words of which every match contains at least one; None where there are none that the service could look for."""
    if (isinstance(node, Text) and not node.prefix) or isinstance(node, Subject):
        longest = max(_WORD.findall(node.value), key=len, default="")  # as it is written: the service knows no folding
        return frozenset({longest}) if longest else None
    if isinstance(node, And):
        known = [terms for child in node.nodes if (terms := _terms(child)) is not None]
        return min(known, key=len) if known else None
    if isinstance(node, Or) and node.nodes:
        parts = [_terms(child) for child in node.nodes]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    return None


def _asks_for_unread(node: Node) -> bool:
    return node == Is("unread") or (isinstance(node, And) and Is("unread") in node.nodes)


def _moment(one: _Candidate) -> float:
    date = read_date(one.row.date)
    return date.timestamp() if date else 0.0


def _too_many() -> InvalidRequest:
    return InvalidRequest(
        f"This mail service cannot search for that itself, and more than {READ_WHOLE} messages would have to be opened "
        "to find out. Narrow the search: name a whole word, a folder with in:, a sender with from:, or a time with "
        "after:.",
        details={"field": "query"},
    )
