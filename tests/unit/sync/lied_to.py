"""What a mirror made of a lying server's answers, and refusals of one folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from tests.peers.accounts import imap_account, opened
from tests.peers.lying_imap import LyingImap

from postroom.settings import ImapAccount
from postroom.sync.file.mirror import Mirror
from postroom.sync.file.status import MirrorStatus
from postroom.sync.following.syncing import Syncing

OPENING = "SELECT|EXAMINE"


def account_of(liar: LyingImap, **changes: object) -> ImapAccount:
    return imap_account(liar, "user@example.test", **({"mirror": "full", "timeout": 5} | changes))  # type: ignore[arg-type]


async def synced(liar: LyingImap, mirror: Mirror, mode: str = "full") -> MirrorStatus:
    account = account_of(liar, mirror=mode)
    async with opened(account) as mailbox, Syncing(mirror, mailbox, account) as syncing:
        return await syncing.once()


def subjects(mirror: Mirror) -> set[str]:
    with mirror.snapshot() as connection:
        return {subject for (subject,) in connection.execute("SELECT subject FROM mail")}


def moments(mirror: Mirror) -> dict[str, datetime | None]:
    return {folder.name: folder.as_of for folder in mirror.status().folders}


def refs(mirror: Mirror) -> set[str]:
    with mirror.snapshot() as connection:
        return {ref for (ref,) in connection.execute("SELECT ref FROM mail")}


def about_it(commands: str, folder: str = "Sums") -> Callable[[str], bool]:
    return lambda command: re.match(rf'({commands}) "?{folder}', command) is not None


def without_its_status(command: str, lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if not line.startswith(b'* STATUS "Sums"')]
