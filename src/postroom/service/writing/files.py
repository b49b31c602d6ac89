"""The files of a message to be written: by path, given within the call, or taken over from other messages.

An attachment of another message is named ``mail:email_id/attachment_id``, or by the URI that lists show for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from postroom.mime.write.parts import sendable_id, sendable_type
from postroom.model.draft import File
from postroom.model.errors import InvalidRequest
from postroom.model.message import Message
from postroom.service.attachment_files import (
    MAX_FILE_BYTES,
    MAX_FILES,
    Downloads,
    EncodedFile,
    check_total,
    decode_files,
    load_files,
    safe_filename,
    too_large,
)
from postroom.service.gateway import Account, Gateway
from postroom.service.reading.read import find_attachment

_SCHEME = "mail:"


async def files_of(
    gateway: Gateway, account: Account, named: Sequence[str], encoded: Sequence[EncodedFile] = ()
) -> tuple[File, ...]:
    """In the order in which they were named; `encoded` ones last."""
    if not named and not encoded:
        return ()
    if len(named) + len(encoded) > MAX_FILES:
        raise InvalidRequest(f"At most {MAX_FILES} attachments are allowed.", details={"field": "attachments"})
    most = most_bytes(account)
    paths = [name for name in named if not is_attached(name)]
    allowed, downloads = gateway.settings.safety.attachment_dirs, _downloads(gateway)

    def read() -> tuple[tuple[File, ...], tuple[File, ...]]:
        loaded = load_files(paths, allowed, max_bytes=most, downloads=downloads) if paths else ()
        return loaded, decode_files(encoded, max_bytes=most)

    loaded, decoded = await gateway.in_thread(read)
    from_disk, files = iter(loaded), list[File]()
    for name in named:
        files.append(await _taken_over(gateway, name, most) if is_attached(name) else next(from_disk))
        check_total(files, most)
    files += decoded
    check_total(files, most)
    return tuple(files)


def _downloads(gateway: Gateway) -> Downloads | None:
    everybody = gateway.settings.all_downloads
    return Downloads(everybody, gateway.settings.safety.download_dir) if everybody is not None else None


def is_attached(name: str) -> bool:
    return name[: len(_SCHEME)].lower() == _SCHEME


async def attached_files(account: Account, message: Message) -> tuple[File, ...]:
    """Those of a message, with their bytes; refused before they are fetched where they are too large to be sent on."""
    limit = most_bytes(account)
    if sum(attachment.size for attachment in message.attachments) > limit:
        raise InvalidRequest(
            f"The attachments together are larger than {limit // 2**20} MB and cannot be included. Download those that "
            "matter and attach them to a new message."
        )
    contents = [await account.mailbox.fetch_part(message.envelope.ref, file.part) for file in message.attachments]
    return tuple(
        File(
            safe_filename(file.filename, file.mime_type),
            sendable_type(file.mime_type),
            content,
            file.inline,
            sendable_id(file.content_id),
        )
        for file, content in zip(message.attachments, contents, strict=True)
    )


def most_bytes(account: Account) -> int:
    limit = account.capabilities.max_attachment_size_mb
    return min(MAX_FILE_BYTES, limit * 2**20) if limit else MAX_FILE_BYTES


async def _taken_over(gateway: Gateway, name: str, most: int) -> File:
    """Any account of the gateway's may have it; what is too large is not fetched."""
    owner, email_id, attachment_id = _split(name)
    opened, ref, view = await find_attachment(gateway, email_id, attachment_id, owner or None)
    if view.size > most:
        raise too_large(most)
    return File(view.filename, sendable_type(view.mime_type), await opened.mailbox.fetch_part(ref, attachment_id))


def _split(name: str) -> tuple[str, str, str]:
    """Account (empty if it was not named), message and attachment."""
    parts = [unquote(part) for part in name[len(_SCHEME) :].split("/")]
    if len(parts) == 6 and parts[:2] == ["", ""] and parts[4] == "attachments":
        owner, email_id, attachment_id = parts[2], parts[3], parts[5]
    elif len(parts) == 2:
        owner, (email_id, attachment_id) = "", parts
    else:
        email_id = attachment_id = ""
    if not (email_id and attachment_id):
        raise InvalidRequest(
            "An attachment of another email is written mail:email_id/attachment_id. "
            "Call list_attachments to see the ids.",
            details={"field": "attachments"},
        )
    return owner, email_id, attachment_id
