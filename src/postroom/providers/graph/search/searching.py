"""A search: by filter where the service can decide it, by $search where words are sought, the rest decided here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from postroom.model.errors import InvalidRequest, ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import And, In, Leaf, Node, Not, Query
from postroom.providers.graph.mail.folders import Directory
from postroom.providers.graph.mail.reading import LISTED, WITHOUT_TEXT, Reader
from postroom.providers.graph.search import filters, kql
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import COUNT, JSON, objects, text
from postroom.providers.querying.judging import Judge

T = TypeVar("T")
_MOST_CHECKED = 10_000  # messages that are looked at to fill one page
_LARGE_PAGE = 250
_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Plan:
    """`path` is one folder or the whole mailbox; `conditions` must all hold for a message."""

    path: str
    conditions: tuple[Node, ...]

    @property
    def node(self) -> Node:
        return And(self.conditions)

    @property
    def clauses(self) -> list[str]:
        return [one for one in map(filters.clause, self.conditions) if one]

    @property
    def is_exact(self) -> bool:
        return len(self.clauses) == len(self.conditions)


class Searcher:
    def __init__(self, client: Client, directory: Directory, reader: Reader) -> None:
        self._client = client
        self._directory = directory
        self._reader = reader

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        plan = await self._planned(query)
        if kql.finds_nothing(plan.node):
            return Page((), 0, limit, offset, has_more=False)
        if plan.is_exact:
            return await self._filtered(plan, limit, offset)
        if kql.is_narrowed(plan.node) or filters.message_ids(plan.node):
            return await self._found(plan, limit, offset)
        return await self._checked(plan, limit, offset)

    async def with_ids(self, ids: Sequence[str]) -> list[Envelope]:
        return await self._reader.rows(await _listed(partial(self._by_message_id, "/messages", ids)))

    async def in_conversation(self, conversation: str) -> list[Envelope]:
        """In any order, in every folder. An order would need a filter that begins with the date."""
        params = {"$filter": f"conversationId eq {wire.literal(conversation)}", "$top": str(wire.PER_PAGE)}

        async def ask(fields: Mapping[str, str]) -> list[JSON]:
            return [one async for page in self._client.pages("/messages", {**fields, **params}) for one in page]

        return await self._reader.rows(await _listed(ask))

    async def _planned(self, query: Query) -> Plan:
        """Folders by their names; without one, all but the deleted and the junk."""
        names = {leaf.folder for leaf in query.leaves() if isinstance(leaf, In)}
        folders = {name: await self._directory.find(name) for name in names}
        node = query.mapped(lambda leaf: _renamed(leaf, folders)).node
        conditions = node.nodes if isinstance(node, And) else () if node is None else (node,)
        by_name = {folder.name: folder.ref for folder in folders.values()}
        inside = [one for one in conditions if isinstance(one, In)]
        if inside:
            rest = tuple(one for one in conditions if one != inside[0])
            return Plan(wire.folder(by_name[inside[0].folder], "messages"), rest)
        if not query.names_folder:
            conditions = (*conditions, *await self._apart())
        return Plan("/messages", conditions)

    async def _apart(self) -> list[Node]:
        hidden = [folder for folder in await self._directory.known() if folder.role in (Role.TRASH, Role.JUNK)]
        return [Not(In(folder.name)) for folder in hidden]

    async def _filtered(self, plan: Plan, limit: int, offset: int) -> Page[Envelope]:
        """Decided, ordered, counted and paged by the service."""
        params = {"$top": str(max(1, limit)), "$skip": str(offset), "$count": "true", **_ordered(plan)}
        messages, page = await _listed(partial(self._so_many, plan.path, params, limit))
        total = page.get(COUNT)
        rows = tuple(await self._reader.rows(messages[:limit]))
        if not isinstance(total, int):
            return Page(rows, None, limit, offset, has_more=bool(page.get(wire.NEXT)))
        return Page(rows, total, limit, offset, has_more=total > offset + len(rows) and bool(rows))

    async def _so_many(
        self, path: str, params: Mapping[str, str], limit: int, fields: Mapping[str, str]
    ) -> tuple[list[JSON], JSON]:
        """And the last page that was read for them."""
        messages: list[JSON] = []
        async for page in self._client.whole_pages(path, {**fields, **params}):
            messages += objects(page.get("value"))
            if len(messages) >= limit:  # a page may have fewer than were asked for
                break
        return messages, page

    async def _found(self, plan: Plan, limit: int, offset: int) -> Page[Envelope]:
        """All that the service finds, decided here and put in order: it orders no search."""
        ids = () if kql.is_narrowed(plan.node) else filters.message_ids(plan.node)
        candidates = await (self._by_message_id(plan.path, ids, WITHOUT_TEXT) if ids else self._by_words(plan))
        matching = await self._accepted(await self._judge(plan), candidates)
        matching.sort(key=lambda row: row.date or _UNDATED, reverse=True)
        is_all = len(candidates) < wire.MOST_SEARCHED
        return await self._page(matching, len(matching) if is_all else None, limit, offset)

    async def _checked(self, plan: Plan, limit: int, offset: int) -> Page[Envelope]:
        """Newest first, until the page is full."""
        judge, wanted = await self._judge(plan), offset + limit + 1
        params = {**WITHOUT_TEXT, **_ordered(plan), "$top": str(min(_LARGE_PAGE, max(25, wanted + 5)))}
        matching: list[Envelope] = []
        checked = 0
        async for page in self._client.pages(plan.path, params):
            matching += await self._accepted(judge, page)
            checked += len(page)
            if len(matching) >= wanted:
                return await self._page(matching, None, limit, offset)
            if checked >= _MOST_CHECKED:
                raise InvalidRequest(
                    f"None of the newest {checked} messages, or too few, match, and Microsoft cannot search for this. "
                    "Narrow the search with in:, from: or after:, or search for words.",
                    details={"field": "query"},
                )
        return await self._page(matching, len(matching), limit, offset)

    async def _page(self, rows: Sequence[Envelope], total: int | None, limit: int, offset: int) -> Page[Envelope]:
        shown = await self._reader.envelopes([row.ref for row in rows[offset : offset + limit]])
        present = tuple(row for row in shown if row is not None)
        return Page(present, total, limit, offset, has_more=len(rows) > offset + limit)

    async def _by_words(self, plan: Plan) -> list[JSON]:
        return [one async for one in self._search(plan.path, kql.wide(plan.node), WITHOUT_TEXT)]

    async def _search(self, path: str, words: str, fields: Mapping[str, str]) -> AsyncIterator[JSON]:
        params = {**fields, "$search": kql.quoted(words), "$top": str(_LARGE_PAGE)}
        count = 0
        async for page in self._client.pages(path, params):
            for one in page:
                yield one
            count += len(page)
            if count >= wire.MOST_SEARCHED:
                return

    async def _by_message_id(self, path: str, ids: Sequence[str], fields: Mapping[str, str]) -> list[JSON]:
        found: dict[str, JSON] = {}
        for start in range(0, len(ids), filters.PER_REQUEST):
            some = filters.by_message_id(ids[start : start + filters.PER_REQUEST])
            params = {**fields, "$filter": some, "$top": str(wire.PER_PAGE)}
            async for page in self._client.pages(path, params):
                found |= {text(one.get("id")): one for one in page}
        return list(found.values())

    async def _judge(self, plan: Plan) -> Judge[str]:
        """What only the service can decide, and not every candidate fulfils, is asked before."""
        known: dict[Node, set[str]] = {}
        others = [one for one in plan.conditions if not kql.is_asked(one)]
        for part in dict.fromkeys(part for one in others for part in kql.asked_parts(one)):
            known[part] = await self._ids_with(plan, part)
        return Judge(plan.node, kql.is_asked, known.__getitem__)

    async def _ids_with(self, plan: Plan, part: Node) -> set[str]:
        """Of the candidates, those that fulfil one part. Unless the service names all, the others are unknown."""
        if kql.finds_nothing(part):
            return set()
        words = kql.wide(And((plan.node, part)))
        found = {text(one.get("id")) async for one in self._search(plan.path, words, {"$select": "id"})}
        if len(found) >= wire.MOST_SEARCHED:
            raise InvalidRequest(
                f"Microsoft names only {wire.MOST_SEARCHED} messages with a word, and a part of this search has more. "
                "Narrow it with in:, from: or after:.",
                details={"field": "query"},
            )
        return found

    async def _accepted(self, judge: Judge[str], messages: Sequence[JSON]) -> list[Envelope]:
        rows = await self._reader.bare_rows(messages)
        return [row for row in rows if judge.accepts(row.ref, row)]


async def _listed(ask: Callable[[Mapping[str, str]], Awaitable[T]]) -> T:
    """One message whose text Exchange cannot convert fails a whole page: then it is asked for without any text."""
    try:
        return await ask(LISTED)
    except ProviderUnavailable as error:
        if error.details.get("status") != 500:
            raise
        return await ask(WITHOUT_TEXT)


def _ordered(plan: Plan) -> dict[str, str]:
    given = filters.ordered(plan.clauses)
    return {"$orderby": filters.ORDER, **({"$filter": given} if given else {})}


def _renamed(leaf: Leaf, folders: Mapping[str, Folder]) -> Node:
    return In(folders[leaf.folder].name) if isinstance(leaf, In) else leaf
