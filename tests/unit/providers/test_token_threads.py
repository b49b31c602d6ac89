from __future__ import annotations

import threading

import anyio

from postroom.providers import tokens


async def test_a_thousand_waiting_requests_need_no_thousand_threads() -> None:
    """As seen under load: one thread for each request that asked for its token."""
    released = threading.Event()
    waiting = threading.Semaphore(0)

    def blocked() -> None:
        waiting.release()
        released.wait(60)

    async with anyio.create_task_group() as group:
        for _ in range(1000):
            group.start_soon(tokens.in_own_thread, blocked)
        await anyio.wait_all_tasks_blocked()
        running = threading.active_count()
        released.set()

    assert running < 2 * tokens._THREADS + 20
