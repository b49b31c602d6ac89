"""Search over folders: the server narrows down, the rest is decided here, newest first.

Per folder a search costs a few commands, and only the page that is shown is fetched. Where a server must leave many
messages undecided (attachments in a folder of 50,000) they are checked newest first until the page is full; the total
is then reported as unknown.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from postroom.model import changes
from postroom.model.changes import Rest
from postroom.model.errors import CursorExpired
from postroom.model.folder import Folder
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import Node
from postroom.providers.imap.flavours.criteria import ALL, NONE, Keys, bounds, not_before
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.mail import reading
from postroom.providers.imap.mail.convert import as_bytes
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.search.judging import DATES, accepted, date_of, judge_for
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.uid_sets import chunks
from postroom.providers.imap.session.wire import Item
from postroom.providers.querying.bounds import Bounds

CHECKED_WHOLE = 2000  # up to this many undecided messages are all checked, for an exact total
SORTED_WHOLE = 2000  # without SORT: the latest arrivals are sorted by date, older ones stay in order of arrival

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRESENT = Keys((b"UNDELETED",))


@dataclass(frozen=True, slots=True)
class Hit:
    """`identity` is the same for one message in every folder it is in; empty where the server has none."""

    ref: MailRef
    date: datetime
    identity: bytes = b""


@dataclass(frozen=True, slots=True)
class Hits:
    """The newest hits of one folder, as many as were wanted. `total` None: too many to count."""

    hits: tuple[Hit, ...]
    total: int | None


def find(session: Session, folder: Folder, node: Node, part: Rest | None = None, *, wanted: int) -> Hits:
    """The `wanted` newest messages of one folder, or of a part of it, with what merging several folders needs."""
    validity = session.open(folder.ref).validity
    if part is not None and part.below is not None and part.epoch != str(validity):
        raise CursorExpired("The server has renumbered this folder.")
    uids, total = _matching(session, node, wanted, part)
    name = flavour_of(session).identity_item
    items = session.fetch(uids, f"UID {DATES} {name}".rstrip())
    hits = (_hit(MailRef(folder.ref, validity, uid), items.get(uid, {}), name) for uid in uids)
    return Hits(tuple(hits), total)


def _hit(ref: MailRef, item: Item, identity: str) -> Hit:
    return Hit(ref, date_of(item) or _EPOCH, as_bytes(item.get(identity)))


def find_page(session: Session, folder: Folder, node: Node, *, limit: int, offset: int) -> Page[Envelope]:
    """One page of one folder, found and read in one go."""
    validity = session.open(folder.ref).validity
    uids, total = _matching(session, node, offset + limit + 1)
    shown = uids[offset : offset + limit]
    rows = reading.rows(session, folder.ref, folder.name, validity, shown)
    present = tuple(rows[uid] for uid in shown if uid in rows)
    return Page(present, total, limit, offset, has_more=len(uids) > offset + limit)


def _matching(session: Session, node: Node, wanted: int, part: Rest | None = None) -> tuple[Sequence[int], int | None]:
    """The `wanted` newest UIDs of the open folder, or of a part of it, and how many match in all."""
    limits = bounds(node, flavour_of(session).say)
    if limits.upper == NONE or (part is not None and part.below is not None and part.below <= 1):
        return [], 0
    return _decided(session, node, limits, _candidates(session, limits.upper, part or Rest("")), wanted)


def _candidates(session: Session, keys: Keys, part: Rest) -> Sequence[int]:
    """Newest first. What is cheap to find out comes first: servers then open only what is left."""
    if part.since is not None:
        return _ordered(session, (*_PRESENT.words, *_below(part), *not_before(part.since).words, *keys.words))
    return _newest_first(session, keys) if part.below is None else _newest_below(session, keys, part, part.below)


def _below(part: Rest) -> tuple[bytes, ...]:
    return () if part.below is None else (b"UID", b"1:%d" % (part.below - 1))


def _newest_below(session: Session, keys: Keys, part: Rest, below: int) -> Sequence[int]:
    """A listing asks for it page after page while a fill goes on: it is answered from what was found first."""
    there = (*_PRESENT.words, *_below(part))
    if keys != ALL:
        return _ordered(session, (*there, *keys.words))
    border, order = session.remember("newest below", lambda: (below, array("L", _ordered(session, there))))
    if border < below:  # the mirror was started over
        return _ordered(session, there)
    return [uid for uid in order if uid < below]


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
    session: Session, node: Node, limits: Bounds[Keys], uids: Sequence[int], wanted: int
) -> tuple[Sequence[int], int | None]:
    """The first `wanted` UIDs that match, and how many match in all."""
    if limits.are_exact:
        return uids[:wanted], len(uids)
    sure = set[int]()
    if limits.lower != NONE:
        sure = set(session.search((*_PRESENT.words, *limits.lower.words))).intersection(uids)
    judge = judge_for(session, node)
    judge.require_few(len(uids) - len(sure))
    if len(uids) - len(sure) <= CHECKED_WHOLE:
        holding = sure | accepted(session, judge, [uid for uid in uids if uid not in sure])
        matching = [uid for uid in uids if uid in holding]
        return matching[:wanted], len(matching)
    found: list[int] = []
    for chunk in chunks(uids):
        holding = sure.intersection(chunk) | accepted(session, judge, [uid for uid in chunk if uid not in sure])
        found.extend(uid for uid in chunk if uid in holding)
        if len(found) >= wanted:
            return found[:wanted], None
    return found, len(found)


def _dates(session: Session, uids: Sequence[int]) -> dict[int, datetime]:
    return {uid: date_of(item) or _EPOCH for uid, item in session.fetch(uids, f"UID {DATES}").items()}


def merged(found: Sequence[Hits], *, limit: int, offset: int) -> tuple[list[Hit], int | None, bool]:
    """One page of all folders' hits, the total where it is known, and whether more follow.

    A message in several folders is one message, found in the first of them. The total is then known only when every
    hit has been fetched.
    """
    everything = [hit for hits in found for hit in hits.hits]
    different: dict[bytes | MailRef, Hit] = {}
    for hit in everything:
        different.setdefault(hit.identity or hit.ref, hit)
    page = sorted(different.values(), key=lambda hit: _ordering(hit).place)[offset : offset + limit]
    repeated = len(everything) - len(different)
    return page, _total(found, everything, repeated), len(different) > offset + limit


def newest(found: Sequence[Hits], wanted: int) -> changes.Hits:
    """Of all folders' hits together."""
    hits, total, _ = merged(found, limit=wanted, offset=0)
    return changes.Hits([_ordering(hit) for hit in hits], total)


def _ordering(hit: Hit) -> changes.Hit:
    return changes.Hit(str(hit.ref), hit.date, hit.ref.folder, hit.ref.uid)


def _total(found: Sequence[Hits], everything: Sequence[Hit], repeated: int) -> int | None:
    totals = [hits.total for hits in found]
    if None in totals:
        return None
    total = sum(count for count in totals if count is not None)
    if total > len(everything) and any(hit.identity for hit in everything):
        return None
    return total - repeated
