"""Local mailboxes in a temporary folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, LocalTransport
from postroom.settings import LocalAccount


class Town:
    """Some local accounts of one gateway; the files are opened as they are asked for."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder = folder
        accounts = [
            LocalAccount(name=name, address=f"{name}@town.example", path=folder / f"{name}.db") for name in names
        ]
        self.accounts = {account.name: account for account in accounts}
        self.context = ProviderContext(folder, tuple(accounts))
        self.open: dict[str, LocalMailbox] = {}

    async def mailbox(self, name: str) -> LocalMailbox:
        if name not in self.open:
            self.open[name] = LocalMailbox(self.accounts[name], self.context)
            await self.open[name].connect()
        return self.open[name]

    async def transport(self, name: str) -> LocalTransport:
        return LocalTransport(self.accounts[name], self.context, await self.mailbox(name))

    async def close(self) -> None:
        for mailbox in self.open.values():
            await mailbox.close()


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    town = Town(tmp_path, "ann", "bob", "cat")
    yield town
    await town.close()


@pytest.fixture
async def mailbox(town: Town) -> LocalMailbox:
    return await town.mailbox("ann")


@pytest.fixture
def raw() -> Callable[..., bytes]:
    def write(subject: str = "Hello", body: str = "Some words.", **headers: str) -> bytes:
        fields = {
            "From": "Dora <dora@far.example>",
            "To": "ann@town.example",
            "Subject": subject,
            "Date": "Sun, 01 Mar 2026 12:00:00 +0000",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"{name}: {value}" for name, value in fields.items() if value]
        return "\r\n".join([*lines, "", body, ""]).encode()

    return write
