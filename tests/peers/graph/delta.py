"""Delta queries: all messages of a folder once, then what changed since. Tokens can be forgotten."""

from __future__ import annotations

import secrets
from typing import Any

from tests.peers.graph import listing
from tests.peers.graph.call import Call
from tests.peers.graph.errors import Refused, bad
from tests.peers.graph.mailbox import Seen, latest
from tests.peers.graph.stored import StoredMessage

_FORGOTTEN = "The sync state generation is not found; continue with a full synchronization."


class Tokens:
    """One token stands for one state: who asks again with nothing new gets the same."""

    def __init__(self) -> None:
        self._states: dict[str, Seen] = {}

    def given_for(self, state: Seen) -> str:
        for token, known in self._states.items():
            if known == state:
                return token
        token = secrets.token_urlsafe(24)
        self._states[token] = state
        return token

    def state(self, token: str, user: str, folder: str) -> Seen:
        known = self._states.get(token)
        if known is None or (known.user, known.folder) != (user, folder):
            raise Refused(410, _FORGOTTEN, "SyncStateNotFound")
        return known

    def forget(self) -> None:
        self._states.clear()


def delta(call: Call) -> dict[str, Any]:
    if "in_folder" not in call.path:
        raise bad("A delta query works on the messages of one folder.", "ErrorInvalidRequest")
    mailbox, folder = call.mailbox, call.mailbox.folder(call.path["in_folder"]).id
    if any(call.text(name) for name in ("$search", "$count", "$skip")):
        raise bad("This query parameter is not supported with change tracking.", "ErrorInvalidUrlQuery")
    token = call.text("$deltatoken") or call.text("$skiptoken")
    if token:
        seen = call.graph.delta_tokens.state(token, mailbox.address, folder)
    else:
        seen = Seen(mailbox.address, folder, len(mailbox.log), [(one, False) for one in mailbox.within(folder)])
    if call.text("$deltatoken"):
        news = latest(change for change in mailbox.log[seen.upto :] if change.folder == folder)
        seen = Seen(mailbox.address, folder, len(mailbox.log) if news else seen.upto, news)
    size = call.page_size or 10
    page, rest = seen.waiting[:size], seen.waiting[size:]
    value: dict[str, Any] = {"value": [_told(call, *one) for one in page]}
    name, kind = ("$skiptoken", "nextLink") if rest else ("$deltatoken", "deltaLink")
    following = call.graph.delta_tokens.given_for(Seen(mailbox.address, folder, seen.upto, rest))
    return value | {f"@odata.{kind}": f"{call.here}?{name}={following}"}


def _told(call: Call, stored: StoredMessage, is_removal: bool) -> dict[str, Any]:
    if not is_removal:
        return listing.shown_in(call, stored)
    given = stored.immutable_id if call.immutable else stored.entry_id
    return {"id": given, "@removed": {"reason": "deleted"}}


HANDLERS = {"messages.delta": delta}
