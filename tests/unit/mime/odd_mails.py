"""Reading as a stranger's mail may make it go. In a module of its own, because other processes import it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence

from postroom.mime.render import Format, Rendered
from postroom.model.message import Body


def read(mails: Sequence[str]) -> list[tuple[str, int]]:
    return list(map(read_one, mails))


def read_one(mail: str) -> tuple[str, int]:
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


def spin_in_the_regex_engine() -> None:
    """Where no thread and no signal handler of Python's has a chance."""
    re.match("(a+)+b", "a" * 60)


def ask_for_memory(size: int) -> int:
    return len(bytearray(size))


def say(text: str) -> tuple[str, int]:
    print(text)
    return text, os.getpid()


def render_for_ever(*_: object, **__: object) -> None:
    spin_in_the_regex_engine()


def raise_instead(*_: object, **__: object) -> None:
    raise RecursionError


def endless_unless_small(body: Body, *, fmt: Format, keep_quoted: bool, context: object) -> Rendered:
    if len(body.html) > 1_000:
        spin_in_the_regex_engine()
    return Rendered(body.text)
