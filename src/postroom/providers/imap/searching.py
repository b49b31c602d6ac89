"""Search over folders: the server narrows down, we look at what it could not decide, newest first.

Per folder a search costs a few commands, and only the page that is shown is fetched. Where a server must leave many
mails undecided (attachments in a folder of 50,000) they are looked at newest first until the page is full; the total is
then unknown and said to be.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from postroom.mime.dates import read_date
from postroom.model.address import Address
from postroom.model.folder import Folder
from postroom.model.message import Attachment, Envelope, Page
from postroom.model.query import After, And, Before, Node, Not, Or, Query
from postroom.model.query_match import matches
from postroom.providers.imap import reading
from postroom.providers.imap.client import Session, chunks
from postroom.providers.imap.convert import as_bytes
from postroom.providers.imap.criteria import ALL, FALSE, NONE, TRUE, Bounds, Keys, bounds
from postroom.providers.imap.refs import MailRef
from postroom.providers.imap.structure import attachments, read_structure
from postroom.providers.imap.wire import Item, read_internal_date

CHECKED_WHOLE = 2000  # so many undecided mails are all looked at, for the sake of an exact total
SORTED_WHOLE = 2000  # without SORT: so many arrivals are put in order of date, older ones stay as they came

_DATES = "INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE)]"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRESENT = Keys((b"UNDELETED",))


@dataclass(frozen=True, slots=True)
class Hit:
    ref: MailRef
    date: datetime


@dataclass(frozen=True, slots=True)
class Hits:
    """The newest hits of one folder, as many as were wanted. `total` None: more than it paid to count."""

    hits: tuple[Hit, ...]
    total: int | None


def find(session: Session, folder: Folder, node: Node, *, wanted: int) -> Hits:
    """The `wanted` newest mails of one folder, with the dates that merging several folders takes."""
    validity = session.open(folder.ref).validity
    uids, total = _matching(session, node, wanted)
    dates = _dates(session, uids)
    return Hits(tuple(Hit(MailRef(folder.ref, validity, uid), dates.get(uid, _EPOCH)) for uid in uids), total)


def find_page(session: Session, folder: Folder, node: Node, *, limit: int, offset: int) -> Page[Envelope]:
    """One page of one folder, found and read in one go."""
    validity = session.open(folder.ref).validity
    uids, total = _matching(session, node, offset + limit + 1)
    shown = uids[offset : offset + limit]
    rows = reading.rows(session, folder.ref, folder.name, validity, shown)
    present = tuple(rows[uid] for uid in shown if uid in rows)
    return Page(present, total, limit, offset, has_more=len(uids) > offset + limit)


def _matching(session: Session, node: Node, wanted: int) -> tuple[Sequence[int], int | None]:
    """The `wanted` newest UIDs of the open folder, and how many match in all."""
    limits = bounds(node, gmail=session.has("X-GM-EXT-1"))
    if limits.upper == NONE:
        return [], 0
    return _decided(session, node, limits, _newest_first(session, limits.upper), wanted)


def _newest_first(session: Session, keys: Keys) -> Sequence[int]:
    if keys == ALL:  # what a listing asks for, page after page
        return session.remember("newest first", lambda: array("L", _ordered(session, _PRESENT.words)))
    return _ordered(session, (*_PRESENT.words, *keys.words))


def _ordered(session: Session, words: Sequence[bytes]) -> list[int]:
    if session.has("SORT"):
        return session.sort(words)
    uids = session.search(words)[::-1]
    dates = _dates(session, uids[:SORTED_WHOLE])
    recent = sorted(dates, key=lambda uid: (dates[uid], uid), reverse=True)
    return [*recent, *uids[SORTED_WHOLE:]]


def _decided(
    session: Session, node: Node, limits: Bounds, uids: Sequence[int], wanted: int
) -> tuple[Sequence[int], int | None]:
    """The first `wanted` UIDs that match, and how many match in all."""
    if limits.are_exact:
        return uids[:wanted], len(uids)
    sure = set(session.search((*_PRESENT.words, *limits.lower.words))) if limits.lower != NONE else set[int]()
    judge = _Judge(session, node)
    if len(uids) - len(sure) <= CHECKED_WHOLE:
        accepted = sure | judge.accepted([uid for uid in uids if uid not in sure])
        matching = [uid for uid in uids if uid in accepted]
        return matching[:wanted], len(matching)
    found: list[int] = []
    for chunk in chunks(uids):
        accepted = sure.intersection(chunk) | judge.accepted([uid for uid in chunk if uid not in sure])
        found.extend(uid for uid in chunk if uid in accepted)
        if len(found) >= wanted:
            return found[:wanted], None
    return found, len(found)


class _Judge:
    """Decides single mails. What the server can say exactly is asked of it once, as a set; only the rest is ours."""

    def __init__(self, session: Session, node: Node) -> None:
        self._session = session
        self._node = _undecided(node)
        self._known: dict[Node, set[int]] = {}
        leaves = list(Query(self._node).leaves())
        self._is_ours_alone = not any(bounds(leaf).are_exact for leaf in leaves)
        needs_dates = any(isinstance(leaf, After | Before) for leaf in leaves)
        self._items = f"UID BODYSTRUCTURE {_DATES}" if needs_dates else "UID BODYSTRUCTURE"

    def accepted(self, uids: Sequence[int]) -> set[int]:
        found: set[int] = set()
        for uid, item in self._session.fetch(uids, self._items).items():
            files = attachments(read_structure(item.get("BODYSTRUCTURE")))
            node = self._node if self._is_ours_alone else self._with_answers(self._node, uid)
            if matches(node, _outline(item, files), "", [file.filename for file in files]):
                found.add(uid)
        return found

    def _with_answers(self, node: Node, uid: int) -> Node:
        if bounds(node).are_exact:
            return TRUE if uid in self._uids_of(node) else FALSE
        if isinstance(node, Not):
            return Not(self._with_answers(node.node, uid))
        if isinstance(node, (And, Or)):
            return type(node)(tuple(self._with_answers(child, uid) for child in node.nodes))
        return node

    def _uids_of(self, node: Node) -> set[int]:
        if node not in self._known:
            keys = bounds(node).upper
            self._known[node] = set() if keys == NONE else set(self._session.search(keys.words))
        return self._known[node]


def _undecided(node: Node) -> Node:
    """Without the conditions that every candidate fulfils already."""
    if isinstance(node, And):
        return And(tuple(child for child in node.nodes if not bounds(child).are_exact))
    return node


def _outline(item: Item, files: Sequence[Attachment]) -> Envelope:
    date = _date(item) if "INTERNALDATE" in item else None
    return Envelope("", "", "", Address(""), date=date, has_attachments=any(not file.inline for file in files))


def _dates(session: Session, uids: Sequence[int]) -> dict[int, datetime]:
    return {uid: _date(item) or _EPOCH for uid, item in session.fetch(uids, f"UID {_DATES}").items()}


def _date(item: Item) -> datetime | None:
    header = as_bytes(item.get("HEADERS")).decode("ascii", "replace").partition(":")[2]
    return read_date(" ".join(header.split())) or read_internal_date(item.get("INTERNALDATE"))


def merged(found: Sequence[Hits], *, limit: int, offset: int) -> tuple[list[Hit], int | None, bool]:
    """One page of all folders' hits, the total where every folder knows its own, and whether more follow."""
    everything = sorted((hit for hits in found for hit in hits.hits), key=lambda hit: hit.date, reverse=True)
    page = list(islice(everything, offset, offset + limit))
    totals = [hits.total for hits in found]
    total = None if None in totals else sum(count for count in totals if count is not None)
    return page, total, len(everything) > offset + limit
