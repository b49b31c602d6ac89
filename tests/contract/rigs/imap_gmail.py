"""The same servers behind Gmail's face: its search, its labels, its folders, and nothing that it does not offer.

Gmail files what it submits in Sent itself, which Postroom knows of its hosts by name; this Postfix does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from tests.peers.dovecot import running_dovecot
from tests.peers.faultproxy import faulty
from tests.peers.gmail_imap import FOLDERS, GmailImap, gmail_imap
from tests.peers.postfix import running_postfix

from postroom.mime.read.parse import parse_headers

from . import SeedMail, imap

_FLAGS = {"read": "\\Seen", "starred": "\\Flagged", "answered": "\\Answered", "draft": "\\Draft"}
_ROLES = {
    "inbox": "INBOX",
    "sent": "[Gmail]/Sent Mail",
    "drafts": "[Gmail]/Drafts",
    "trash": "[Gmail]/Trash",
    "junk": "[Gmail]/Spam",
    "archive": "Archive",
}


class ThisRig(imap.ThisRig):
    has_sieve = False
    gmail: ClassVar[GmailImap]

    @classmethod
    def start_peer(cls, folder: Path) -> None:
        cls.peers = ExitStack()
        dovecot = cls.peers.enter_context(running_dovecot(settings=FOLDERS))
        cls.postfix = cls.peers.enter_context(running_postfix(dovecot))
        cls.proxy = cls.peers.enter_context(faulty(cls.postfix.plain))
        cls.gmail = cls.peers.enter_context(gmail_imap(dovecot.imap))
        cls.dovecot = replace(dovecot, imap=cls.gmail.port)

    async def seed(self, mails: Sequence[SeedMail]) -> list[str]:
        return await asyncio.to_thread(self._as, self.me, lambda client: [_append(client, mail) for mail in mails])


def _append(client: Any, mail: SeedMail) -> str:
    folder = _ROLES.get(mail.folder, mail.folder)
    if folder not in _ROLES.values() and not client.folder_exists(folder):
        client.create_folder(folder)
    flags = [_FLAGS[flag] for flag in mail.flags if flag in _FLAGS]
    answer = client.append(folder, mail.raw, flags, mail.date or parse_headers(mail.raw).date).decode()
    validity, uid = answer.partition("APPENDUID ")[2].partition("]")[0].split()
    if mail.labels:
        client.select_folder(folder)
        client.add_gmail_labels([int(uid)], mail.labels)
    return f"{folder}|{validity}|{uid}"
