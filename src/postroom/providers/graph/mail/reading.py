"""Envelopes, whole messages, single attachments.

A message of moderate size is read as MIME: both of its texts, its headers and its files are then what was sent. Of a
larger one, and of one that Exchange cannot convert to MIME (encrypted ones, for many apps), Graph's JSON is read, and
its files one by one when they are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from postroom.mime import guarded
from postroom.mime.quotes.folding import context_of
from postroom.mime.read.parse import Parsed, extract_part
from postroom.model.errors import NotFound, ProviderError, Unsupported
from postroom.model.message import Body, Envelope, Message
from postroom.providers.graph.mail.convert import (
    REFERENCE,
    attachments_of,
    body_of,
    envelope_of,
    headers_of,
    references_of,
)
from postroom.providers.graph.mail.folders import Directory
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.batch import Step
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.problems import is_unconvertible
from postroom.providers.graph.session.wire import JSON, text
from postroom.providers.http.concurrency import all_of

T = TypeVar("T")
PROVIDER = "graph"
LARGEST_MESSAGE = 200 * 1024 * 1024  # bytes
LISTED = {"$select": f"{wire.ROW},body", "$expand": wire.EXTRAS}
WITHOUT_TEXT = {"$select": wire.ROW, "$expand": wire.EXTRAS}
_WHOLE = 1024 * 1024  # bytes; up to here a message is read as MIME
_SMALL = 150 * 1024  # bytes; up to here its MIME is read in a batch with others, of 3 MB together
_SNIPPET = 98_304  # characters
_OPENED = {
    "$select": f"{wire.ROW},body,internetMessageHeaders",
    "$expand": f"{wire.EXTRAS},{wire.FILES}",
}
_PART_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,20}\Z")


class Reader:
    def __init__(self, client: Client, directory: Directory) -> None:
        self._client = client
        self._directory = directory
        self._threads = anyio.CapacityLimiter(4)

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        asked = [ref for ref in dict.fromkeys(refs) if wire.is_ref(ref)]
        steps = [Step("GET", wire.message(ref), LISTED) for ref in asked]
        found = await self._client.present(steps, instead=WITHOUT_TEXT)
        present = [one for one in found if one is not None]
        by_ref = {row.ref: row for row in await self.rows(present)}
        return [by_ref.get(ref) for ref in refs]

    async def rows(self, messages: Sequence[JSON]) -> list[Envelope]:
        """With the first words that a reader sees: Graph's own preview also has those that are hidden."""
        names = await self._directory.names({text(one.get("parentFolderId")) for one in messages})
        return await anyio.to_thread.run_sync(_rows, messages, names, limiter=self._threads)

    async def bare_rows(self, messages: Sequence[JSON]) -> list[Envelope]:
        """Without their first words."""
        names = await self._directory.names({text(one.get("parentFolderId")) for one in messages})
        return [envelope_of(one, names.__getitem__) for one in messages]

    async def fetch(self, ref: str) -> Message:
        return await self._opened(ref, await _or_gone(ref, lambda: self._client.get(wire.message(ref), _OPENED)))

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        """Their properties in batches, and their MIME where it is small; larger ones side by side, as many as the
        service takes at once."""
        asked = [ref for ref in dict.fromkeys(refs) if wire.is_ref(ref)]
        found = await self._client.present([Step("GET", wire.message(ref), _OPENED) for ref in asked])
        present = {ref: message for ref, message in zip(asked, found, strict=True) if message is not None}
        small = await self._small(present)
        opened = await all_of(
            [partial(self._opened_or_gone, ref, message, small.get(ref, b"")) for ref, message in present.items()]
        )
        by_ref = dict(zip(present, opened, strict=True))
        return [by_ref.get(ref) for ref in refs]

    async def _small(self, messages: Mapping[str, JSON]) -> dict[str, bytes]:
        """The MIME of those that fit into a batch together."""
        rows = await self.bare_rows(list(messages.values()))
        refs = [ref for ref, row in zip(messages, rows, strict=True) if 0 < row.size <= _SMALL]
        if len(refs) < 2:
            return {}
        found = await self._client.contents([wire.message(ref, "$value") for ref in refs])
        return dict(zip(refs, found, strict=True))

    async def _opened_or_gone(self, ref: str, message: JSON, raw: bytes) -> Message | None:
        try:
            return await self._opened(ref, message, raw)
        except NotFound:
            return None

    async def _opened(self, ref: str, message: JSON, raw: bytes = b"") -> Message:
        (row,) = await self.bare_rows([message])
        if row.size > _WHOLE:
            return await anyio.to_thread.run_sync(_from_json, message, row, limiter=self._threads)
        try:
            raw = raw or await _or_gone(ref, lambda: self._client.mime(wire.message(ref, "$value")))
        except ProviderError as error:
            if not is_unconvertible(error):
                raise
            return await anyio.to_thread.run_sync(_from_json, message, row, limiter=self._threads)
        return await anyio.to_thread.run_sync(_from_mime, message, row, raw, limiter=self._threads)

    async def fetch_raw(self, ref: str) -> bytes:
        return await _or_gone(ref, lambda: self._client.mime(wire.message(ref, "$value"), largest=LARGEST_MESSAGE))

    async def fetch_part(self, ref: str, part: str) -> bytes:
        """By its number in the message's MIME, or by its own id where the message was not read as MIME."""
        if _PART_NUMBER.match(part) or not wire.is_ref(part):
            raw = await self.fetch_raw(ref)
            return await anyio.to_thread.run_sync(extract_part, raw, part, limiter=self._threads)
        if not wire.is_ref(ref):
            raise gone()
        return await self._file(ref, part)

    async def _file(self, ref: str, part: str) -> bytes:
        path = wire.message(ref, "attachments", wire.quoted(part))
        try:
            described = await self._client.get(path, {"$select": "id,name"})
            if described.get(wire.TYPE) == REFERENCE:
                raise Unsupported(PROVIDER, "the content of an attachment that is a link to a file in the cloud")
            return await self._client.content(f"{path}/$value", largest=LARGEST_MESSAGE)
        except NotFound:
            raise NotFound(
                "This email has no such attachment. Call list_attachments to see the ids of its attachments.",
                reason="attachment_unknown",
                details={"attachment_id": part[:50]},
            ) from None


