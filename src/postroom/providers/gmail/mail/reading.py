"""Envelopes, whole messages, single attachments, threads."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import anyio
import anyio.to_thread

from postroom.model.errors import NotFound, PermissionDenied, PostroomError, ProviderError, ProviderUnavailable
from postroom.model.message import Envelope, Message
from postroom.providers.gmail.mail.convert import Row, labelled, read_rows
from postroom.providers.gmail.mail.known import Known
from postroom.providers.gmail.mail.labels import Labels
from postroom.providers.gmail.mail.rebuild import attachment_id_of, data_of, headers_of, numbered
from postroom.providers.gmail.session.client import Client, is_gone
from postroom.providers.gmail.session.wire import (
    JSON,
    PROVIDER,
    UNITS,
    Get,
    checked_id,
    gone,
    message,
    message_path,
    object_of,
    objects_of,
    text_of,
    texts_of,
    thread,
)

# Texts are part of a listing: Gmail's own snippet also shows what a message hides from its readers.
_KEPT = 5.0  # seconds
ROW = "id,threadId,labelIds,sizeEstimate,internalDate,payload"
_MOST_FAILED = 5  # messages of one request that Gmail fails over; where there are more, it fails altogether


@dataclass
class Reader:
    """Whoever reads a thread opens its messages next, and a mirror those of a page; they came with it. So the last that
    came together are kept for a moment, unless something is changed in between."""

    client: Client
    labels: Labels
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.known = Known(self.client)
        self._threads = anyio.CapacityLimiter(4)
        self._together: dict[str, JSON] = {}
        self._kept_until = 0.0

    def forget(self) -> None:
        self._together = {}

    def _keep(self, messages: Sequence[JSON]) -> None:
        self._together = {text_of(one.get("id")): one for one in messages}
        self._kept_until = self.clock() + _KEPT

    async def rows(self, refs: Sequence[str]) -> list[Row | None]:
        """In order; None where the message is gone. One over which Gmail fails is shown without its text, or with its
        labels and its date alone: it is no reason to show none of the others."""
        before = self.known.cursor
        usable = [ref for ref in dict.fromkeys(refs) if _is_id(ref)]
        whole, failed = await self._shown(usable, "full")
        self._keep(whole)
        rows = await self.read(whole)
        self.known.keep(((row.envelope, row.labels) for row in rows), read_at=before)
        if failed:
            headed, failed = await self._shown(failed, "metadata")
            rows += await self.read([*headed, *(one for one in await self.messages(failed, form="minimal") if one)])
        by_ref = {row.envelope.ref: row for row in rows}
        return [by_ref.get(ref) for ref in refs]

    async def _shown(self, refs: Sequence[str], form: str) -> tuple[list[JSON], list[str]]:
        """Those that are there, and the ids of those over which Gmail fails."""
        answers = await self.client.get_all([message(ref, form=form, fields=ROW) for ref in refs]) if refs else []
        there = [one for one in answers if not isinstance(one, PostroomError)]
        errors = {ref: one for ref, one in zip(refs, answers, strict=True) if _is_failure(one)}
        for error in errors.values():
            if not _may_be_of_one(error) or len(errors) > _MOST_FAILED:
                raise error
        return there, list(errors)

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        """In order; None where the message is gone. What was read before is only brought up to date."""
        known = await self.known.current(refs)
        missing = [ref for ref in dict.fromkeys(refs) if ref not in known]
        rows = {row.envelope.ref: row for row in await self.rows(missing) if row is not None}
        labels = await self.labels.recent({label for entry in known.values() for label in entry.labels})
        found = {ref: labelled(entry.envelope, entry.labels, labels) for ref, entry in known.items()}
        return [found.get(ref) or (rows[ref].envelope if ref in rows else None) for ref in refs]

    async def messages(self, refs: Sequence[str], *, form: str = "full", fields: str = "") -> list[JSON | None]:
        usable = [ref for ref in dict.fromkeys(refs) if _is_id(ref)]
        calls = [message(ref, form=form, fields=fields) for ref in usable]
        found = dict(zip(usable, await self.client.get_present(calls), strict=True)) if calls else {}
        return [found.get(ref) for ref in refs]

    async def read(self, messages: Sequence[JSON]) -> list[Row]:
        if not messages:
            return []
        ids = {label for one in messages for label in texts_of(one.get("labelIds"))}
        known = await self.labels.recent(ids)
        return await anyio.to_thread.run_sync(read_rows, messages, known, limiter=self._threads)

    async def fetch(self, ref: str) -> Message:
        found = await self._completed(await self.one(message(ref)), ref)
        (row,) = await self.read([found])
        return row.message

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        kept = self._together if self.clock() < self._kept_until else {}
        missing = [ref for ref in refs if ref not in kept]
        read = {**kept, **dict(zip(missing, await self.messages(missing), strict=True))}
        found = [(one := read[ref]) and await self._completed(one, ref) for ref in refs]
        rows = iter(await self.read([one for one in found if one is not None]))
        return [None if one is None else next(rows).message for one in found]

    async def fetch_raw(self, ref: str) -> bytes:
        return decoded(text_of((await self.one(message(ref, form="raw"))).get("raw")))

    async def fetch_part(self, ref: str, number: str) -> bytes:
        """By its place in the message: Gmail's ids of attachments expire, so each time a new one is asked for."""
        payload = object_of((await self.one(message(ref, fields="payload"))).get("payload"))
        part = dict(numbered(payload)).get(number)
        if part is None:
            raise NotFound(
                "This email has no such attachment. Call list_attachments to see the ids of its attachments.",
                reason="attachment_unknown",
                details={"attachment_id": number[:50]},
            )
        if not attachment_id_of(part):
            return decoded(data_of(part))
        return decoded(await self._attachment(ref, attachment_id_of(part)))

    async def thread(self, thread_ref: str) -> list[Row]:
        before = self.known.cursor
        try:
            found = await self._in_thread(thread_ref, "full")
        except PostroomError as error:
            if not _may_be_of_one(error):
                raise
            there = await self._in_thread(thread_ref, "minimal")
            return [row for row in await self.rows([text_of(one.get("id")) for one in there]) if row is not None]
        self._keep(found)
        rows = await self.read(found)
        self.known.keep(((row.envelope, row.labels) for row in rows), read_at=before)
        return rows

    async def _in_thread(self, thread_ref: str, form: str) -> list[JSON]:
        found = objects_of((await self.one(thread(thread_ref, form=form), "thread")).get("messages"))
        if not found:
            raise gone("thread")
        return found

    async def one(self, call: Get, what: str = "message") -> JSON:
        try:
            return await self.client.get(call)
        except PostroomError as error:
            raise gone(what) if is_gone(error) else error from None

    async def _completed(self, found: JSON, ref: str) -> JSON:
        """A very long text is not in the message itself; it is fetched like an attachment."""
        for _, part in numbered(object_of(found.get("payload"))):
            is_text = text_of(part.get("mimeType")) in ("text/plain", "text/html") and not text_of(part.get("filename"))
            if is_text and attachment_id_of(part) and not data_of(part) and not _is_file(part):
                part["body"] = {
                    **object_of(part.get("body")),
                    "data": await self._attachment(ref, attachment_id_of(part)),
                }
        return found

    async def _attachment(self, ref: str, attachment_id: str) -> str:
        path = f"{message_path(ref)}/attachments/{_token(attachment_id)}"
        return text_of((await self.one(Get(path, UNITS["attachment"]))).get("data"))


def _is_failure(answer: JSON | PostroomError) -> TypeGuard[PostroomError]:
    return isinstance(answer, PostroomError) and not is_gone(answer)


def _may_be_of_one(error: PostroomError) -> bool:
    """Gmail fails, or refuses: over one message perhaps, and gives out the others."""
    return isinstance(error, ProviderUnavailable | PermissionDenied)


def _is_id(ref: str) -> bool:
    try:
        checked_id(ref, "message")
    except NotFound:
        return False
    return True


def _is_file(part: JSON) -> bool:
    found = next((value for name, value in headers_of(part) if name.lower() == "content-disposition"), "")
    return found.strip().lower().startswith("attachment")


def _token(attachment_id: str) -> str:
    from urllib.parse import quote

    return quote(attachment_id, safe="")


def decoded(data: str) -> bytes:
    """base64 in its URL form, with or without padding."""
    try:
        return base64.b64decode(data.rstrip("=") + "=" * (-len(data.rstrip("=")) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ProviderError(f"{PROVIDER} returned content that cannot be decoded. Try again later.") from None
