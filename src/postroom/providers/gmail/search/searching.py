"""Search: one list of ids, one batch of messages. What Gmail cannot decide is decided here, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from postroom.mime import guarded
from postroom.model.errors import InvalidRequest
from postroom.model.folder import match_folder
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import And, In, Is, Label, MessageId, Node, Not, Or, Query
from postroom.providers.gmail.mail.convert import Row
from postroom.providers.gmail.mail.labels import ARCHIVE, DISCARDED, Labels, LabelSet
from postroom.providers.gmail.mail.reading import Reader
from postroom.providers.gmail.search.words import LONGEST, NONE, Speaker, all_of, spoken
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import PER_BATCH, UNITS, text_of
from postroom.providers.querying.bounds import Bounds
from postroom.providers.querying.judging import READ_WHOLE, Judge

_TRUE = And(())


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

    async def page(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        known = await self.labels.recent() if _needs_labels(query) else LabelSet()
        known = await self._knowing(query, known)
        query = query.mapped(lambda leaf: In(known.folder(leaf.folder).name) if isinstance(leaf, In) else leaf)
        asked = _asked(query, known)
        if asked is None:
            return Page((), 0, limit, offset, has_more=False)
        say = Speaker(known)
        bounds = spoken(asked.node or _TRUE, say)
        if bounds.upper == NONE:
            return Page((), 0, limit, offset, has_more=False)
        if bounds.are_exact:
            return await self._listed(asked, bounds.upper, limit, offset)
        return await self._judged(asked, bounds, say, limit, offset)

    async def _knowing(self, query: Query, known: LabelSet) -> LabelSet:
        """A folder or label that is not known may be new."""
        for leaf in query.leaves():
            if isinstance(leaf, Label) and known.named(leaf.name) is None:
                return await self.labels.current()
            if isinstance(leaf, In) and match_folder(known.folders(), leaf.folder) is None:
                return await self.labels.current()
        return known

    async def _listed(self, asked: Asked, words: str, limit: int, offset: int) -> Page[Envelope]:
        refs, is_more = await self._ids(asked, words, offset + limit + 1)
        rows = await self.reader.envelopes(refs[offset : offset + limit])
        items = tuple(row for row in rows if row is not None)
        return Page(items, None if is_more else len(refs), limit, offset, has_more=len(refs) > offset + limit)

    async def _judged(self, asked: Asked, bounds: Bounds[str], say: Speaker, limit: int, offset: int) -> Page[Envelope]:
        assert asked.node is not None
        wanted = offset + limit + 1
        candidates, is_more = await self._ids(asked, bounds.upper, READ_WHOLE)
        sure = set[str]()
        if bounds.lower != NONE and len(bounds.lower) <= LONGEST:
            sure = set((await self._ids(asked, bounds.lower, READ_WHOLE))[0])
        judge = await self._judge(asked, bounds.upper, say)
        judge.require_few(len(candidates) - len(sure) + (READ_WHOLE if is_more else 0))
        found: list[str] = []
        rows: dict[str, Row] = {}
        for start in range(0, len(candidates), PER_BATCH):
            some = candidates[start : start + PER_BATCH]
            opened = await self._opened([ref for ref in some if ref not in sure], rows)
            found += [ref for ref in some if ref in sure or (ref in opened and _accepts(judge, ref, opened[ref]))]
            if len(found) >= wanted:
                is_more = True
                break
        shown = await self._opened(found[offset : offset + limit], rows)
        items = tuple(shown[ref].envelope for ref in found[offset : offset + limit] if ref in shown)
        return Page(items, None if is_more else len(found), limit, offset, has_more=len(found) > offset + limit)

    async def _opened(self, refs: Sequence[str], rows: dict[str, Row]) -> dict[str, Row]:
        missing = [ref for ref in refs if ref not in rows]
        found = zip(missing, await self.reader.rows(missing), strict=True)
        rows.update({ref: row for ref, row in found if row is not None})
        return rows

    async def _judge(self, asked: Asked, upper: str, say: Speaker) -> Judge[str]:
        """The sets that it will ask for are fetched first, each within what is being searched."""
        assert asked.node is not None

        def is_exact(node: Node) -> bool:
            return spoken(node, say).are_exact

        known: dict[Node, set[str]] = {}
        parts = asked.node.nodes if isinstance(asked.node, And) else (asked.node,)
        for part in parts:
            if not is_exact(part):
                for condition in _exact_parts(part, is_exact):
                    said = spoken(condition, say).upper
                    words = all_of([upper, said])
                    known[condition] = set() if said == NONE else set((await self._ids(asked, words, READ_WHOLE))[0])
        return Judge(asked.node, is_exact, lambda node: known.get(node, set()))

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


def _exact_parts(node: Node, is_exact: Any) -> Iterator[Node]:
    if is_exact(node):
        yield node
    elif isinstance(node, Not):
        yield from _exact_parts(node.node, is_exact)
    elif isinstance(node, And | Or):
        for child in node.nodes:
            yield from _exact_parts(child, is_exact)


def _accepts(judge: Judge[str], ref: str, row: Row) -> bool:
    text = guarded.search_text(row.parsed.body) if judge.reads_text else ""
    return judge.accepts(ref, row.envelope, text, [file.filename for file in row.attachments])
