"""Drafts, made from the bytes of a message: as MIME in one request, or field by field with its files one by one."""

from __future__ import annotations

import base64
from typing import Any

import anyio.to_thread

from postroom.mime.read.parse import Parsed, extract_part, parse
from postroom.model.draft import CHANGED_MEANWHILE, SavedDraft
from postroom.model.errors import (
    Conflict,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
)
from postroom.model.folder import Role
from postroom.providers.graph.mail.convert import recipients
from postroom.providers.graph.mail.folders import WELL_KNOWN, Directory
from postroom.providers.graph.mail.reading import gone
from postroom.providers.graph.mail.uploads import File, Upload, inline
from postroom.providers.graph.session import wire
from postroom.providers.graph.session.client import Client
from postroom.providers.graph.session.wire import JSON, text
from postroom.providers.http.unclear import UnclearWrite

_FIELDS = "id,conversationId,isDraft,parentFolderId,changeKey"
_LARGEST_MIME = 2_900_000  # bytes; in base64 just under the 4 MB of a request
_LARGEST_FILE = 3 * 1024 * 1024 - 64 * 1024  # bytes of a file that is added in one request
_IMPORTANCES = ("low", "normal", "high")


class DraftBox:
    def __init__(self, client: Client, directory: Directory) -> None:
        self._client = client
        self._directory = directory

    async def create(self, raw: bytes) -> SavedDraft:
        """Complete, or not at all: what could not be completed is removed again."""
        if len(raw) <= _LARGEST_MIME:
            kind = {"Content-Type": "text/plain"}
            return _made(await self._client.write("POST", "/messages", base64.b64encode(raw), kind))
        fields, files = await anyio.to_thread.run_sync(_taken_apart, raw)
        made = _made(await self._client.write("POST", "/messages", fields))
        try:
            for place, file in enumerate(files):
                await self._attach(made.ref, file, place)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self._remove_quietly(made.ref)
            if isinstance(error, NotFound):
                raise ProviderUnavailable("The draft was gone before its files were added. Try again.") from None
            raise
        return made

    async def update(self, draft_ref: str, raw: bytes, version: str) -> SavedDraft:
        old = await self.find(draft_ref)
        if version not in ("", old.version):
            raise Conflict(CHANGED_MEANWHILE)
        new = await self.create(raw)
        await self._remove_old(old)
        return new

    async def _remove_old(self, old: SavedDraft) -> None:
        """Looked at again: an upload takes long, and a message that was changed or sent meanwhile has the same ref."""
        try:
            found = await self.look(old.ref)
            if found is not None and found.get("isDraft") is True and saved_of(found).version == old.version:
                return await self.remove(old.ref)
        except PostroomError as error:
            raise ProviderError(
                "The new version of the draft is saved, but the old one could not be removed. List the drafts."
            ) from error
        if found is not None:
            what = "changed" if found.get("isDraft") is True else "sent"
            raise Conflict(
                f"Somebody {what} this draft while it was being changed. What was {what} stays as it is, and the new "
                "version is saved as a draft of its own. List the drafts."
            )
        return None

    async def find(self, draft_ref: str) -> SavedDraft:
        """NotFound when it is gone, PermissionDenied when it is not a draft."""
        found = await self.look(draft_ref)
        if found is None:
            raise gone()
        if found.get("isDraft") is not True:
            raise PermissionDenied(
                "This message is not a draft and cannot be changed or sent as one. Call list_drafts.",
                reason="not_a_draft",
            )
        return saved_of(found)

    async def look(self, ref: str) -> JSON | None:
        """What is there under this ref; None when nothing is, or only in the deleted items."""
        if not wire.is_ref(ref):
            return None
        try:
            found = await self._client.get(wire.message(ref), {"$select": _FIELDS})
        except NotFound:
            return None
        return None if await self.is_thrown_away(found) else found

    async def is_thrown_away(self, found: JSON) -> bool:
        return found.get("parentFolderId") == await self._directory.ref_of(Role.TRASH)

    async def delete(self, draft_ref: str) -> None:
        """Into the deleted items, where a person finds it again."""
        await self.find(draft_ref)
        await self._client.write("POST", wire.message(draft_ref, "move"), {"destinationId": WELL_KNOWN[Role.TRASH]})

    async def remove(self, draft_ref: str) -> None:
        """For good: an old version, or one that Postroom made for sending."""
        await self._client.write("POST", wire.message(draft_ref, "permanentDelete"))

    async def _remove_quietly(self, draft_ref: str) -> None:
        try:
            await self.remove(draft_ref)
        except PostroomError:
            return

    async def _attach(self, ref: str, file: File, place: int) -> None:
        if len(file.content) > _LARGEST_FILE:
            return await Upload(self._client, ref, file, place).run()
        described = file.described
        kind = {wire.TYPE: "#microsoft.graph.fileAttachment"}
        content = {"contentBytes": base64.b64encode(file.content).decode(), **inline(described)}
        named = {"name": described.filename, "contentType": described.mime_type}
        await self._client.write("POST", wire.message(ref, "attachments"), {**kind, **named, **content})
        return None


def saved_of(message: JSON) -> SavedDraft:
    ref = text(message.get("id"))
    return SavedDraft(ref, ref, text(message.get("conversationId")) or ref, text(message.get("changeKey")))


def _made(message: JSON) -> SavedDraft:
    if not wire.is_ref(text(message.get("id"))):
        raise UnclearWrite("Microsoft", "did not say which draft was created")
    return saved_of(message)


def _taken_apart(raw: bytes) -> tuple[JSON, list[File]]:
    mail = parse(raw)
    return _fields(mail), [File(file, extract_part(raw, file.part)) for file in mail.attachments]


def _fields(mail: Parsed) -> JSON:
    """Exchange keeps one text of a message and writes the other one itself."""
    kind, content = ("html", mail.body.html) if mail.body.html else ("text", mail.body.text)
    importance = mail.headers.get("importance", ("",))[0].strip().lower()
    threading = {wire.IN_REPLY_TO: mail.in_reply_to, wire.REFERENCES: " ".join(mail.references)}
    fields: dict[str, Any] = {
        "subject": mail.subject,
        "body": {"contentType": kind, "content": content},
        "from": recipients([mail.sender])[0],
        "toRecipients": recipients(mail.to),
        "ccRecipients": recipients(mail.cc),
        "bccRecipients": recipients(mail.bcc),
        "replyTo": recipients(mail.reply_to),
        "importance": importance if importance in _IMPORTANCES else "normal",
        "internetMessageId": mail.message_id,
        "singleValueExtendedProperties": [{"id": name, "value": value} for name, value in threading.items() if value],
    }
    return {name: value for name, value in fields.items() if value not in ("", [])}
