"""Changes through us: the server makes them, and the mirror shows at once what it confirmed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from postroom.model.errors import NotFound, PostroomError, ProviderError
from postroom.providers.protocol import Numbered
from postroom.sync.tables import noting

if TYPE_CHECKING:
    from postroom.model.outcome import ItemResult
    from postroom.providers.layers.layered import Call
    from postroom.providers.protocol import Mailbox
    from postroom.sync.file.mirror import Mirror


class Writes:
    def __init__(self, mailbox: Mailbox, mirror: Mirror) -> None:
        self._mailbox = mailbox
        self._mirror = mirror

    async def set_flags(self, ask: Call, refs: Sequence[str], *, add: Sequence[Any]) -> list[ItemResult]:
        results = await self._asked(ask, refs, add=add)
        await self._note(results, noting.flags, _ok(results), add)
        return results

    async def move(self, ask: Call, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        results = await self._asked(ask, refs, folder_ref)
        moved = [result for result in results if result.ok]
        numbers = [await self._number(result.new_ref) for result in moved]
        placed = list(zip(moved, numbers, strict=True))
        await self._note(results, noting.moved, placed, folder_ref, time.time())
        return results

    async def _number(self, ref: str) -> int:
        return await self._mailbox.uid_of(ref) if ref and isinstance(self._mailbox, Numbered) else 0

    async def put_into(self, ask: Call, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        results = await self._asked(ask, refs, folder_refs)
        await self._note(results, noting.put_into, _ok(results), folder_refs)
        return results

    async def apply_label(self, ask: Call, refs: Sequence[str], label: str) -> list[ItemResult]:
        results = await self._asked(ask, refs, label)
        await self._note(results, noting.labelled, _ok(results), label, True)
        return results

    async def remove_label(self, ask: Call, refs: Sequence[str], label: str) -> list[ItemResult]:
        results = await self._asked(ask, refs, label)
        await self._note(results, noting.labelled, _ok(results), label, False)
        return results

    async def _asked(self, ask: Call, *args: Any, **kwargs: Any) -> list[ItemResult]:
        """A change that nobody heard the end of may have been made, and so may one over which the server failed: the
        next read looks."""
        try:
            return cast("list[ItemResult]", await ask(*args, **kwargs))
        except BaseException as error:
            if isinstance(error, ProviderError) or not isinstance(error, PostroomError):
                with anyio.CancelScope(shield=True):
                    await noted(self._mirror, noting.changed, noting.stale)
            raise

    async def _note(self, results: Sequence[ItemResult], change: Callable[..., None], *args: Any) -> None:
        """A message that the server no longer has was moved or deleted by another program, and one whose answer was
        lost may have been changed: the next read looks."""
        await noted(self._mirror, noting.changed, change, *args)
        gone = [result.ref for result in results if isinstance(result.error, NotFound)]
        if gone:
            await noted(self._mirror, noting.changed, noting.gone, gone)
        if any(isinstance(result.error, ProviderError) for result in results):
            await noted(self._mirror, noting.changed, noting.stale)


async def then_stale(mirror: Mirror, call: Call, *args: Any, **kwargs: Any) -> Any:
    try:
        return await call(*args, **kwargs)
    finally:
        with anyio.CancelScope(shield=True):
            await noted(mirror, noting.changed, noting.stale)


async def noted(mirror: Mirror, change: Callable[..., None], *args: Any) -> None:
    """The server has it; a mirror that cannot be written learns it from there."""

    def run() -> None:
        with mirror.transaction() as connection:
            change(connection, *args)

    with suppress(PostroomError, OSError):  # a folder that cannot be looked into, too
        if mirror.path.exists():
            await anyio.to_thread.run_sync(run)


def _ok(results: Sequence[ItemResult]) -> list[str]:
    return [result.ref for result in results if result.ok]