async def _or_gone(ref: str, ask: Callable[[], Awaitable[T]]) -> T:
    if not wire.is_ref(ref):
        raise gone()
    try:
        return await ask()
    except NotFound:
        raise gone() from None


def gone() -> NotFound:
    return NotFound("This email no longer exists. List or search again.", reason="email_gone")


def _rows(messages: Sequence[JSON], names: dict[str, str]) -> list[Envelope]:
    rows = [envelope_of(one, names.__getitem__) for one in messages]
    return [
        replace(row, snippet=guarded.snippet(_beginning(body_of(one)), context_of(row)))
        for row, one in zip(rows, messages, strict=True)
    ]


def _beginning(body: Body) -> Body:
    """Where the first visible words are, also after long style elements."""
    return Body(body.text[:_SNIPPET], body.html[:_SNIPPET])


def _from_json(message: JSON, row: Envelope) -> Message:
    body = body_of(message)
    shown = replace(row, snippet=guarded.snippet(body, context_of(row)))
    return Message(shown, body, attachments_of(message), headers_of(message))


def _from_mime(message: JSON, row: Envelope, raw: bytes) -> Message:
    mail = guarded.parse(raw)
    shown = replace(_completed(row, mail), snippet=guarded.snippet(mail.body, context_of(mail)))
    files = (*mail.attachments, *references_of(message))
    return Message(shown, mail.body, files, mail.headers, mail.defects)


def _completed(row: Envelope, mail: Parsed) -> Envelope:
    """Headers that Graph may not have kept as properties."""
    return replace(row, in_reply_to=row.in_reply_to or mail.in_reply_to, references=row.references or mail.references)
