"""The same servers, but Dovecot offers nothing beyond what every IMAP server has: all fallbacks at work."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tests.peers.dovecot import running_dovecot
from tests.peers.faultproxy import faulty
from tests.peers.postfix import running_postfix

from . import imap


class ThisRig(imap.ThisRig):
    has_sieve = False

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        cls.dovecot = cls.peers.enter_context(running_dovecot(capability="IMAP4rev1 IDLE NAMESPACE"))
        cls.postfix = cls.peers.enter_context(running_postfix(cls.dovecot))
        cls.proxy = cls.peers.enter_context(faulty(cls.postfix.plain))
