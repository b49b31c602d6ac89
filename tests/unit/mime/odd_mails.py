"""Reading as a stranger's mail may make it go. In a module of its own, because other processes import it."""

from __future__ import annotations

import os
import signal


def read(mail: str) -> tuple[str, int]:
    """What it says, and who read it."""
    match mail:
        case "raise":
            raise RecursionError
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            while True:
                pass
    return mail.upper(), os.getpid()


def instead(mail: str) -> tuple[str, int]:
    return f"instead of {mail}", os.getpid()
