"""What a rig gives the suite: a fresh account on a real provider, mail put into it, and a look at what arrived.

Every module of this package is a rig: it is named for its provider and its class is called `ThisRig`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from postroom.model.capabilities import Capabilities
from postroom.model.query.tree import Flag
from postroom.providers.protocol import Mailbox, Transport

RIGS = sorted(module.name for module in iter_modules(__path__))


@dataclass(frozen=True, slots=True)
class SeedMail:
    """A mail to put into the account. `folder` is a role's or a folder's name and is made where missing.

    Without flags it is unread and unstarred; `date` is when it arrived, the Date header's moment unless given.
    """

    raw: bytes
    folder: str = "inbox"
    flags: tuple[Flag, ...] = ()
    labels: tuple[str, ...] = ()
    date: datetime | None = None


@dataclass(frozen=True, slots=True)
class RigAccount:
    """A connected account: its provider dressed as the registry dresses it, and the addresses a test may use."""

    settings: Any
    mailbox: Mailbox
    transport: Transport | None
    capabilities: Capabilities
    address: str
    second_address: str  # another mailbox that mail from here reaches
    refused_address: str  # a recipient this transport refuses for good; empty where it takes every address
    missing_ref: str  # well formed, and no mail has it


class Rig:
    """One per test. `start_peer` and `stop_peer` run once per session, around all tests of the rig."""

    neighbours: tuple[Any, ...] = ()  # settings of accounts that mail reaches only within the same gateway
    numbers_end_with_a_rename = False  # refs of messages in a folder are void once it is renamed

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def why_unavailable(cls) -> str | None:
        """None when it can run here; else what is missing, in words."""
        return None

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        """Start the server that every test of this rig talks to."""

    @classmethod
    def stop_peer(cls) -> None:
        """Stop what `start_peer` started."""

    async def make_account(self) -> RigAccount:
        raise NotImplementedError

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        """Put the mails into the account behind the provider's back; their refs, in order."""
        raise NotImplementedError

    async def remove(self, refs: Sequence[str]) -> None:
        """Take the mails out for good behind the provider's back. Only where it tells of changes (has_delta)."""
        raise NotImplementedError

    async def inbox_of(self, address: str) -> list[bytes]:
        """The raw mails that reached an address, oldest first."""
        raise NotImplementedError

    async def settle(self) -> None:
        """Wait until what was just written can be searched. Nothing to wait for in most providers."""

    def losing_answers(self) -> AbstractAsyncContextManager[None] | None:
        """While open, the server takes a submission but its answer is lost. None where that cannot happen."""
        return None

    async def close(self) -> None:
        """Close what `make_account` opened."""


def load_rig(name: str) -> type[Rig]:
    rig: type[Rig] = import_module(f"{__name__}.{name}").ThisRig
    return rig


@contextmanager
def running_rig(name: str, folder: Path) -> Iterator[type[Rig]]:
    """The rig with its peer started; skipped where that cannot run, unless it must."""
    rig = load_rig(name)
    missing = rig.why_unavailable()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"the {name} rig must run here: {missing}")
    if missing:
        pytest.skip(f"the {name} rig cannot run: {missing}")
    rig.start_peer(folder)
    yield rig
    rig.stop_peer()
