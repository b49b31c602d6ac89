"""Flags, categories and moving: one result per message, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, PostroomError, Unsupported
from postroom.model.outcome import ItemResult
from postroom.model.query.tree import Flag
from postroom.providers.graph.mail.reading import PROVIDER, gone
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.batch import Step
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, objects, text, texts

_CATEGORIES = "/outlook/masterCategories"
_MOST_CHARACTERS = 255
_CHANGES: dict[Flag, JSON] = {
    "read": {"isRead": True},
    "unread": {"isRead": False},
    "starred": {"flag": {"flagStatus": "flagged"}},
    "unstarred": {"flag": {"flagStatus": "notFlagged"}},
    # One property tells what was done last: a message that was answered and then forwarded counts as forwarded.
    "answered": wire.property_value(wire.LAST_VERB, wire.REPLIED),
    "forwarded": wire.property_value(wire.LAST_VERB, wire.FORWARDED),
}
_TRIES = 3  # when somebody else changes the same message


class Organiser:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._offered: set[str] = set()  # categories that are in the mailbox's list, as far as it can be changed

    async def set_flags(self, refs: Sequence[str], claims: Sequence[Flag]) -> list[ItemResult]:
        if unknown := [claim for claim in claims if claim not in _CHANGES]:
            raise Unsupported(PROVIDER, f"the flag {unknown[0]}")
        change: JSON = {}
        for claim in claims:
            change |= _CHANGES[claim]
        return await self._each(refs, lambda ref: Step("PATCH", wire.message(ref), {}, change))

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        target = {"destinationId": folder_ref}
        moved = await self._each(refs, lambda ref: Step("POST", wire.message(ref, "move"), {}, target))
        return [await self._unless_there(one, folder_ref) for one in moved]

    async def _unless_there(self, result: ItemResult, folder_ref: str) -> ItemResult:
        """Moving a message to where it is may be refused; for us it is done."""
        if not isinstance(result.error, Conflict):
            return result
        (found,) = await self._client.present([Step("GET", wire.message(result.ref), {"$select": "parentFolderId"})])
        return ItemResult(result.ref) if found and found.get("parentFolderId") == folder_ref else result

    async def labels(self) -> list[str]:
        """The mailbox's list of categories; without the permission to read it, those of its newest messages."""
        try:
            found = [
                text(one.get("displayName"))
                async for page in self._client.pages(_CATEGORIES, {"$select": "displayName"})
                for one in page
            ]
        except PermissionDenied:
            newest = await self._client.get(
                "/messages", {"$select": "categories", "$top": "500", "$orderby": "receivedDateTime desc"}
            )
            found = [name for one in objects(newest.get("value")) for name in texts(one.get("categories"))]
        return sorted({name for name in found if name}, key=str.casefold)

    async def forget_label(self, label: str) -> None:
        """Without the permission to change the list, the name stays on it."""
        self._offered.discard(label.casefold())
        with suppress(PermissionDenied, NotFound):
            async for page in self._client.pages(_CATEGORIES, {"$select": "id,displayName"}):
                for one in page:
                    if text(one.get("displayName")) == label:
                        await self._client.write("DELETE", f"{_CATEGORIES}/{text(one.get('id'))}")

    async def label(self, refs: Sequence[str], label: str, *, wanted: bool) -> list[ItemResult]:
        _check_label(label)
        if wanted and refs:
            await self._offer(label)
        results: dict[str, ItemResult] = {ref: ItemResult(ref, gone()) for ref in refs}
        left = [ref for ref in dict.fromkeys(refs) if wire.is_ref(ref)]
        for _ in range(_TRIES):
            results |= {one.ref: one for one in await self._labelled(left, label, wanted=wanted)}
            left = [ref for ref in left if isinstance(results[ref].error, Conflict)]
        return [results[ref] for ref in refs]

    async def _offer(self, label: str) -> None:
        """Once: many messages are labelled in many calls. Without the permission for it the category works all the
        same, but has no colour and is not offered in Outlook."""
        if label.casefold() in self._offered:
            return
        with suppress(Conflict, PermissionDenied):
            await self._client.write("POST", _CATEGORIES, {"displayName": label, "color": "none"})
        self._offered.add(label.casefold())

    async def _labelled(self, refs: Sequence[str], label: str, *, wanted: bool) -> list[ItemResult]:
        """Categories are replaced as a whole, so only as long as they are those that were read."""
        fields = {"$select": "categories"}
        found = await self._client.together([Step("GET", wire.message(ref), fields) for ref in refs])
        results = {ref: _result(ref, one) for ref, one in zip(refs, found, strict=True)}
        steps = {
            ref: step
            for ref, one in zip(refs, found, strict=True)
            if not isinstance(one, PostroomError) and (step := _relabelling(ref, one, label, wanted=wanted))
        }
        changed = await self._client.together(list(steps.values()), writes=True)
        results |= {ref: _result(ref, one) for ref, one in zip(steps, changed, strict=True)}
        return [results[ref] for ref in refs]

    async def _each(self, refs: Sequence[str], step: Callable[[str], Step]) -> list[ItemResult]:
        asked = [ref for ref in dict.fromkeys(refs) if wire.is_ref(ref)]
        done = await self._client.together([step(ref) for ref in asked], writes=True)
        results = {ref: _result(ref, one) for ref, one in zip(asked, done, strict=True)}
        return [results.get(ref) or ItemResult(ref, gone()) for ref in refs]


def _relabelling(ref: str, message: JSON, label: str, *, wanted: bool) -> Step | None:
    """None where nothing is to be changed. Categories are compared without regard to case."""
    now = texts(message.get("categories"))
    others = [one for one in now if one.casefold() != label.casefold()]
    if (len(others) < len(now)) is wanted:
        return None
    change = {"categories": [*others, label] if wanted else others}
    return Step("PATCH", wire.message(ref), {}, change, {"If-Match": text(message.get(wire.ETAG)) or "*"})


def _result(ref: str, done: JSON | PostroomError) -> ItemResult:
    if isinstance(done, PostroomError):
        return ItemResult(ref, gone() if isinstance(done, NotFound) else done)
    new = text(done.get("id"))
    return ItemResult(ref, new_ref=new if new and new != ref else "")


def _check_label(label: str) -> None:
    if not label.strip() or len(label) > _MOST_CHARACTERS or "," in label or not label.isprintable():
        raise InvalidRequest(
            f"A label is a Microsoft category: up to {_MOST_CHARACTERS} characters, without commas and line breaks.",
            details={"field": "label"},
        )
