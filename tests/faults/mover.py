"""A process that moves the mails of an IMAP account to Trash, or undoes that, two at once, and dies without warning at
the given place: before and after each MOVE, and after each commit."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from tests.faults import kill_points
from tests.peers.daemon import LOOPBACK
from tests.peers.dovecot import PASSWORD

from postroom.service.organising import organise
from postroom.service.reading import search
from postroom.settings import Settings, build
from postroom.wiring import open_gateway


def settings_of(home: Path, port: int, user: str) -> Settings:
    account = {
        "name": "mine", "provider": "imap", "address": user, "host": LOOPBACK, "port": port, "security": "none",
        "password": PASSWORD, "timeout": 10,
    }  # fmt: skip
    return build({"accounts": [account]}, home=home)


async def main(settings: Settings, operation_id: str, countdown: kill_points.Countdown) -> None:
    """Deletes unless there is an operation to undo."""
    async with open_gateway(settings) as gateway:
        opened = await gateway.accounts.open(None)
        opened.capabilities = replace(opened.capabilities, changes_at_once=2)
        mailbox: Any = opened.mailbox
        move = mailbox.move

        async def moved(*args: Any) -> Any:
            countdown()
            answer = await move(*args)
            countdown()
            return answer

        mailbox.move = moved
        if operation_id:
            await organise.undo(gateway, operation_id)
        else:
            await organise.delete(gateway, [row.email_id for row in (await search.list_emails(gateway)).results])


if __name__ == "__main__":
    _, home, port, user, operation_id, kill_at = sys.argv
    countdown = kill_points.Countdown(int(kill_at))
    kill_points.install(countdown, around_requests=True)
    anyio.run(main, settings_of(Path(home), int(port), user), operation_id, countdown)
