"""Keeps one account's mirror true to its server: once, or for as long as it runs.

Only the holder of the mirror's lock does; whoever comes second notices and leaves it alone.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio

from postroom.index import segments
from postroom.model.changes import Announced
from postroom.model.errors import Conflict, PostroomError, ProviderError
from postroom.providers.protocol import FolderSync, Watcher
from postroom.sync.file import abilities, space
from postroom.sync.file.access import Access, Replaced
from postroom.sync.file.limits import apply_limits, limits_of
from postroom.sync.file.status import LAST_ERROR, MirrorStatus, note_fact
from postroom.sync.following import announced, carrying, packing
from postroom.sync.following.arriving import Arriving
from postroom.sync.following.by_folder import ByFolder
from postroom.sync.following.by_listing import ByListing
from postroom.sync.following.handles import pass_on
from postroom.sync.following.identifying import identify
from postroom.sync.following.reading import Reading
from postroom.sync.tables import refusals

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from postroom.providers.protocol import Mailbox
    from postroom.settings.accounts import ServerAccount
    from postroom.store.handles import Handles
    from postroom.sync.file.lock import Lock
    from postroom.sync.file.mirror import Mirror

Progress = Callable[[int, int], None]  # messages in the mirror, messages on the server

POLL_SECONDS = 60.0  # where nothing is pushed, and for folders that are not watched
_UNTIL_ASKED = 2.0  # seconds between looks whether somebody wants the mirror started over
_DURING_FILL = 5.0  # seconds between looks at the server while the fill goes on
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_WAITING = 20  # announcements with messages, while something else is written
_FILLS = 20  # of one run: a folder that is numbered anew while it is filled is begun again, but not for ever


class Engine(Protocol):
    """How the mirror of one kind of mailbox is brought up to date. `is_partial`: the latest round left something out to
    be quick, and another is due. `stated_at` (of `time.monotonic`): when the server had told the states of folders that
    the latest round notes. `failure`: why it could not find out how some messages are now, so that nothing
    is confirmed."""

    is_partial: bool
    failure: PostroomError | None
    stated_at: float

    async def round(self) -> bool:
        """What changed on the server, as far as the mirror is filled. True if something may have."""
        ...

    async def is_behind(self) -> bool:
        """Whether there is something to fill."""
        ...

    async def fill(self, after: Callable[[], Awaitable[None]] | None = None) -> None:
        """`after` is called after each block that was written."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What synchronizing needs besides the mirror and the mailbox. Without `handles` none follow."""

    handles: Handles | None = None
    on_progress: Progress | None = None
    clock: Callable[[], float] = time.time


