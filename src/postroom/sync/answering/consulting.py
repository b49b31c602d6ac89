"""Whom to ask: the mirror, or the server, or the mirror again because the server does not answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from postroom.model.errors import PostroomError, ProviderUnavailable, RateLimited
from postroom.providers.at_hand import Greeted
from postroom.providers.layers.layered import Call
from postroom.settings.mailboxes import owner_of
from postroom.sqlite.at_once import AtOnce
from postroom.sqlite.database import remembered
from postroom.sync.answering.coverage import coverage_of_all
from postroom.sync.answering.fill_progress import telling
from postroom.sync.answering.patience import unless_silent
from postroom.sync.answering.trust import Outage, TooMuch, Trust
from postroom.sync.file.limits import noted_owner

if TYPE_CHECKING:
    from postroom.providers.protocol import Mailbox
    from postroom.settings.accounts import ServerAccount
    from postroom.sync.file.mirror import Mirror

R = TypeVar("R")
CatchUp = Callable[[], Awaitable[None]]
Look = Callable[[sqlite3.Connection, Trust], R | None]  # None: the mirror cannot tell, or is not trusted that far

UNREACHABLE = (ProviderUnavailable, RateLimited)


class Consulting:
    """`outage` is on while the server cannot be reached and the mirror answers in its place. A mirror of
    another mailbox, which had this account's name before, is none.

    The event loop itself looks where the file is open (`AtOnce`). A look that turns out to be for more than a little
    (`TooMuch`), or fails, is handed to a thread.
    """

    def __init__(
        self, mailbox: Mailbox, mirror: Mirror, settings: ServerAccount, catch_up: CatchUp | None, max_age: float
    ) -> None:
        self._mailbox = mailbox
        self._mirror = mirror
        self._account = settings.name
        self._owner = owner_of(settings)
        self._catch_up = catch_up
        self._max_age = timedelta(seconds=max_age)
        self._readers = anyio.CapacityLimiter(8)
        self._catching_up = anyio.Lock()
        self._is_connected = False
        self.greeted = mailbox if isinstance(mailbox, Greeted) else None
        self._at_once = AtOnce()
        self.outage = Outage()

    async def answer(self, look: Look[R], ask: Call, *args: Any, **kwargs: Any) -> R:
        """From the mirror, else from the server, else from the mirror whatever its age."""
        found = await self.at_hand(look)
        return await self.ask_first(look, ask, *args, **kwargs) if found is None else found

    async def at_hand(self, look: Look[R]) -> R | None:
        """From the mirror alone."""
        await self._notice_its_return()
        return await (self.last_resort(look) if self.outage.is_on else self.current(look))

    async def ask_unless_away(self, look: Look[R], ask: Call) -> R:
        """`ask_first`, where a server that did not answer lately is not waited for again."""
        await self._notice_its_return()
        found = await self.last_resort(look) if self.outage.is_on else None
        return await self.ask_first(look, ask) if found is None else found

    async def ask_first(self, look: Look[R], ask: Call, *args: Any, **kwargs: Any) -> R:
        """From the server, or from the mirror where that does not answer."""

        async def instead() -> R | None:
            found = await self.last_resort(look)
            if found is not None:
                self.outage.begin()
            return found

        try:
            return await unless_silent(self.greeted, partial(self.ask, ask, *args, **kwargs), instead)
        except PostroomError as error:
            found = await self.instead_of(error, look)
            if found is None:
                raise
            return found

    async def instead_of(self, error: PostroomError, look: Look[R]) -> R | None:
        """What the mirror has, where the server cannot be reached, or refuses a folder."""
        return await self.last_resort(look) if isinstance(error, UNREACHABLE) or error.refused_folder else None

    async def current(self, look: Look[R]) -> R | None:
        """What the mirror says now, after catching up where that can help."""
        since = datetime.now(UTC) - self._max_age
        found = await self._look(look, Trust(since))
        if found is not None or self._catch_up is None or self.outage.is_on:
            return found
        if not await self._look(_is_begun, Trust(since)) or await self._look(_is_up_to_date, Trust(since)):
            return None
        began = datetime.now(UTC)
        async with self._catching_up:
            if self.outage.is_on or not await self._has_caught_up(self._catch_up):
                return await self.last_resort(look) if self.outage.is_on else None
        return await self._look(look, Trust(min(since, began)))

    async def _has_caught_up(self, catch_up: CatchUp) -> bool:
        async def succeeded() -> bool:
            await catch_up()
            return True

        async def is_silent() -> bool:
            self.outage.begin()
            return False

        try:
            return await unless_silent(self.greeted, succeeded, is_silent)
        except PostroomError:
            return False  # whoever asks the server next is told

    async def now(self, look: Look[R]) -> R | None:
        """What the mirror says as it is."""
        return await self._look(look, Trust(datetime.now(UTC) - self._max_age))

    async def _notice_its_return(self) -> None:
        """Whoever follows the server may have reached it before any reader asked again."""
        since = self.outage.since
        if since is not None and await self._look(_is_up_to_date, Trust(since)):
            self.outage.end()

    async def ask(self, ask: Call, *args: Any, **kwargs: Any) -> Any:
        try:
            if not self._is_connected:
                await self._mailbox.connect()
                self._is_connected = True
            answer = await telling(self._mirror, self._account, partial(ask, *args, **kwargs))
        except PostroomError as error:
            if error.refused_folder:
                self.outage.end()
            elif isinstance(error, UNREACHABLE) and not error.is_of_messages:
                self.outage.begin()
            raise
        self.outage.end()
        return answer

    async def last_resort(self, look: Look[R]) -> R | None:
        """What the mirror has, however old."""
        return await self._look(look, Trust(datetime.now(UTC), is_last_resort=True))

    async def _look(self, look: Look[R], trust: Trust) -> R | None:
        try:
            if self._at_once.is_advisable:
                at_once = Trust(trust.since, trust.is_last_resort, at_once=True)
                with suppress(TooMuch, PostroomError, OSError):
                    return self._at_once.timed(partial(self._run, look, at_once))
            if not self._mirror.path.exists():
                return None
            return await anyio.to_thread.run_sync(self._run, look, trust, limiter=self._readers)
        except (PostroomError, OSError):
            return None

    def _run(self, look: Look[R], trust: Trust) -> R | None:
        with self._mirror.snapshot(waits=not trust.at_once) as connection:
            return look(connection, trust) if remembered(connection, noted_owner) == self._owner else None


def of_messages(fetch: Call) -> Call:
    """A server that fails with a status of its own while it gives out a message may be there for everything else: the
    next question tells."""

    async def fetched(*args: Any, **kwargs: Any) -> Any:
        try:
            return await fetch(*args, **kwargs)
        except ProviderUnavailable as error:
            error.is_of_messages = "status" in error.details
            raise

    return fetched


def _is_begun(connection: sqlite3.Connection, _trust: Trust) -> bool | None:
    """Catching up with nothing in it would help nobody, and keep whoever fills it from beginning: it takes the lock."""
    return connection.execute("SELECT 1 FROM mail LIMIT 1").fetchone() is not None or None


def _is_up_to_date(connection: sqlite3.Connection, trust: Trust) -> bool | None:
    return trust.accepts(coverage_of_all(connection)) or None
