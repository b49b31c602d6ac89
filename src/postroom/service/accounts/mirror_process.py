"""The process that keeps the mirrors of a server's accounts up to date: started, watched, started again.

A separate one, so that no tool call waits for it. It ends with the server, however that ends: it reads the server's
end of a pipe.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from postroom.settings import Settings

log = logging.getLogger("postroom.mirror")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
_LASTED = 60.0  # one that lived this long is replaced at once


async def run(settings: Settings) -> None:
    """Until cancelled."""
    pause = 0.0
    while True:
        began = anyio.current_time()
        try:
            await _watched(settings)
        except OSError as error:
            log.warning("mirror_process_not_started", extra={"error_type": type(error).__name__})
        lasted = anyio.current_time() - began >= _LASTED
        pause = 0.0 if lasted else min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        await anyio.sleep(pause)


def command(settings: Settings) -> list[str]:
    config = ["--config", str(settings.config_path.resolve())] if settings.config_path else []
    return [sys.executable, "-m", "postroom", "sync", "--follow", "--until-eof", *config]


async def _watched(settings: Settings) -> None:
    process = await anyio.open_process(
        command(settings), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        code = await process.wait()
        log.warning("mirror_process_ended", extra={"code": str(code)})
    finally:
        if process.returncode is None:
            process.terminate()
        with anyio.CancelScope(shield=True):
            await process.aclose()
