"""What changed since a cursor (Email/changes), and that something changes, as it happens (EventSource)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import anyio
from anyio import sleep

from postroom.model.changes import ChangePage
from postroom.model.errors import AuthRequired, CursorExpired, PostroomError, ProviderError, ProviderUnavailable
from postroom.providers.jmap.client import JmapClient

_MARK = "jmap@"  # before the account's id and the server's own state: a cursor of another kind is never shown to it
_WITHOUT_ACCOUNT = "jmap:"  # as they were written before
_TYPES = "Email,Mailbox,EmailDelivery"
_PING = 60  # seconds between signs of life of the server
_PROBED = 15.0  # seconds to begin an event stream
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_HELD = 20.0  # a connection that lasted this long is replaced at once; after a shorter one the wait grows


async def changed_since(client: JmapClient, cursor: str, *, limit: int) -> ChangePage:
    mark = f"{_MARK}{quote((await client.session()).account_id, safe='')}:"
    if not cursor:
        reply = (await client.read(("Email/get", {"ids": [], "properties": ["id"]})))[0]
        return ChangePage((), (), mark + _state(reply, "state"))
    state = cursor.removeprefix(mark).removeprefix(_WITHOUT_ACCOUNT)
    if state == cursor or not state.isprintable():  # another account's state may be a state of this one by chance
        raise _expired()
    reply = await _told(client, {"sinceState": state, "maxChanges": limit})
    if reply.get("hasMoreChanges") is True:
        # Emails in several mailboxes may have changed as one, and Cyrus 3.6 leaves out those beyond the limit.
        reply = await _told(client, {"sinceState": state})
    # One that is named as removed as well may have come back: whoever asks for it finds out.
    changed = dict.fromkeys((*_ids(reply, "created"), *_ids(reply, "updated")))
    removed = tuple(ref for ref in dict.fromkeys(_ids(reply, "destroyed")) if ref not in changed)
    has_more = reply.get("hasMoreChanges") is True
    return ChangePage(tuple(changed), removed, mark + _state(reply, "newState"), has_more=has_more)


async def _told(client: JmapClient, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return (await client.read(("Email/changes", arguments)))[0]
    except PostroomError as error:
        # Cyrus 3.6 calls a state that it never issued an invalid argument.
        if isinstance(error, CursorExpired) or error.details.get("type") == "invalidArguments":
            raise _expired() from None
        raise


async def has_events(client: JmapClient) -> bool:
    """Cyrus 3.6 names a URL for events and answers it with nothing."""
    with suppress(PostroomError), anyio.move_on_after(_PROBED):
        async with client.events(_TYPES, ping=_PING):
            return True
    return False


async def watch(client: JmapClient, name: str) -> AsyncGenerator[str, None]:
    """Yields `name` when it begins to listen, on every change, and after every gap. Never gives up."""
    pause = 0.0
    while True:
        began = anyio.current_time()
        try:
            account_id = (await client.session()).account_id
            async with client.events(_TYPES, ping=_PING) as lines:
                yield name
                async for line in lines:
                    if _concerns(line, account_id):
                        yield name
        except ProviderUnavailable:
            pass
        except AuthRequired:
            await client.read(("Email/get", {"ids": []}))  # renews the token, or says what the user has to do
        held = anyio.current_time() - began >= _HELD
        pause = 0.0 if held else min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        await sleep(pause)


def _concerns(line: str, account_id: str) -> bool:
    """A StateChange of this account. Pings are events too, and name no account."""
    field, _, data = line.partition(":")
    if field != "data":
        return False
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return False
    changed = event.get("changed") if isinstance(event, dict) else None
    return isinstance(changed, dict) and bool(changed.get(account_id))


def _state(reply: dict[str, Any], name: str) -> str:
    state = reply.get(name)
    if not isinstance(state, str) or not state:
        raise ProviderError("The mail server did not say which state its messages are in.")
    return state


def _ids(reply: dict[str, Any], name: str) -> list[str]:
    found = reply.get(name)
    return [ref for ref in found if isinstance(ref, str)] if isinstance(found, list) else []


def _expired() -> CursorExpired:
    return CursorExpired("The mail server does not know what changed since then. Read everything again.")
