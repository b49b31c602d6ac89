"""Progress notifications for calls that wait for a server because a mirror is still being filled.

Only reading tools send them: others report what they do themselves, and a progress may only grow. The SDK sends nothing
where the client gave no token.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool

from postroom.service.accounts.fills import told_to
from postroom.service.gateway import Gateway


def reported(tool: Tool | None, context: Context[Gateway, Any] | None) -> AbstractContextManager[None]:
    """For the calls of this tool made within."""
    annotations = tool.annotations if tool is not None else None
    if context is None or annotations is None or not annotations.read_only_hint:
        return nullcontext()
    return told_to(_Report(context))


class _Report:
    """Of one call: all its accounts together."""

    def __init__(self, context: Context[Gateway, Any]) -> None:
        self._context = context
        self._far: dict[str, tuple[int, int]] = {}
        self._said = -1

    async def __call__(self, account: str, there: int, of: int) -> None:
        self._far[account] = (there, of)
        done, total = (sum(numbers) for numbers in zip(*self._far.values(), strict=True))
        if done <= self._said:
            return
        self._said = done
        message = f"The mirror of account {account} has {there:,} of {of:,} messages so far: the server is asked too."
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # a client that is gone misses it
            await self._context.report_progress(done, total, message)
