"""The `postroom` command: the only place that knows both the CLI and MCP; it gives the CLI a way to serve over MCP."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from postroom.doors.cli.main import run

if TYPE_CHECKING:
    from postroom.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    _open_standard_streams()
    return run(argv, serve=_serve, count_tools=_count_tools)


def _open_standard_streams() -> None:
    """Whoever started this may have closed some: the next file that is opened must not take the place of one."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115 (for as long as we run)
    if isinstance(sys.stdout, io.TextIOWrapper):  # mail is in every script, a terminal or a pipe perhaps in Latin-1
        sys.stdout.reconfigure(errors="backslashreplace")


def _serve(settings: Settings, *, http: bool, ready: Callable[[int], None] | None = None) -> None:
    from postroom.doors.mcp import serve

    if http:
        serve.run_http(settings, settings.server.host, settings.server.port, ready)
    else:
        serve.run_stdio(settings)


def _count_tools(settings: Settings) -> int:
    from postroom.doors.mcp.server import count_tools

    return count_tools(settings)


if __name__ == "__main__":
    sys.exit(main())
