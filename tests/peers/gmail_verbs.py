"""The commands of a client, each as Gmail would take or refuse it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from tests.peers import gmail_labels
from tests.peers.gmail_labels import read_name, written_name
from tests.peers.gmail_link import Ends, Link
from tests.peers.gmail_query import BadQuery
from tests.peers.gmail_search import Translation, has_eight_bit
from tests.peers.imap_wire import (
    Atom,
    Binary,
    Cursor,
    Literal,
    Malformed,
    String,
    Value,
    read_command,
    read_response,
    written,
)

APPEND_LIMIT = 35_651_584
CAPABILITIES = (
    "IMAP4rev1 UNSELECT IDLE NAMESPACE ID CHILDREN X-GM-EXT-1 UIDPLUS ENABLE MOVE CONDSTORE ESEARCH UTF8=ACCEPT "
    f"LIST-EXTENDED LIST-STATUS LITERAL- SPECIAL-USE APPENDLIMIT={APPEND_LIMIT}"
)
BEFORE_LOGIN = (
    "IMAP4rev1 UNSELECT IDLE NAMESPACE ID CHILDREN X-GM-EXT-1 SASL-IR AUTH=XOAUTH2 AUTH=PLAIN AUTH=OAUTHBEARER"
)

_STORES_LABELS = re.compile(rb"([+-])X-GM-LABELS(\.SILENT)?\Z", re.IGNORECASE)
_UNPARSED = "Could not parse command"

Verb = Callable[[bytes, bytes, list[Value]], Awaitable[None]]


class Connection(Link):
    """`heard` gets every command after login, `queries` every X-GM-RAW that was understood."""

    def __init__(self, heard: list[bytes], queries: list[str], client: Ends, server: Ends) -> None:
        super().__init__(client, server)
        self._heard, self._queries = heard, queries
        self._is_known = False
        self._verbs: dict[bytes, Verb] = {
            b"CAPABILITY": self._capability,
            b"LOGIN": self._log_in,
            b"AUTHENTICATE": self._authenticate,
            b"ENABLE": self._enable,
            b"IDLE": self._idle,
            b"SELECT": self._open,
            b"EXAMINE": self._open,
            b"APPEND": self._append,
            b"SEARCH": self._search,
            b"UID SEARCH": self._search,
            b"FETCH": self._fetch,
            b"UID FETCH": self._fetch,
            b"STORE": self._store,
            b"UID STORE": self._store,
        }
        plain = b"NOOP LOGOUT NAMESPACE CHECK CLOSE UNSELECT EXPUNGE ID".split()
        self._verbs.update(dict.fromkeys([*plain, b"UID EXPUNGE"], self._relay))
        named = b"CREATE DELETE RENAME SUBSCRIBE UNSUBSCRIBE STATUS LIST LSUB".split()
        self._verbs.update(dict.fromkeys(named, self._on_folders))
        moving = (b"COPY", b"MOVE", b"UID COPY", b"UID MOVE")
        self._verbs.update(dict.fromkeys(moving, self._to_folder))

    async def serve(self) -> None:
        await read_response(self._server[0])
        self._say(b"* OK Gimap ready for requests from 127.0.0.1")
        while True:
            raw, complaint = await read_command(*self._client, APPEND_LIMIT)
            if not raw:
                return
            if complaint:
                self._say(raw.split(b" ")[0] + b" " + complaint.encode())
            else:
                await self._obey(raw)

    async def _obey(self, raw: bytes) -> None:
        cursor = Cursor(raw, utf8=self._utf8)
        tag, name = cursor.word(), cursor.word().upper()
        if name == b"UID":
            name = b"UID " + cursor.word().upper()
        if name not in (b"LOGIN", b"AUTHENTICATE"):
            self._heard.append(raw)
        try:
            await self._verbs.get(name, self._refuse)(tag, name, cursor.values())
        except Malformed as error:
            self._say(tag + b" BAD " + str(error).encode())
        except (IndexError, ValueError):  # an argument is missing
            self._say(tag + b" BAD " + _UNPARSED.encode())
        except BadQuery:
            self._say(tag + b" NO [CANNOT] The query could not be read (Failure)")

    async def _refuse(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._say(tag + b" BAD Unknown command " + name)

    # Before and after login

    async def _capability(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._say(b"* CAPABILITY " + (CAPABILITIES if self._is_known else BEFORE_LOGIN).encode())
        self._say(tag + b" OK Success")

    async def _log_in(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._send(tag, name, values)
        async for response in self._responses(tag):
            self._welcome(tag, response)

    async def _authenticate(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._send(tag, name, values)
        async for response in self._responses(tag):
            if response.startswith(b"+"):
                self._client[1].write(response)
                self._server[1].write(await self._client[0].readline())
            self._welcome(tag, response)

    def _welcome(self, tag: bytes, response: bytes) -> None:
        if response.startswith(tag + b" OK"):
            self._is_known = True
            self._say(b"* CAPABILITY " + CAPABILITIES.encode())
            self._say(tag + b" OK authenticated (Success)")
        elif response.startswith(tag):
            self._say(tag + b" NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)")

    async def _enable(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        """Only before a folder is open (RFC 5161)."""
        if self._folder:
            raise Malformed("ENABLE not allowed now.")
        wanted = [value for value in values if value in (b"UTF8=ACCEPT", b"CONDSTORE")]
        self._utf8 |= b"UTF8=ACCEPT" in wanted
        self._say(b"* ENABLED " + written(wanted))
        self._say(tag + b" OK Success")

    async def _idle(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._send(tag, name, values)
        end = asyncio.create_task(self._pass_on_the_end())
        try:
            async for response in self._responses(tag):
                self._client[1].write(self._shown(response))
        finally:
            end.cancel()

    async def _pass_on_the_end(self) -> None:
        """DONE, or a client that hangs up."""
        line = await self._client[0].readline()
        self._server[1].write(line)
        if not line:
            self._server[1].close()

    # Folders

    def _folder_named(self, value: Value) -> String:
        return written_name(read_name(value, utf8=self._utf8), utf8=False)

    async def _on_folders(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        options = values.index(Atom(b"RETURN")) if Atom(b"RETURN") in values else len(values)
        named = [value if isinstance(value, list) else self._folder_named(value) for value in values[:options]]
        await self._relay(tag, name, [*named, *values[options:]])

    async def _to_folder(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        await self._relay(tag, name, [*values[:-1], self._folder_named(values[-1])])

    async def _open(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._folder, self._mails = read_name(values[0], utf8=self._utf8), {}
        await self._relay(tag, name, [self._folder_named(values[0]), *values[1:]])

    async def _append(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        """The mail is a literal, or ``UTF8 (~{n}...)`` once UTF8=ACCEPT is enabled (RFC 6855)."""
        *rest, last = values
        if isinstance(last, list) and rest[-1:] == [Atom(b"UTF8")] and self._utf8:
            rest.pop()
            (last,) = last
            if not isinstance(last, Binary):
                raise Malformed(_UNPARSED)
        if not isinstance(last, Literal) or not rest:
            raise Malformed(_UNPARSED)
        await self._relay(tag, name, [self._folder_named(rest[0]), *rest[1:], Literal(last)])

    # Mails

    async def _search(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        keys, options = list(values), list[Value]()
        if keys[:1] == [Atom(b"RETURN")]:
            options, keys = keys[:2], keys[2:]
        if keys[:1] == [Atom(b"CHARSET")]:
            if self._utf8 or keys[1] not in (b"UTF-8", b"US-ASCII"):
                raise Malformed(_UNPARSED)
            keys = keys[2:]
        elif has_eight_bit(keys) and not self._utf8:
            raise Malformed(_UNPARSED)
        keys = await Translation(keys, self._found, self._queries, utf8=self._utf8).result()
        charset: list[Value] = [Atom(b"CHARSET"), Atom(b"UTF-8")] if has_eight_bit(keys) else []
        await self._relay(tag, name, [*options, *charset, *keys])

    async def _fetch(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        items = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:2]
        asked = {bytes(item).upper() for item in items if isinstance(item, Atom)}.intersection(gmail_labels.ITEMS)
        if asked.intersection(gmail_labels.IDS):
            await self._read_mails()
        if asked:
            others = [item for item in items if isinstance(item, list) or item.upper() not in asked]
            added = [Atom(item) for item in (b"UID", b"FLAGS") if Atom(item) not in others]
            values = [values[0], [*others, *added], *values[2:]]
        self._asked = asked
        try:
            await self._relay(tag, name, values)
        finally:
            self._asked = set()

    async def _store(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        item = values[-2] if len(values) > 2 else Atom(b"")
        change = _STORES_LABELS.match(item) if isinstance(item, Atom) else None
        if change is None:
            return await self._relay(tag, name, values)
        written_labels = values[-1] if isinstance(values[-1], list) else values[-1:]
        labels = [read_name(label, utf8=self._utf8) for label in written_labels]
        keywords: list[Value] = [gmail_labels.keyword_of(label) for label in labels]
        for label in labels:
            if change[1] == b"+" and not label.startswith("\\"):
                await self._ask(b"CREATE", written_name(label, utf8=False))
        self._asked = {b"X-GM-LABELS"}
        try:
            flags = Atom(change[1] + b"FLAGS" + (change[2] or b""))
            return await self._relay(tag, name, [*values[:-2], flags, keywords])
        finally:
            self._asked = set()
