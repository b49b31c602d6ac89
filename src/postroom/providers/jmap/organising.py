"""Flags, labels and folders of messages: one Email/set for all, one result per message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from postroom.model.errors import NotFound, PostroomError
from postroom.model.folder import Role
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag
from postroom.providers.jmap.client import JmapClient, gone
from postroom.providers.jmap.convert import in_order, keywords_of, mailboxes_of
from postroom.providers.jmap.filters import ALL
from postroom.providers.jmap.folders import Directory
from postroom.providers.jmap.reading import Reader
from postroom.providers.jmap.wire import ANSWERED, DRAFT, FLAGGED, FORWARDED, SEEN, is_id, set_error
from postroom.providers.keywords import keyword_of, labels_of

Patch = Mapping[str, Any]

_CLAIMS: dict[Flag, tuple[str, bool | None]] = {
    "read": (SEEN, True),
    "unread": (SEEN, None),
    "starred": (FLAGGED, True),
    "unstarred": (FLAGGED, None),
    "answered": (ANSWERED, True),
    "forwarded": (FORWARDED, True),
    "draft": (DRAFT, True),
}
_LABELLED = 5_000  # JMAP has no list of keywords: those of the newest messages are taken


class Organiser:
    def __init__(self, client: JmapClient, directory: Directory, reader: Reader) -> None:
        self._client = client
        self._directory = directory
        self._reader = reader

    async def set_flags(self, refs: Sequence[str], claims: Sequence[Flag]) -> list[ItemResult]:
        patch = {f"keywords/{keyword}": value for keyword, value in (_CLAIMS[claim] for claim in claims)}
        return await self._changed(refs, lambda _: patch)

    async def label(self, refs: Sequence[str], label: str, *, wanted: bool) -> list[ItemResult]:
        keyword = keyword_of(label)
        if set("/~") & set(keyword):
            return await self._label_by_all_keywords(refs, keyword, wanted=wanted)
        patch = {f"keywords/{keyword}": True if wanted else None}
        return await self._changed(refs, lambda _: patch)

    async def _label_by_all_keywords(self, refs: Sequence[str], keyword: str, *, wanted: bool) -> list[ItemResult]:
        """In the path of a patch / and ~ are escaped (RFC 6901), which Cyrus 3.6 takes for a part of the keyword. So
        all keywords of the message are set; a flag that another program sets in the same moment is lost by that."""
        emails = await self._reader.emails(refs)

        def patch(ref: str) -> Patch | None:
            if ref not in emails:
                return None
            others = [name for name in keywords_of(emails[ref]) if name.casefold() != keyword.casefold()]
            return {"keywords": dict.fromkeys([*others, keyword] if wanted else others, True)}

        return await self._changed(refs, patch)

    async def labels(self) -> list[str]:
        newest = await self._reader.found(ALL, _LABELLED)
        emails = await self._reader.emails(newest, ["id", "keywords"])
        return list(labels_of({keyword for email in emails.values() for keyword in keywords_of(email)}))

    async def put_into(self, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        await self._directory.require(folder_refs)
        patch = {"mailboxIds": dict.fromkeys(folder_refs, True)}
        return await self._changed(refs, lambda _: patch)

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        await self._directory.require([folder_ref])
        emails = await self._reader.emails(refs)
        there = set().union(*map(mailboxes_of, emails.values()), {folder_ref})
        folders = await self._directory.known(having=there)
        target = next(folder for folder in folders if folder.ref == folder_ref)

        def patch(ref: str) -> Patch | None:
            if ref not in emails:
                return None
            shown = next(iter(in_order(emails[ref], folders)), None)
            if target.role in (Role.TRASH, Role.JUNK) or shown is None:
                return {"mailboxIds": {folder_ref: True}}
            if shown.ref == folder_ref:
                return {}
            return {f"mailboxIds/{shown.ref}": None, f"mailboxIds/{folder_ref}": True}

        return await self._changed(refs, patch)

    async def _changed(self, refs: Sequence[str], patch: Callable[[str], Patch | None]) -> list[ItemResult]:
        """A patch of None says that the message is gone; an empty one, that nothing needs to be changed."""
        patches = {ref: patch(ref) if is_id(ref) else None for ref in refs}
        results = {
            ref: ItemResult(ref, gone() if wanted is None else None) for ref, wanted in patches.items() if not wanted
        }
        asked = {ref: wanted for ref, wanted in patches.items() if wanted}
        size = (await self._client.session()).limits["maxObjectsInSet"]
        for start in range(0, len(asked), size):
            results.update(await self._set(dict(list(asked.items())[start : start + size]), first=start == 0))
        return [results[ref] for ref in refs]

    async def _set(self, update: dict[str, Patch], *, first: bool) -> dict[str, ItemResult]:
        """Raises only for the first: afterwards something was done, and each message gets its own result."""
        try:
            reply = (await self._client.write(("Email/set", {"update": update})))[0]
        except PostroomError as error:
            if first:
                raise
            return {ref: ItemResult(ref, error) for ref in update}
        updated, refused = reply.get("updated") or {}, reply.get("notUpdated") or {}
        return {ref: ItemResult(ref, None if ref in updated else _refusal(refused.get(ref))) for ref in update}


def _refusal(error: Any) -> PostroomError:
    found = set_error(error)
    return gone() if isinstance(found, NotFound) else found
