"""What changed since a cursor: a delta query per folder, whose tokens together are the cursor.

A moved message is removed from one folder and new in another, under the same ref; whether it still exists is asked
before it is reported as removed, and again in the rounds after that: nothing would name it if that answer was wrong.
Where it is now in a folder without a token, nothing would tell that it goes from there: it is asked for again when
every folder has one.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from postroom.model.changes import ChangePage
from postroom.model.errors import CursorExpired, NotFound, PermissionDenied, PostroomError, ProviderUnavailable
from postroom.providers.graph.mail.folders import Directory
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.batch import Step
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, objects, text

_FIELDS = "isRead,flag,categories,parentFolderId"
_LARGEST_PAGE = 500
_BEGINNINGS = 3  # of one folder
_MOST_DOUBTED = 20  # of those told together: where more are gone, these stand for the others
_DOUBTED = 2  # rounds in which one that is gone is asked for once more
_LARGEST_CURSOR = 20_000_000  # characters: for 10,000 folders, with ids and tokens of 1,000 each
_TOKENS = frozenset({"$skiptoken", "$deltatoken"})


@dataclass
class _State:
    """`folders` has a token for each; of those in `unread` there is more to read. `left` was read and not yet told.
    `astray` were told, with the folders they were in, which had no token then; `hidden` are those of these folders that
    were not listed afterwards either. `doubted` are gone as the service says, with how many rounds ask again; of these,
    `samples` stand for many."""

    folders: dict[str, dict[str, str]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    astray: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    doubted: dict[str, int] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)
    seen: set[tuple[object, ...]] = field(default_factory=set)  # tokens of this call, each with its folder

    def written(self) -> str:
        values = [self.folders, self.unread, self.left, self.astray, self.hidden, self.doubted, self.samples]
        plain = json.dumps(values, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(zlib.compress(plain)).decode()

    def begin_round(self, folders: list[str]) -> None:
        self.folders = {ref: self.folders.get(ref, {}) for ref in folders}
        self.unread = folders
        self.hidden = sorted({*self.hidden, *self.astray.values()} - set(folders))
        self.left = list(self.doubted)

    def note_place(self, ref: str, folder: str) -> None:
        """Where a message is that is told now; empty where it is gone. One that stands for many that were told as gone
        is there: of these nobody knows."""
        if folder and ref in self.samples:
            raise _expired()
        self.astray.pop(ref, None)
        if folder:
            self.doubted.pop(ref, None)
        if folder and not self.folders.get(folder) and folder not in self.hidden:
            self.astray[ref] = folder

    def note_gone(self, refs: list[str]) -> None:
        new = [ref for ref in refs if ref not in self.doubted]
        for ref in set(refs).difference(new):
            self.doubted[ref] -= 1
        self.doubted = {ref: left for ref, left in self.doubted.items() if left > 0}
        chosen = new[:: -(-len(new) // _MOST_DOUBTED) or 1]
        self.doubted |= dict.fromkeys(chosen, _DOUBTED)
        self.samples = [ref for ref in self.samples if ref in self.doubted]
        self.samples += chosen if len(new) > len(chosen) else []

    def told_again(self) -> list[str]:
        """Those of which a token tells from now on that they go, or that are in hidden folders."""
        return [ref for ref, folder in self.astray.items() if folder in self.folders or folder in self.hidden]


class ChangeLog:
    def __init__(self, client: Client, directory: Directory) -> None:
        self._client = client
        self._directory = directory

    async def since(self, cursor: str, *, limit: int) -> ChangePage:
        if not cursor:
            return ChangePage((), (), await self._begun())
        state = _read(cursor)
        if not state.unread and not state.left:
            await self._new_round(state)
        told: dict[str, None] = dict.fromkeys(state.left)
        while state.unread and len(told) < limit:
            told |= dict.fromkeys(await self._told_of(state, state.unread[0], limit))
        if not state.unread:
            told |= dict.fromkeys(state.told_again())
        refs = list(told)
        refs, state.left = refs[:limit], refs[limit:]
        changed, removed = await self._sorted(state, refs)
        return ChangePage(changed, removed, state.written(), bool(state.unread or state.left))

    async def _begun(self) -> str:
        """Everything is read once, as far as its ids: Graph gives no token without that."""
        state = _State()
        await self._new_round(state)
        while state.unread:
            await self._begin(state, state.unread[0])
        return state.written()

    async def _begin(self, state: _State, folder: str) -> None:
        """To its end, from its beginning again where that is forgotten meanwhile; one that is gone is left out."""
        for _ in range(_BEGINNINGS):
            try:
                while folder in state.unread:
                    await self._more(state, folder, _LARGEST_PAGE)
            except NotFound:
                state.unread.remove(folder)
                del state.folders[folder]
            except CursorExpired:
                state.folders[folder] = {}
                state.seen.clear()
            if folder not in state.unread:
                return
        raise ProviderUnavailable(
            "The mail service's pages form a loop, or it forgets them before the last one. Try again later."
        )

    async def _told_of(self, state: _State, folder: str, limit: int) -> list[str]:
        try:
            return await self._more(state, folder, limit)
        except NotFound:  # the folder is gone, and with it what was in it: only reading everything shows that
            raise _expired() from None

    async def _new_round(self, state: _State) -> None:
        """Every folder there is now; a new one is read from its beginning. What was in a lost one is not known."""
        folders = [folder.ref for folder in await self._directory.listed()]
        if not set(state.folders) <= set(folders):
            raise _expired()
        state.begin_round(folders)

    async def _more(self, state: _State, folder: str, limit: int) -> list[str]:
        """One page of one folder; the token of the next page, or of the next time, is kept."""
        token = state.folders[folder]
        headers = {"Prefer": wire.prefer(f"odata.maxpagesize={max(1, min(limit, _LARGEST_PAGE))}")}
        path = wire.folder(folder, "messages", "delta")
        try:
            page = await self._client.page(path, token or {"$select": _FIELDS}, headers)
        except PostroomError as error:
            if token and error.details.get("status") in (400, 410):
                raise _expired() from error
            raise
        state.folders[folder] = new = _token(page)
        if (folder, *new.items()) in state.seen:
            raise _expired()  # its pages form a loop
        state.seen.add((folder, *new.items()))
        if "$deltatoken" in new:
            state.unread.remove(folder)
        return [text(one.get("id")) for one in objects(page.get("value")) if text(one.get("id"))]

    async def _sorted(self, state: _State, refs: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Those that are there, and those that are gone, which are asked for twice: nothing would name them again."""
        places: dict[str, str] = {}
        for _ in range(2):
            missing = [ref for ref in refs if ref not in places]
            steps = [Step("GET", wire.message(ref), {"$select": "id,parentFolderId"}) for ref in missing]
            found = dict(zip(missing, await self._client.together(steps), strict=True))
            places |= {ref: _place(one) for ref, one in found.items() if not isinstance(one, NotFound)}
        for ref in refs:
            state.note_place(ref, places.get(ref, ""))
        gone = [ref for ref in refs if ref not in places]
        state.note_gone(gone)
        return tuple(ref for ref in refs if ref in places), tuple(gone)


