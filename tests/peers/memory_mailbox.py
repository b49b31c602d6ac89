"""The smallest provider there can be, in memory: the required verbs and nothing else; and one with labels as folders.

A gateway opens them as accounts of a kind with few settings; `provided` registers them in its place for a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from postroom.mime.read import parse
from postroom.mime.render import search_text, snippet
from postroom.model.address import Address
from postroom.model.capabilities import Capabilities
from postroom.model.changes import ChangePage
from postroom.model.draft import Identity
from postroom.model.errors import CursorExpired, NotFound, ProviderUnavailable
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.message import Envelope, Message, Page
from postroom.model.outcome import ItemResult, SubmitOutcome, SubmitRequest
from postroom.model.query.match import matches
from postroom.model.query.tree import Flag, In, Query
from postroom.providers import registry
from postroom.service.gateway import Gateway
from postroom.settings import build
from postroom.wiring import open_gateway

KIND = "rest"
FOLDERS = (
    Folder("f1", "INBOX", Role.INBOX),
    Folder("f2", "Sent", Role.SENT),
    Folder("f3", "Trash", Role.TRASH),
    Folder("f4", "Work"),
    Folder("f5", "Plans"),
    Folder("f6", "Archive", Role.ARCHIVE),
    Folder("f7", "Junk", Role.JUNK),
)
_FLAGS: dict[Flag, dict[str, bool]] = {
    "unread": {"unread": True},
    "read": {"unread": False},
    "starred": {"starred": True},
    "unstarred": {"starred": False},
    "answered": {"answered": True},
    "forwarded": {"forwarded": True},
}


@dataclass
class Contents:
    """What one address has, whoever opens it; and what was asked of it."""

    mails: dict[str, tuple[Envelope, bytes]] = field(default_factory=dict)
    folders: list[Folder] = field(default_factory=lambda: list(FOLDERS))
    log: list[str] = field(default_factory=list)  # refs, as they changed
    calls: Counter[str] = field(default_factory=Counter)
    is_down: bool = False

    def add(self, raw: bytes, *folders: str, **fields: Any) -> str:
        """The new mail's ref; it lies in these folders, shown in the first."""
        parsed, ref = parse.parse(raw), f"m{len(self.log) + 1}"
        shown, *others = folders or ("INBOX",)
        envelope = Envelope(
            ref, ref, shown, parsed.sender, parsed.to, parsed.cc, parsed.bcc, parsed.reply_to, parsed.subject,
            parsed.date, snippet(parsed.body), unread=True, message_id=parsed.message_id,
            in_reply_to=parsed.in_reply_to, references=parsed.references,
            other_folders=tuple(others), has_attachments=any(not file.inline for file in parsed.attachments),
            size=len(raw),
        )  # fmt: skip
        self.mails[ref] = (replace(envelope, **fields), raw)
        self.log.append(ref)
        return ref

    def remove(self, ref: str) -> None:
        del self.mails[ref]
        self.log.append(ref)

    def make_folder(self, name: str) -> None:
        if not any(folder.name == name for folder in self.folders):
            self.folders.append(Folder(f"f{len(self.folders) + 1}", name))

    def with_ref(self, folder_ref: str) -> Folder:
        for folder in self.folders:
            if folder.ref == folder_ref:
                return folder
        raise NotFound("There is no such folder.")

    def counted(self) -> list[Folder]:
        found = [(folder, [mail for mail, _ in self.mails.values() if folder.name in mail.folders])
                 for folder in self.folders]  # fmt: skip
        return [replace(folder, total=len(mails), unread=sum(mail.unread for mail in mails)) for folder, mails in found]


class MemoryMailbox:
    """What every provider must have."""

    kept: ClassVar[dict[str, Contents]] = {}
    capabilities = Capabilities(provider=KIND)

    def __init__(self, account: Any, context: Any) -> None:
        self.account = account
        self.contents = self.kept.setdefault(account.address, Contents())

    async def connect(self) -> Capabilities:
        self.asked("connect")
        return self.capabilities

    async def close(self) -> None:
        pass

    def asked(self, verb: str) -> None:
        self.contents.calls[verb] += 1
        if self.contents.is_down:
            raise ProviderUnavailable("The mail server does not answer. Try again later.", retry_after=3600)

    async def folders(self) -> list[Folder]:
        self.asked("folders")
        return self.contents.counted()

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        self.asked("search")
        for leaf in query.leaves():
            if isinstance(leaf, In) and match_folder(self.contents.folders, leaf.folder) is None:
                raise NotFound("There is no such folder.")
        found = [mail for mail, raw in self.contents.mails.values() if _is_wanted(self.contents, query, mail, raw)]
        found.sort(key=lambda envelope: envelope.date.timestamp() if envelope.date else 0, reverse=True)
        page = tuple(found[offset : offset + limit])
        return Page(page, len(found), limit, offset, len(found) > offset + limit)

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        self.asked("envelopes")
        return [self.contents.mails[ref][0] if ref in self.contents.mails else None for ref in refs]

    async def fetch(self, ref: str) -> Message:
        self.asked("fetch")
        envelope, raw = self._mail(ref)
        parsed = parse.parse(raw)
        return Message(envelope, parsed.body, parsed.attachments, parsed.headers, parsed.defects)

    async def fetch_part(self, ref: str, part: str) -> bytes:
        self.asked("fetch_part")
        return parse.extract_part(self._mail(ref)[1], part)

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        self.asked("set_flags")
        fields = {name: value for flag in add for name, value in _FLAGS[flag].items()}
        return [self._changed(ref, **fields) for ref in refs]

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        self.asked("move")
        name = self.contents.with_ref(folder_ref).name
        return [self._changed(ref, folder=name) for ref in refs]

    async def identities(self) -> list[Identity]:
        self.asked("identities")
        return [Identity(Address(self.account.address), is_default=True)]

    def _mail(self, ref: str) -> tuple[Envelope, bytes]:
        if ref not in self.contents.mails:
            raise NotFound("The mail is gone.")
        return self.contents.mails[ref]

    def _changed(self, ref: str, **fields: Any) -> ItemResult:
        if ref not in self.contents.mails:
            return ItemResult(ref, NotFound("The mail is gone."))
        envelope, raw = self.contents.mails[ref]
        self.contents.mails[ref] = (replace(envelope, **fields), raw)
        self.contents.log.append(ref)
        return ItemResult(ref)


