"""While a mirror is filled, searches for words take turns at the server, and end when the mirror has the answer."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import desk
from tests.unit.sync.test_merging import fill, seeded, short_turns  # noqa: F401 - a fixture

from postroom.model.errors import ProviderUnavailable
from postroom.model.query.tree import Query, Text
from postroom.sync.answering import word_searches
from postroom.sync.answering.word_searches import WordSearches

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_searches, "_EVERY", 0.0)


class Server:
    """Answers when it is let; `running` is how many searches it works on now."""

    def __init__(self) -> None:
        self.running = self.most = self.begun = 0
        self.begins, self.is_let = anyio.Event(), anyio.Event()
        self.mirror: str | None = None

    async def look(self) -> str | None:
        return self.mirror

    async def answer(self, found: str | None) -> str:
        if found is not None:
            return found
        self.begun += 1
        self.running += 1
        self.most = max(self.most, self.running)
        self.begins.set()
        try:
            await self.is_let.wait()
        finally:
            self.running -= 1
        return "server"

    async def ask(self, searches: WordSearches) -> str:
        return await searches.run(self.look, self.answer, lambda found: found is not None)


async def asked(server: Server, searches: WordSearches, count: int, then: Any) -> list[str]:
    answers: list[str] = []

    async def one() -> None:
        answers.append(await server.ask(searches))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(one)
            await server.begins.wait()
            await anyio.wait_all_tasks_blocked()
            then()
    return answers


async def test_one_search_for_words_at_a_time_is_at_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_searches, "_EVERY", 3600.0)
    server = Server()
    assert await asked(server, WordSearches(), 5, server.is_let.set) == ["server"] * 5
    assert (server.most, server.begun, server.running) == (1, 5, 0)


async def test_all_that_wait_are_answered_by_the_mirror_when_it_has_enough_and_no_search_is_left_running() -> None:
    server = Server()
    server_alone = WordSearches()

    async def until_begun() -> list[str]:
        answers: list[str] = []

        async def one() -> None:
            answers.append(await server.ask(server_alone))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(one)
                await server.begins.wait()
                server.mirror = "mirror"
        return answers

    assert await until_begun() == ["mirror"] * 5
    assert (server.begun, server.running) == (1, 0)


async def test_a_search_that_is_cancelled_gives_its_turn_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_searches, "_EVERY", 3600.0)
    server, searches = Server(), WordSearches()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.ask, searches)
            await server.begins.wait()
            tasks.cancel_scope.cancel()
        assert server.running == 0
        server.is_let.set()
        assert await server.ask(searches) == "server"


async def test_an_error_of_the_server_comes_out_as_it_is() -> None:
    server = Server()

    async def fail(_found: str | None) -> str:
        raise ProviderUnavailable("The server is away.")

    with pytest.raises(ProviderUnavailable, match="away"):
        await WordSearches().run(server.look, fail, lambda found: found is not None)


async def test_of_many_searches_for_words_during_a_fill_one_is_asked_of_the_server_and_the_mirror_answers_all(
    mirrored: Mirrored,
) -> None:
    async with desk(mirrored) as it:
        seeded(mirrored)
        await fill(mirrored, 1)
        alone = (await it.server.search(Query(Text("unheardof")), limit=10, offset=0)).items
        held, begins = anyio.Event(), anyio.Event()
        it.asked.clear()

        async def never(*_: Any, **__: Any) -> Any:
            it.asked["search_rest"] += 1
            begins.set()
            await held.wait()

        it.server.search_rest = never
        found: list[Any] = []

        async def search() -> None:
            found.append((await it.mailbox.search(Query(Text("unheardof")), limit=10, offset=0)).items)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for _ in range(6):
                    tasks.start_soon(search)
                await begins.wait()
                await fill(mirrored, 100)
        assert (found, it.asked["search_rest"]) == ([alone] * 6, 1)


async def test_whoever_reads_before_a_fill_has_begun_does_not_take_the_lock_that_it_needs(mirrored: Mirrored) -> None:
    """A catch-up waits for a connection that searches may have, and has the lock meanwhile."""
    async with desk(mirrored, catches_up=True) as it:
        seeded(mirrored)
        taken: list[bool] = []
        lock = mirrored.mirror.lock

        def noted() -> Any:
            taken.append(True)
            return lock()

        mirrored.mirror.lock = noted  # type: ignore[method-assign]
        assert len((await it.list()).items) == 10
        assert not taken
