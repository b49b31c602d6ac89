"""One client's way to the Dovecot behind: what is passed on, what is asked on our own account, how answers look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from tests.peers import gmail_labels
from tests.peers.gmail_labels import read_name, without_labels, written_name
from tests.peers.gmail_mail import Mail, read_mail
from tests.peers.gmail_query import Test
from tests.peers.imap_wire import Atom, Cursor, Value, read_response, written

# Dovecot lists no folder that is only a parent.
_PARENT = b'* LIST (\\HasChildren \\Noselect) "/" "[Gmail]"\r\n'

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Link:
    def __init__(self, client: Ends, server: Ends) -> None:
        self._client, self._server = client, server
        self._utf8 = False  # whether the client has enabled UTF8=ACCEPT
        self._folder = ""  # the open one
        self._mails: dict[int, Mail] = {}  # of the open folder, each read once
        self._asked: set[bytes] = set()  # Gmail's own items in the FETCH under way

    def _say(self, line: bytes) -> None:
        self._client[1].write(line + b"\r\n")

    def _send(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        rest = b" " + written(values, unasked=True) if values else b""
        self._server[1].write(tag + b" " + name + rest + b"\r\n")

    async def _responses(self, tag: bytes) -> AsyncIterator[bytes]:
        """What Dovecot says, up to and including the tagged line."""
        while True:
            response = await read_response(self._server[0])
            if not response:
                raise ConnectionError
            yield response
            if response.startswith(tag + b" "):
                return

    async def _relay(self, tag: bytes, name: bytes, values: list[Value]) -> None:
        self._send(tag, name, values)
        async for response in self._responses(tag):
            self._client[1].write(self._shown(response))

    async def _ask(self, name: bytes, *values: Value) -> list[list[Value]]:
        """A command of our own: the items of each FETCH answer. All other news are the client's."""
        self._send(b"gimap", name, list(values))
        items: list[list[Value]] = []
        async for response in self._responses(b"gimap"):
            cursor = Cursor(response, is_response=True)
            star, _, kind = cursor.word(), cursor.word(), cursor.word()
            if star != b"*":
                continue
            if kind.upper() == b"FETCH" and name != b"NOOP":
                items += [value for value in cursor.values() if isinstance(value, list)]
            else:
                self._client[1].write(self._shown(response))
        return items

    def _shown(self, response: bytes) -> bytes:
        """A response as Gmail would have written it."""
        cursor = Cursor(response, is_response=True)
        star, kind = cursor.word(), cursor.word().upper()
        if star != b"*":
            return response
        if kind in (b"LIST", b"LSUB", b"STATUS"):
            values = cursor.values()
            at = 0 if kind == b"STATUS" else 2
            folder = read_name(values[at], utf8=False)
            values[at] = written_name(folder, utf8=self._utf8)
            parent = _PARENT if at and folder == "[Gmail]/All Mail" else b""
            return parent + b"* " + kind + b" " + written(values, utf8=self._utf8) + b"\r\n"
        if kind.isdigit() and cursor.word().upper() == b"FETCH":
            (items,) = cursor.values()
            assert isinstance(items, list)
            answer = gmail_labels.fetched(items, self._asked, self._mails, utf8=self._utf8)
            return b"* " + kind + b" FETCH " + written([answer], utf8=self._utf8) + b"\r\n"
        return without_labels(response) if b"FLAGS" in response else response

    async def _found(self, test: Test) -> list[Value]:
        uids = [b"%d" % uid for uid, mail in (await self._read_mails()).items() if test(mail)]
        return [Atom(b"UID"), Atom(b",".join(uids))] if uids else [Atom(b"NOT"), Atom(b"ALL")]

    async def _read_mails(self) -> dict[int, Mail]:
        """The mails of the open folder with the marks they have now."""
        await self._ask(b"NOOP")
        there = {
            int(row[b"UID"]): row[b"FLAGS"]
            for row in map(_named, await self._ask(b"UID FETCH", Atom(b"1:*"), [Atom(b"UID"), Atom(b"FLAGS")]))
        }
        if missing := [b"%d" % uid for uid in there if uid not in self._mails]:
            items: list[Value] = [Atom(b"UID"), Atom(b"INTERNALDATE"), Atom(b"BODY.PEEK[]")]
            for row in map(_named, await self._ask(b"UID FETCH", Atom(b",".join(missing)), items)):
                arrived = datetime.strptime(row[b"INTERNALDATE"].decode().strip(), "%d-%b-%Y %H:%M:%S %z")
                self._mails[int(row[b"UID"])] = read_mail(row[b"BODY[]"], arrived)
        self._mails = {uid: self._mails[uid].marked(*_marks(flags), self._folder) for uid, flags in there.items()}
        return self._mails


def _named(items: list[Value]) -> dict[bytes, Any]:
    return {bytes(name): value for name, value in zip(items[::2], items[1::2], strict=True) if isinstance(name, Atom)}


def _marks(flags: list[Value]) -> tuple[frozenset[str], frozenset[str]]:
    plain = frozenset(flag.decode().lower() for flag in flags if isinstance(flag, Atom))
    return plain, frozenset(gmail_labels.labels_among(flags))