def _place(found: JSON | PostroomError) -> str:
    """Empty for one over which the service fails, or which it refuses: whoever asks for it finds out."""
    if isinstance(found, ProviderUnavailable | PermissionDenied):
        return ""
    if isinstance(found, PostroomError):
        raise found
    return text(found.get("parentFolderId"))


def _token(page: JSON) -> dict[str, str]:
    """Of the link only the token is kept: an address in a cursor could lead anywhere."""
    for key in (wire.NEXT, "@odata.deltaLink"):
        given = parse_qs(urlsplit(text(page.get(key))).query)
        for name, values in given.items():
            if name.lower() in _TOKENS:  # the documents spell them in two ways
                return {name.lower(): values[0]}
    raise CursorExpired("The mail service gave no mark to continue from. Read everything again.")


def _read(cursor: str) -> _State:
    try:
        packed = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        values: Any = json.loads(unpacker.decompress(packed, _LARGEST_CURSOR))
        folders, unread, left, *more = values
        nothing: list[Any] = [{}, [], {}, []]  # cursors of earlier versions have less
        astray, hidden, doubted, samples = more + nothing[len(more) :]
        tokens = {text(ref): _tokens(given) for ref, given in folders.items()}
        state = _State(tokens, list(unread), list(left), dict(astray), list(hidden), _counts(doubted), list(samples))
    except (ValueError, TypeError, AttributeError, binascii.Error, zlib.error, RecursionError):
        raise _expired() from None
    if not all(wire.is_ref(one) for one in (*state.folders, *state.left, *state.astray, *state.doubted)) or not set(
        state.unread
    ) <= set(state.folders):
        raise _expired()
    return state


def _counts(given: dict[str, int]) -> dict[str, int]:
    return {text(ref): int(left) for ref, left in given.items()}


def _tokens(given: dict[str, str]) -> dict[str, str]:
    if not set(given) <= _TOKENS:
        raise ValueError
    return {name: str(value) for name, value in given.items()}


def _expired() -> CursorExpired:
    return CursorExpired("The mail service no longer knows what changed since then. Read everything again.")