class Syncing:
    """Use as a context: it holds the mirror's lock, and other processes that read messages for it."""

    def __init__(self, mirror: Mirror, mailbox: Mailbox, settings: ServerAccount, tools: Tools | None = None) -> None:
        self.mirror = mirror
        self._mailbox = mailbox
        self._settings = settings
        self._tools = tools or Tools()
        self._reading = Reading(mirror.spool)
        self._looked_at = 0.0
        self._is_settled = False
        self._stated_at = 0.0  # see `Engine`
        self._announced: deque[Announced] = deque(maxlen=_WAITING)

    async def __aenter__(self) -> Syncing:
        self._lock: Lock | None = None
        self._hold_lock()
        return self

    def _hold_lock(self) -> None:
        """Again where its file was removed, perhaps with all the others: by then another process may have it."""
        if self._lock is not None and not self._lock.is_held:
            self._lock.close()
            self._lock = None
        self._lock = self._lock or self.mirror.lock()
        if self._lock is None:
            raise in_progress(self._settings.name)

    async def __aexit__(self, *_: object) -> None:
        self._reading.rest()
        if self._lock is not None:
            self._lock.close()

    async def once(self) -> MirrorStatus:
        """Everything filled, up to date and settled, but for folders that the server refuses (see `refusals`), or the
        error that prevented it; what was done so far is kept."""
        for _ in range(_FILLS):
            await self._bring_up_to_date()
            opened = self.mirror.opened
            while not self.mirror.is_rebuild_asked and await self._settle_some():
                pass
            # What a spool has lost is noticed when it is packed, and is to be fetched again.
            is_done = not (self.mirror.is_rebuild_asked or await self._has_more_to_fetch())
            if is_done and self.mirror.opened == opened:  # otherwise the file that was filled is gone
                break
        return self.mirror.status()

    async def _has_more_to_fetch(self) -> bool:
        """A folder that the server refuses is left to another run."""
        return await self._engine().is_behind() and not await Access(self.mirror).read(refusals.exist)

    async def _bring_up_to_date(self) -> None:
        """A file that turns out to be damaged is replaced on the way, and one that somebody else replaced is filled."""
        self._hold_lock()
        try:
            try:
                await self._run()
            except PostroomError as error:
                if not (self.mirror.is_rebuild_asked or isinstance(error, Replaced)):
                    raise
                self._hold_lock()
                await self._run()
        except PostroomError as error:
            await self._note(error.message)
            raise
        finally:
            self._reading.rest()
        await self._note("")

    async def _settle_some(self) -> bool:
        """Of what a first fill, perhaps an earlier one, put off so that everything was found sooner. False: nothing is
        left. Many messages that come at once are spooled in a mirror that is filled, too."""
        if self._is_settled and not self.mirror.spool.exists():
            return False
        try:
            with _defects_as_errors():
                is_packed = not await self._pack_some()
                self._is_settled = is_packed and not await Access(self.mirror).write(segments.merge_some)
        except PostroomError as error:
            await self._note(error.message)
            raise
        return not self._is_settled

    async def _pack_some(self) -> bool:
        """What a spool is missing is noticed here, even where all of it is."""
        if await Access(self.mirror).write(packing.pack_some, self.mirror.spool, self._tools.clock()):
            return True
        self.mirror.spool.unlink(missing_ok=True)
        return False

    async def _run(self) -> None:
        with _defects_as_errors():
            await self._fill()

    async def _fill(self) -> None:
        await self._begin()
        await Access(self.mirror).read(packing.forget_unknown, self.mirror.spool)
        found = await self._mailbox.connect()
        # A reader may have had no file to note it in.
        await Access(self.mirror).write(abilities.note, found, self._settings)
        engine = self._engine()
        await self._take_announced()
        await self._round(engine)
        for _ in range(_FILLS):
            if not await engine.is_behind():
                break
            self._is_settled = False
            space.check(self.mirror.path)
            await Access(self.mirror).write(segments.put_off)
            await engine.fill(lambda: self._after_block(engine))
            await self._round(engine)
        else:
            raise ProviderError(
                "The mailbox changes, or is renumbered, faster than it can be read. It is not complete."
            )
        access = Access(self.mirror)
        is_all_there = not (await engine.is_behind() or await access.read(refusals.exist))
        if is_all_there and await access.read(carrying.is_open):
            await identify(access)
            await access.write(carrying.settle, self._tools.clock())
            await self._pass_on()
        if engine.failure is not None:
            raise engine.failure

    async def catch_up(self) -> None:
        """What is in the mirror is as the server has it now; filling is left to whoever follows. One round trip where
        nothing changed."""
        with _defects_as_errors():
            await self._begin()
            await self._round(self._engine())

    async def follow(self) -> None:
        """Until it is cancelled. What fails is tried again, after a pause that grows."""
        async with anyio.create_task_group() as tasks:
            send, receive = anyio.create_memory_object_stream[None](1)
            if isinstance(self._mailbox, Watcher):
                tasks.start_soon(self._listen, self._mailbox, send)
            pause = 0.0
            while True:
                try:
                    await self._bring_up_to_date()
                    with anyio.move_on_after(POLL_SECONDS):
                        await self._wait(receive)
                    pause = 0.0
                except PostroomError as error:
                    pause = min(max(2 * pause, error.retry_after or _FIRST_PAUSE), _LONGEST_PAUSE)
                    await anyio.sleep(_FIRST_PAUSE if self.mirror.is_rebuild_asked else pause)

    async def _wait(self, changes: MemoryObjectReceiveStream[None]) -> None:
        """Until something changed, or somebody wants the mirror started over. Meanwhile, what was put off is done;
        where that fails, it is tried again the next time: new messages come all the same."""
        is_settling = True
        while not self.mirror.is_rebuild_asked:
            if is_settling:
                try:
                    is_settling = await self._settle_some()
                except PostroomError:
                    is_settling = False
                with suppress(anyio.WouldBlock):
                    changes.receive_nowait()
                    return
                continue
            with anyio.move_on_after(_UNTIL_ASKED):
                await changes.receive()
                return

    async def _listen(self, mailbox: Watcher, send: MemoryObjectSendStream[None]) -> None:
        """A watch that fails is begun again; meanwhile the server is looked at from time to time."""
        while True:
            with suppress(PostroomError), _defects_as_errors():
                async with aclosing(self._news(mailbox)) as changes:
                    async for news in changes:
                        if isinstance(news, Announced) and news.mails:
                            self._announced.append(news)
                        with suppress(anyio.WouldBlock):  # one look is enough for all
                            send.send_nowait(None)
            await anyio.sleep(POLL_SECONDS)

    def _news(self, mailbox: Watcher) -> AsyncGenerator[str | Announced, None]:
        if isinstance(mailbox, FolderSync):
            limits = limits_of(self._settings)
            return mailbox.announced(max_bytes=limits.max_bytes if limits.mode == "full" else 0)
        return mailbox.changes()

    async def _after_block(self, engine: Engine) -> None:
        self._report()
        if self.mirror.is_rebuild_asked:
            raise Conflict("The mirror is being rebuilt.")
        space.check(self.mirror.path)
        await self._take_announced()
        age = self._tools.clock() - self._looked_at
        if engine.is_partial or not 0 <= age <= _DURING_FILL:  # below 0: the clock was set back
            await self._round(engine)

    async def _round(self, engine: Engine) -> None:
        try:
            await engine.round()
        finally:
            self._stated_at = max(self._stated_at, engine.stated_at)  # one that fails may have noted some of them
        self._looked_at = self._tools.clock()
        await self._pass_on()
        self._report()

    async def _take_announced(self) -> None:
        """What was asked for before the server told the states that a look noted is left to looks."""
        while self._announced:
            news = self._announced.popleft()
            if news.asked_at > self._stated_at:
                limits, clock = limits_of(self._settings), self._tools.clock
                await announced.take(Access(self.mirror), news, self._reading, limits, clock)
                await self._pass_on()
                self._report()

    async def _pass_on(self) -> None:
        if self._tools.handles is not None:
            await anyio.to_thread.run_sync(pass_on, self.mirror, self._tools.handles, self._settings.name)

    def _engine(self) -> Engine:
        access, clock = Access(self.mirror), self._tools.clock
        limits, leave_out = limits_of(self._settings), self._settings.mirror_leave_out
        if isinstance(self._mailbox, FolderSync):
            arriving = Arriving(access, self._mailbox, self._reading, limits, clock)
            return ByFolder(access, self._mailbox, arriving, leave_out, clock)
        return ByListing(access, self._mailbox, limits, leave_out, clock)

    def _report(self) -> None:
        if self._tools.on_progress is not None:
            status = self.mirror.status()
            self._tools.on_progress(status.messages, status.expected)

    async def _begin(self) -> None:
        """With an empty file where one was asked for, where it is of another mailbox, or where messages without bodies
        are now wanted with them."""
        if self.mirror.is_rebuild_asked:
            await self._rebuild()
        limits = limits_of(self._settings)
        if not await Access(self.mirror).write(apply_limits, limits):
            await self._rebuild()
            await Access(self.mirror).write(apply_limits, limits)
        if self.mirror.has_before:
            await anyio.to_thread.run_sync(carrying.take_over, self.mirror, limits.owner)

    async def _rebuild(self) -> None:
        """Only where the server answers: until then an old mirror is better than none. Its spool goes with it."""
        await self._mailbox.folders()
        if self.mirror.path.exists():  # not where a run was killed that had set it aside
            with suppress(PostroomError):  # it may be damaged
                await identify(Access(self.mirror))
        self.mirror.rebuild()

    async def _note(self, error: str) -> None:
        """Where even that fails, the file or its folder is the error."""
        with suppress(PostroomError, OSError):
            await Access(self.mirror).write(note_fact, LAST_ERROR, error)


def in_progress(account: str) -> Conflict:
    return Conflict(f"Another process is synchronizing the account {account} already.")


@contextmanager
def _defects_as_errors() -> Iterator[None]:
    """One process keeps the mirrors of all accounts: what nobody thought of in one must not end the others."""
    try:
        yield
    except PostroomError:
        raise
    except Exception as error:
        raise ProviderError(f"This is a defect in Postroom: {_place(error)}. Please report it.") from error


def _place(error: Exception) -> str:
    """Without the error's own text, in which there may be anything."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
