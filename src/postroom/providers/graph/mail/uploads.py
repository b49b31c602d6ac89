"""A large file of a draft: in pieces, in order, to an address of its own (an upload session)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroom.model.errors import NotFound, ProviderError, ProviderUnavailable
from postroom.model.message import Attachment
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, inner, text
from postroom.providers.http.answer import Answer
from postroom.providers.http.unclear import UnclearWrite

_PIECE = 12 * 320 * 1024  # bytes; under 4 MB, and a multiple of 320 KB as Microsoft advises
_TRIES = 5  # without getting any further
_SESSIONS = 3
_NOT_EXPECTED = 416
_CREATED = 201


@dataclass(frozen=True, slots=True)
class File:
    described: Attachment
    content: bytes


class Upload:
    """`before` is how many attachments the draft has without this one."""

    def __init__(self, client: Client, draft_ref: str, file: File, before: int) -> None:
        self._client = client
        self._draft_ref = draft_ref
        self._file = file
        self._before = before
        self._total = len(file.content)

    async def run(self) -> None:
        """A session that has ended is replaced by another one, from the beginning."""
        for _ in range(_SESSIONS):
            if await self._sent(await self._begun()):
                return
        raise ProviderUnavailable("Microsoft ends uploads before they are complete. Try again later.")

    async def _begun(self) -> str:
        described = self._file.described
        item = {"name": described.filename, "contentType": described.mime_type, "size": self._total}
        session = await self._client.write(
            "POST",
            wire.message(self._draft_ref, "attachments", "createUploadSession"),
            {"AttachmentItem": {"attachmentType": "file", **item, **inline(described)}},
        )
        return text(session.get("uploadUrl"))

    async def _sent(self, url: str) -> bool:
        """Whether all of it is there; False when the upload session was over before."""
        start = tries = 0
        while start < self._total:
            reached, failure = await self._step(url, start)
            if reached is None:
                return False
            tries = tries + 1 if failure or reached <= start else 0
            if tries >= _TRIES:
                raise failure or _lost()
            start = reached
        return True

    async def _step(self, url: str, start: int) -> tuple[int | None, ProviderError | None]:
        """From where on the rest is wanted, None when the session has ended; and what went wrong, if anything."""
        piece = self._file.content[start : start + _PIECE]
        end = start + len(piece)
        try:
            return self._reached(await self._put(url, piece, start), end), None
        except NotFound:
            return None, None
        except ProviderError as error:
            if not _is_passing(error):
                raise
            return await self._continued(url, end), error

    async def _put(self, url: str, piece: bytes, start: int) -> Answer:
        given = f"bytes {start}-{start + len(piece) - 1}/{self._total}"
        return await self._client.upload(url, piece, given=given)

    def _reached(self, answer: Answer, end: int) -> int:
        """Where the service wants the next piece from; it may have taken less than it was given."""
        if answer.status == _CREATED:
            if end < self._total:
                raise ProviderError("Microsoft completed an upload before its end. Try again later.")
            return self._total
        ranges = inner(answer.parsed()).get("nextExpectedRanges")
        return self._wanted(ranges, end) if ranges else end

    async def _continued(self, url: str, end: int) -> int | None:
        """After a cut, or a piece that was not expected. The address of a complete upload no longer exists, just as
        that of an expired one: which it was shows in the draft."""
        try:
            state = await self._client.upload_state(url)
        except NotFound:
            return self._total if end == self._total and await self._is_attached() else None
        return self._wanted(state.get("nextExpectedRanges"), end)

    def _wanted(self, ranges: Any, end: int) -> int:
        first = wire.number(text(ranges[0]).partition("-")[0]) if isinstance(ranges, list) and ranges else None
        if first is None or first > end or first >= self._total:
            raise _lost()
        return first

    async def _is_attached(self) -> bool:
        path = wire.message(self._draft_ref, "attachments")
        pages = [page async for page in self._client.pages(path, {"$select": "id"})]
        return sum(map(len, pages)) > self._before


def inline(described: Attachment) -> JSON:
    return {"isInline": True, "contentId": described.content_id} if described.inline and described.content_id else {}


def _is_passing(error: ProviderError) -> bool:
    return isinstance(error, UnclearWrite | ProviderUnavailable) or error.details.get("status") == _NOT_EXPECTED


def _lost() -> ProviderError:
    return ProviderError("The mail service does not say how to continue an upload. Try again later.")
