"""The local accounts of one gateway, and which mailbox an address belongs to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.index.database import Database
from postroom.model.address import Address
from postroom.providers.context import ProviderContext
from postroom.providers.local.identities import has_alias
from postroom.providers.local.schema import SCHEMA

if TYPE_CHECKING:
    from postroom.settings import LocalAccount

OTHERS = "others.db"


def mailbox_path(account: LocalAccount, context: ProviderContext) -> Path:
    return context.home / Path(account.path).expanduser()


class Neighbourhood:
    """Files are opened for delivery, or when their aliases are needed to resolve an address."""

    def __init__(self, own: LocalAccount, database: Database, context: ProviderContext) -> None:
        others = [account for account in context.neighbours if account.provider == "local" and account.name != own.name]
        self._paths = {account.address.casefold(): mailbox_path(account, context) for account in [*others, own]}
        self._others = database.path.with_name(OTHERS) if context.is_demo else None
        self.own = database
        self._open = {database.path: database}
        self._opening = threading.Lock()

    def mailbox_of(self, address: str) -> Database | None:
        """None when no local account has that address."""
        path = self._paths.get(address.casefold())
        if path is not None:
            return self._opened(path)
        paths = self._paths.values()
        return next((opened for opened in map(self._opened, paths) if _has(opened, address)), self._demo_box(address))

    @property
    def is_demo(self) -> bool:
        return self._others is not None

    def _demo_box(self, address: str) -> Database | None:
        """In the demo the sample's other people share a mailbox, so that messages to them can be delivered."""
        if self._others is None:
            return None
        from postroom.providers.local.sample.answering import correspondents

        return self._opened(self._others) if Address(address).key in correspondents() else None

    def close(self) -> None:
        for database in self._open.values():
            database.close()

    def _opened(self, path: Path) -> Database:
        with self._opening:
            if path not in self._open:
                database = Database(path, SCHEMA, read_only=self.own.read_only)
                database.open()
                self._open[path] = database
            return self._open[path]


def _has(database: Database, address: str) -> bool:
    with database.snapshot() as connection:
        return has_alias(connection, address)
