"""The mails on a real Courier: UTF-8 names, everything below ``INBOX.``, and little more than plain IMAP.

Postfix still submits and Dovecot still files what arrives: both servers look into the same Maildirs, each with numbers
of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from tests.peers.courier import Courier, missing_courier, running_courier

from . import imap


class ThisRig(imap.ThisRig):
    has_sieve = False
    courier: ClassVar[Courier]
    numbers_end_with_a_rename = True  # a renamed folder gets a new UIDVALIDITY

    @classmethod
    def why_unavailable(cls) -> str | None:
        return super().why_unavailable() or missing_courier()

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        super().start_peer(folder)
        cls.courier = cls.peers.enter_context(running_courier(cls.dovecot.home / "mail"))

    @property
    def store(self) -> Courier:
        return self.courier

    def place(self, folder: str) -> str:
        name = super().place(folder)
        return name if name == "INBOX" else f"INBOX.{name.replace('/', '.')}"
