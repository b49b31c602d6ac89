"""A second client that does random things to a mailbox, and a look at everything the server then has."""

from __future__ import annotations

import imaplib
import itertools
import random
import re
from dataclasses import dataclass, field

from tests.peers.dovecot import Dovecot
from tests.unit.sync.conftest import Mirrored

_FOLDERS = ("INBOX", "Archive", "Trash", "Projects", "Projects/Aurora", "Büro &amp; Co", "日本語")
_FLAGS = ("\\Seen", "\\Flagged", "\\Answered", "\\Draft", "$Forwarded", "Blue", "Red", "\\Deleted")


@dataclass(frozen=True)
class There:
    """One message as the server has it."""

    folder: str
    uid: int
    validity: int
    flags: frozenset[str]
    raw: bytes

    @property
    def ref(self) -> str:
        return f"{self.folder}|{self.validity}|{self.uid}"

    @property
    def key(self) -> str:
        found = re.search(rb"unique(\d+)word", self.raw)
        assert found is not None
        return found[1].decode()


@dataclass
class SecondClient:
    """Actions are drawn from `chance`; each leaves the mailbox in some state that a person could have made."""

    mirrored: Mirrored
    chance: random.Random
    keys: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def act(self, count: int) -> list[str]:
        actions = (
            self.append, self.append, self.append, self.flag, self.flag, self.move, self.move, self.copy, self.expunge,
            self.create, self.rename, self.delete,
        )  # fmt: skip
        done = []
        for _ in range(count):
            action = self.chance.choice(actions)
            with self.mirrored.client() as client:
                action(client)
            done.append(action.__name__)
        if self.chance.random() < 0.15 and self.mirrored.renumber():
            done.append("renumber")
        return done

    def append(self, client: imaplib.IMAP4) -> None:
        for _ in range(self.chance.randint(1, 4)):
            folder, number = self._folder(client), next(self.keys)
            flags = " ".join(flag for flag in _FLAGS[:-1] if self.chance.random() < 0.25)
            client.append(_written(folder), f"({flags})", None, self._letter(number))

    def _letter(self, number: int) -> bytes:
        heads = [f"Subject: Letter {number}", "From: Ada <ada@friends.example>", "To: me@example.test"]
        if self.chance.random() < 0.9:
            heads.append(f"Message-ID: <{number}@seed.example>")
        if self.chance.random() < 0.8:
            heads.append(f"Date: Mon, 1 Jun 2026 10:{number % 60:02}:00 +0000")
        if number > 3 and self.chance.random() < 0.4:
            heads.append(f"In-Reply-To: <{self.chance.randint(1, number - 1)}@seed.example>")
        return "\r\n".join([*heads, "", f"The unique{number}word is here.", ""]).encode()

    def flag(self, client: imaplib.IMAP4) -> None:
        if uids := self._some(client):
            sign = self.chance.choice("+-")
            client.uid("STORE", ",".join(uids), f"{sign}FLAGS.SILENT", f"({self.chance.choice(_FLAGS)})")

    def move(self, client: imaplib.IMAP4) -> None:
        target = self._folder(client)
        if uids := self._some(client):
            client.uid("MOVE", ",".join(uids), _written(target))

    def copy(self, client: imaplib.IMAP4) -> None:
        target = self._folder(client)
        if uids := self._some(client):
            client.uid("COPY", ",".join(uids), _written(target))

    def expunge(self, client: imaplib.IMAP4) -> None:
        if uids := self._some(client):
            client.uid("STORE", ",".join(uids), "+FLAGS.SILENT", "(\\Deleted)")
            client.expunge()

    def create(self, client: imaplib.IMAP4) -> None:
        client.create(_written(self.chance.choice(_FOLDERS)))

    def rename(self, client: imaplib.IMAP4) -> None:
        old = self._folder(client)
        fixed = () if isinstance(self.mirrored.dovecot, Dovecot) else ("INBOX",)  # Cyrus 3.6 crashes on that
        if old not in ("Trash", "Sent", "Drafts", "Junk", "Archive", *fixed):
            client.rename(_written(old), _written(f"{self.chance.choice(_FOLDERS)}{self.chance.randint(1, 9)}"))

    def delete(self, client: imaplib.IMAP4) -> None:
        folder = self._folder(client)
        if folder not in ("INBOX", "Trash", "Sent", "Drafts", "Junk", "Archive"):
            client.delete(_written(folder))

    def _some(self, client: imaplib.IMAP4) -> list[str]:
        if client.select(_written(self._folder(client)))[0] != "OK":
            return []
        _, (found,) = client.uid("SEARCH", "ALL")
        uids = (found or b"").decode().split()
        return self.chance.sample(uids, min(len(uids), self.chance.randint(1, 4)))

    def _folder(self, client: imaplib.IMAP4) -> str:
        return self.chance.choice([*self._listed(client), *["INBOX"] * 3])

    def _listed(self, client: imaplib.IMAP4) -> list[str]:
        _, lines = client.list()
        return sorted(_read(line) for line in lines if isinstance(line, bytes) and b"\\Noselect" not in line)

    def everything(self) -> dict[str, There]:
        """By ref, as `There.ref` spells it."""
        found: dict[str, There] = {}
        with self.mirrored.client() as client:
            for folder in self._listed(client):
                if client.select(_written(folder), readonly=True)[0] != "OK":
                    continue  # Dovecot may list one that was deleted, for those below it
                validity = int(client.response("UIDVALIDITY")[1][0] or b"0")
                _, lines = client.uid("FETCH", "1:*", "(UID FLAGS BODY.PEEK[])")
                for line in lines:
                    if isinstance(line, tuple):
                        one = _there(folder, validity, *line)
                        found[one.ref] = one
        return found


def _there(folder: str, validity: int, head: bytes, raw: bytes) -> There:
    uid = re.search(rb"UID (\d+)", head)
    flags = re.search(rb"FLAGS \(([^)]*)\)", head)
    assert uid is not None
    assert flags is not None
    return There(folder, int(uid[1]), validity, frozenset(flags[1].decode().split()), raw)


def _written(folder: str) -> str:
    from imapclient import imap_utf7

    return f'"{imap_utf7.encode(folder).decode()}"'


def _read(line: bytes) -> str:
    from imapclient import imap_utf7

    name = line.split(b' "/" ', 1)[1].strip()
    return str(imap_utf7.decode(name.removeprefix(b'"').removesuffix(b'"')))