class LabelMailbox(MemoryMailbox):
    """A mail may lie in several folders, as with Gmail and JMAP; and it tells what changed."""

    capabilities = Capabilities(provider=KIND, has_many_folders=True, has_delta=True)

    async def changed_since(self, cursor: str, *, limit: int) -> ChangePage:
        self.asked("changed_since")
        log = self.contents.log
        if not cursor:
            return ChangePage((), (), str(len(log)))
        if not cursor.isdecimal() or int(cursor) > len(log):
            raise CursorExpired("This cursor is not known.")
        end = min(int(cursor) + limit, len(log))
        told = dict.fromkeys(log[int(cursor) : end])
        changed = tuple(ref for ref in told if ref in self.contents.mails)
        removed = tuple(ref for ref in told if ref not in self.contents.mails)
        return ChangePage(changed, removed, str(end), has_more=end < len(log))

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        self.asked("move")
        target = self.contents.with_ref(folder_ref)
        return [self._moved(ref, target) for ref in refs]

    def _moved(self, ref: str, target: Folder) -> ItemResult:
        if ref not in self.contents.mails:
            return ItemResult(ref, NotFound("The mail is gone."))
        others = self._mail(ref)[0].other_folders if target.role is not Role.TRASH else ()
        return self._changed(
            ref, folder=target.name, other_folders=tuple(name for name in others if name != target.name)
        )

    async def put_into(self, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        self.asked("put_into")
        shown, *others = [self.contents.with_ref(ref).name for ref in folder_refs]
        return [self._changed(ref, folder=shown, other_folders=tuple(others)) for ref in refs]


class SharingMailbox(MemoryMailbox):
    """Opens the mailboxes of others by its own login, and can send; `refused` does not let it in."""

    capabilities = Capabilities(provider=KIND, can_send=True, has_shared_mailboxes=True)
    refused = "boss@demo.example"

    def shared_mailbox(self, address: str) -> SharingMailbox:
        shared = type(self)(self.account.model_copy(update={"address": address}), None)
        shared.contents.is_down = address == self.refused
        return shared


class MemoryTransport:
    """Accepts everything and remembers who submitted it."""

    submitted: ClassVar[list[tuple[str, SubmitRequest]]] = []

    def __init__(self, account: Any, context: Any, mailbox: MemoryMailbox) -> None:
        self.address = mailbox.account.address

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        self.submitted.append((self.address, request))
        return SubmitOutcome("accepted", request.envelope.recipients)

    async def close(self) -> None:
        pass


def _is_wanted(contents: Contents, query: Query, envelope: Envelope, raw: bytes) -> bool:
    if not query.names_folder and {"Trash", "Junk"}.intersection(envelope.folders):
        return False

    def lies_in(wanted: str) -> bool:
        folder = match_folder(contents.folders, wanted)
        return folder is not None and folder.name in envelope.folders

    parsed = parse.parse(raw)
    names = [file.filename for file in parsed.attachments]
    return matches(query.node, envelope, search_text(parsed.body), names, folder_matches=lies_in)


@asynccontextmanager
async def provided(
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    mailbox: type[MemoryMailbox] = MemoryMailbox,
    names: str = "mine",
    **safety: Any,
) -> AsyncIterator[tuple[Gateway, list[Contents]]]:
    """A gateway with an account on this provider for each of the names, and what each of them holds."""
    path = f"{mailbox.__module__}:{mailbox.__qualname__}"
    monkeypatch.setattr(registry, "MAILBOXES", {**registry.MAILBOXES, KIND: path})
    monkeypatch.setattr(registry, "TRANSPORTS", {**registry.TRANSPORTS, KIND: f"{__name__}:MemoryTransport"})
    monkeypatch.setattr(MemoryMailbox, "kept", {})
    monkeypatch.setattr(MemoryTransport, "submitted", [])
    accounts = [
        {"name": name, "provider": KIND, "address": f"{name}@demo.example", "base_url": "http://127.0.0.1:1"}
        for name in names.split()
    ]
    async with open_gateway(build({"accounts": accounts, "safety": safety}, home=home)) as gateway:
        yield gateway, [MemoryMailbox.kept.setdefault(account["address"], Contents()) for account in accounts]
