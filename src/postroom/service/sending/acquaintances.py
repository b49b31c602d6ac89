"""Whom the Sent folder shows as written to, as far as no tool can have arranged it.

A mail there counts when it is of one of our own identities, no draft, and no mail of its Message-ID lies anywhere
else, as one that was received would. The folder counts when the mail server itself says that it is Sent; where a server
says nothing of any folder, the one of that name does, unless tools made it. Doubt leaves a recipient a stranger, and
asks a person.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroom.model.errors import PostroomError
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope
from postroom.model.query.tree import Correspondent, In, MessageId, Or, Query
from postroom.service.gateway import Account, Gateway

_LOOKED_AT = 20  # mails to one recipient, newest first


async def acquainted(gateway: Gateway, account: Account, keys: Sequence[str]) -> set[str]:
    if not keys:
        return set()
    try:
        folders = await account.mailbox.folders()
        sent = await _sent_folder(gateway, account, folders)
        own = {identity.address.key for identity in await account.mailbox.identities()}
        return {key for key in keys if sent and await _stands_there(account, sent, folders, own, key)}
    except PostroomError:
        return set()


async def _sent_folder(gateway: Gateway, account: Account, folders: Sequence[Folder]) -> Folder | None:
    sent = next((folder for folder in folders if folder.role is Role.SENT), None)
    if sent is None or not sent.is_guess:
        return sent
    is_told = any(folder.role not in (None, Role.INBOX) and not folder.is_guess for folder in folders)
    return (
        None if is_told or await gateway.in_thread(gateway.store.journal.made_folder, account.name, sent.ref) else sent
    )


async def _stands_there(account: Account, sent: Folder, folders: Sequence[Folder], own: set[str], key: str) -> bool:
    query = Query().narrowed(In(sent.ref), Or((Correspondent("to", key), Correspondent("cc", key))))
    for mail in (await account.mailbox.search(query, limit=_LOOKED_AT, offset=0)).items:
        names_it = any(address.key == key for address in (*mail.to, *mail.cc, *mail.bcc))
        is_ours = mail.sender.key in own and not mail.draft and mail.message_id
        if names_it and is_ours and await _lies_only_there(account, folders, mail):
            return True
    return False


async def _lies_only_there(account: Account, folders: Sequence[Folder], mail: Envelope) -> bool:
    """Drafts are ours as well."""
    query = Query(MessageId(mail.message_id), anywhere=True)
    page = await account.mailbox.search(query, limit=_LOOKED_AT, offset=0)
    copies = [copy for copy in page.items if copy.message_id == mail.message_id]
    homes = {folder.name for folder in folders if folder.role in (Role.SENT, Role.DRAFTS)}
    return bool(copies) and not page.has_more and all(homes.issuperset(copy.folders) for copy in copies)
