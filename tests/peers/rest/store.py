"""One user's mailbox: the embedded one, used in the thread of the server, and what the API shows of it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from postroom.index import folders, placing, search, writing
from postroom.index.database import Database
from postroom.model.address import Address
from postroom.model.folder import Folder, match_folder
from postroom.model.message import Envelope, Message
from postroom.model.query.tree import Flag, In, Is, Query
from postroom.providers.local import adding, convert
from postroom.providers.local.convert import NewMail, prepare
from postroom.providers.local.schema import SCHEMA

P = ParamSpec("P")
R = TypeVar("R")
_ADDED: dict[str, Flag] = {
    "\\Seen": "read", "\\Flagged": "starred", "\\Answered": "answered", "$Forwarded": "forwarded",
}  # fmt: skip
_REMOVED: dict[str, Flag] = {"\\Seen": "unread", "\\Flagged": "unstarred"}


class Store:
    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA)
        self._database.open()
        self._words: dict[str, str] = {}
        self._read_before: dict[str, Message] = {}

    def close(self) -> None:
        self._database.close()

    def add(self, raw: bytes, folder: str = "INBOX", flags: Sequence[Flag] = (), date: Any = None) -> str:
        return f"m{self._write(adding.add_one, prepare(NewMail(raw, folder, flags, (), date)))}"

    def mailboxes(self) -> list[Folder]:
        return self._read(folders.list_folders)

    def mailbox(self, name: str) -> Folder | None:
        return next((folder for folder in self.mailboxes() if folder.name == name), None)

    def create(self, name: str) -> None:
        self._write(folders.add_folder, name)

    def delete(self, name: str) -> None:
        folder = match_folder(self.mailboxes(), name)
        assert folder is not None
        self._write(folders.remove_folder, folder.ref)

    def page(self, mailbox: str, *, limit: int, offset: int = 0, unread: bool = False) -> list[dict[str, Any]]:
        query = Query(In(mailbox)).narrowed(*([Is("unread")] if unread else []))
        page = self._read(search.search, query, limit=limit, offset=offset)
        return [self._row(envelope) for envelope in page.items]

    def found(self, words: str, mailbox: str, *, unread: bool, limit: int) -> list[dict[str, Any]]:
        """As naive as a small service is: part of a word is found too."""
        wanted = words.casefold()
        rows = self.page(mailbox, limit=100_000, unread=unread)
        return [row for row in rows if wanted in self._searched(row["id"])][:limit]

    def opened(self, ref: str) -> dict[str, Any] | None:
        message = self._message(ref)
        return None if message is None else self._whole(ref, message)

    def flag(self, ref: str, add: Sequence[str], remove: Sequence[str]) -> None:
        claims = [*(_ADDED[name] for name in add), *(_REMOVED[name] for name in remove)]
        self._write(writing.set_flags, [ref[1:]], claims)

    def move(self, ref: str, mailbox: Folder) -> None:
        self._write(placing.move, [ref[1:]], mailbox.ref)

    def raw_mails(self, mailbox: str) -> list[bytes]:
        """Oldest first."""
        page = self._read(search.search, Query(In(mailbox)), limit=1000, offset=0)
        return [self._read(convert.contents.content, envelope.ref) for envelope in reversed(page.items)]

    def _message(self, ref: str) -> Message | None:
        if not (ref[:1] == "m" and ref[1:].isdecimal() and len(ref) < 18):
            return None
        if ref not in self._read_before:
            (message,) = convert.opened_all([ref[1:]], self._read(convert.found_all, [ref[1:]]))
            if message is None:
                return None
            self._read_before[ref] = message
        return self._read_before[ref]

    def _searched(self, ref: str) -> str:
        if ref not in self._words:
            message = self._message(ref)
            assert message is not None
            shown = message.envelope
            self._words[ref] = "\n".join(
                [shown.subject, _spelt(shown.sender), message.body.text, message.body.html]
            ).casefold()
        return self._words[ref]

    def _row(self, envelope: Envelope) -> dict[str, Any]:
        ref = f"m{envelope.ref}"
        message = self._message(ref)
        return {
            **_heading(ref, envelope),
            "flags": _flags(envelope),
            "preview": " ".join(message.body.text.split())[:120] if message else "",
            "size": envelope.size,
        }

    def _whole(self, ref: str, message: Message) -> dict[str, Any]:
        envelope = message.envelope
        headers = {name.title(): list(values) if len(values) > 1 else values[0]
                   for name, values in message.headers.items()}  # fmt: skip
        return {
            **_heading(ref, envelope),
            "cc": [_spelt(one) for one in envelope.cc],
            "bcc": [_spelt(one) for one in envelope.bcc],
            "headers": headers,
            "body_text": message.body.text or None,
            "body_html": message.body.html or None,
            "attachments": [self._attached(envelope.ref, file) for file in message.attachments],
        }

    def _attached(self, ref: str, file: Any) -> dict[str, Any]:
        content = self._read(convert.open_part, ref, file.part)
        return {
            "filename": file.filename,
            "content_type": file.mime_type,
            "size": len(content),
            "content_base64": base64.b64encode(content).decode(),
        }

    def _read(self, verb: Callable[Concatenate[Any, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._database.snapshot() as connection:
            return verb(connection, *args, **kwargs)

    def _write(self, verb: Callable[Concatenate[Any, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        with self._database.transaction() as connection:
            return verb(connection, *args, **kwargs)


def _heading(ref: str, envelope: Envelope) -> dict[str, Any]:
    return {
        "id": ref,
        "uid": int(envelope.ref),
        "subject": envelope.subject,
        "from": _spelt(envelope.sender),
        "to": [_spelt(one) for one in envelope.to],
        "date": envelope.date.isoformat().replace("+00:00", "Z") if envelope.date else None,
    }


def _flags(envelope: Envelope) -> list[str]:
    known = [
        ("\\Seen", not envelope.unread), ("\\Flagged", envelope.starred), ("\\Answered", envelope.answered),
        ("$Forwarded", envelope.forwarded), ("\\Draft", envelope.draft),
    ]  # fmt: skip
    return [name for name, is_set in known if is_set]


def _spelt(address: Address) -> str:
    return f'"{address.name}" <{address.email}>' if address.name else address.email
