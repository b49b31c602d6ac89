"""What changed since a point in Gmail's history, which is known for about a week."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from postroom.model.changes import ChangePage
from postroom.model.errors import CursorExpired, PostroomError
from postroom.providers.gmail.session.client import Client, is_gone
from postroom.providers.gmail.session.wire import JSON, UNITS, Get, object_of, objects_of, text_of
from postroom.providers.http.paging import pages

_CURSOR = re.compile(r"(\d{1,20})(?:\+(\d{1,6}))?\Z", re.ASCII)
_KINDS = ("messagesAdded", "labelsAdded", "labelsRemoved", "messagesDeleted")
_ASKED = ("messageAdded", "messageDeleted", "labelAdded", "labelRemoved")


@dataclass(frozen=True, slots=True)
class _Step:
    record: str
    ref: str
    is_removal: bool


async def changed_since(client: Client, cursor: str, *, limit: int) -> ChangePage:
    """A cursor is a history id and, where one record names more messages than fit, how many of them were told."""
    if not cursor:
        profile = await client.get(Get("profile", UNITS["profile"]))
        return ChangePage((), (), text_of(profile.get("historyId")))
    read = _CURSOR.match(cursor)
    if read is None:
        raise _expired()
    start, skipped = read[1], int(read[2] or 0)
    page = await _history(client, start, limit + skipped)
    steps = list(_steps(page))
    told, rest = steps[skipped : skipped + limit], steps[skipped + limit :]
    is_more = bool(rest) or bool(text_of(page.get("nextPageToken")))
    removed = {step.ref for step in told if step.is_removal}
    changed = dict.fromkeys(step.ref for step in told if step.ref not in removed)
    after = _after(start, steps, skipped + len(told)) if is_more else text_of(page.get("historyId")) or cursor
    if is_more and not told:  # records that name no message
        after = text_of(objects_of(page.get("history"))[-1].get("id"))
    return ChangePage(tuple(changed), tuple(removed), after, is_more)


async def _history(client: Client, start: str, most: int) -> JSON:
    """The first page that has something, or the last: Gmail was seen to give one without any record and with the token
    of another."""
    params = {"startHistoryId": start, "maxResults": min(most + 1, 500), "historyTypes": _ASKED}

    async def fetch(token: str) -> tuple[list[JSON], str]:
        asked = {**params, "pageToken": token} if token else params
        page = await client.get(Get("history", UNITS["history"], asked))
        return [page], "" if objects_of(page.get("history")) else text_of(page.get("nextPageToken"))

    found: JSON = {}
    try:
        async for (page,) in pages(fetch):
            found = page
    except PostroomError as error:
        raise _expired() if is_gone(error) else error from None
    return found


def _steps(page: JSON) -> Iterator[_Step]:
    """Each message of a record once, in the order of the history."""
    for record in objects_of(page.get("history")):
        named: dict[str, bool] = {}
        for kind in _KINDS:
            for entry in objects_of(record.get(kind)):
                if ref := text_of(object_of(entry.get("message")).get("id")):
                    named[ref] = kind == "messagesDeleted"
        for ref, is_removal in named.items():
            yield _Step(text_of(record.get("id")), ref, is_removal)


def _after(start: str, steps: list[_Step], told: int) -> str:
    """Behind the last record that was told whole."""
    if told == 0:
        return start
    following = steps[told].record if told < len(steps) else ""
    last = steps[told - 1].record
    if following != last:
        return last
    whole = [step.record for step in steps[:told] if step.record != last]
    behind = whole[-1] if whole else start
    return f"{behind}+{sum(step.record == last for step in steps[:told])}"


def _expired() -> CursorExpired:
    return CursorExpired("Gmail no longer knows what changed since then. Read everything again.")
