"""The same kind of call with another message, thread, page or word each time, at Postroom and at the floor server.

One call over and over would measure what a server remembers of it, not what the call costs.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mcp_stdio import StdioServer

Call = tuple[str, dict[str, Any]]
Pair = tuple[Call, Call]  # at Postroom, at the floor
LIST, FAR, SUBJECT = "list 20", "list 20, far down", "search subject"
RARE, ONE_PERCENT, HALF = "search text, rare", "search text, 1 %", "search text, half"
THREAD, READ = "thread", "read"
KEYWORDS = {"and", "or", "not", "near"}


def varied(ours: StdioServer, index: Path, state: Path, mails: int, count: int) -> dict[str, list[Pair]]:
    """`count` calls of each kind, or fewer where there are not as many words. Each was made once at this server, so
    that every message has its handle: whoever measures starts another one, which has not seen any of them."""
    pairs = _varied(ours, index, state, mails, count)
    for mine, _ in itertools.chain.from_iterable(pairs.values()):
        ours.call(*mine)
    return pairs


def _varied(ours: StdioServer, index: Path, state: Path, mails: int, count: int) -> dict[str, list[Pair]]:
    chance = random.Random(5)
    inbox = ours.call("list_emails", {"limit": 1})[1]["structuredContent"]["total_count"]
    far = far_down(inbox)
    return {
        LIST: [_both("list_emails", offset=offset) for offset in _shuffled(range(0, inbox - 20, 20)[:count], chance)],
        FAR: [_both("list_emails", offset=far - below) for below in _shuffled(_spread(far // 2, count), chance)],
        **_searches(index, mails, count, chance),
        THREAD: _of_mails(state, "get_thread", _replies(ours, mails, count)),
        READ: _of_mails(state, "read_email", _some(ours, inbox, count, chance)),
    }


def _spread(most: int, count: int) -> Sequence[int]:
    return range(0, most, max(1, most // count))[:count]


def _shuffled(offsets: Sequence[int], chance: random.Random) -> list[int]:
    """A server may remember where the page before ended."""
    return chance.sample(offsets, len(offsets))


def far_down(mails: int) -> int:
    """Offsets end at 100,000."""
    return min(mails * 4 // 5, 100_000)


def calling(server: StdioServer, calls: Sequence[Call]) -> Callable[[], float]:
    """Makes the next of these calls each time, and tells its milliseconds."""
    turns = itertools.cycle(calls)
    return lambda: server.call(*next(turns))[0]


def _both(tool: str, **arguments: Any) -> Pair:
    return (tool, {"limit": 20, **arguments}), (tool, {"limit": 20, **arguments})


def _searches(index: Path, mails: int, count: int, chance: random.Random) -> dict[str, list[Pair]]:
    """Words that are in about as many messages as the name says; the rarest there are."""
    with _opened(index) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, words, col)")
        rows = connection.execute("SELECT term, col, doc FROM temp.vocabulary WHERE col IN ('body', 'subject')")
        found = [(word, column, number / mails) for word, column, number in rows if _is_plain(word)]
    texts = sorted(((share, word) for word, column, share in found if column == "body"))
    shares = {RARE: texts[:count], ONE_PERCENT: _within(texts, 0.008, 0.013), HALF: _within(texts, 0.25, 0.75)}
    words = {name: [word for _, word in chosen] for name, chosen in shares.items()}
    words[SUBJECT] = [word for word, column, share in found if column == "subject" and 0.005 < share < 0.3]
    for each in words.values():
        chance.shuffle(each)
    searches = {name: [_both("search_emails", query=word) for word in each[:count]] for name, each in words.items()}
    searches[SUBJECT] = [
        (_both("search_emails", query=f"subject:{word}")[0], _both("search_emails", query=f"subject : {word}")[1])
        for word in words[SUBJECT][:count]
    ]
    return {name: searches[name] for name in (SUBJECT, RARE, ONE_PERCENT, HALF)}


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and len(word) > 2 and word not in KEYWORDS


def _within(texts: Sequence[tuple[float, str]], least: float, most: float) -> list[tuple[float, str]]:
    return [(share, word) for share, word in texts if least < share < most]


def _some(ours: StdioServer, inbox: int, count: int, chance: random.Random) -> list[dict[str, Any]]:
    """Rows of messages from all over the newest part of the inbox."""
    pages = [chance.randrange(min(inbox, 20_000)) for _ in range(count)]
    return [_rows(ours, "list_emails", offset=offset)[0] for offset in pages]


def _replies(ours: StdioServer, mails: int, count: int) -> list[dict[str, Any]]:
    """Of as many conversations."""
    by_thread: dict[str, dict[str, Any]] = {}
    for offset in range(mails // 8, mails, 100):
        by_thread |= {row["thread_id"]: row for row in _rows(ours, "search_emails", query="subject:re", offset=offset)}
        if len(by_thread) >= count:
            break
    return list(by_thread.values())[:count]


def _rows(ours: StdioServer, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    limit = 100 if tool == "search_emails" else 1
    rows: list[dict[str, Any]] = ours.call(tool, {"limit": limit, **arguments})[1]["structuredContent"]["results"]
    return rows


def _of_mails(state: Path, tool: str, rows: Sequence[dict[str, Any]]) -> list[Pair]:
    with _opened(state) as connection:
        refs = dict(connection.execute("SELECT handle, ref FROM handles WHERE kind = 'e'"))
    name = "thread_id" if tool == "get_thread" else "email_id"
    return [((tool, {name: row[name]}), (tool, {"email_id": refs[row["email_id"]]})) for row in rows]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection
