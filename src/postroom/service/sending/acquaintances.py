"""Whom the Sent folder shows as written to, as far as no tool can have arranged it.

A message there counts when it is from one of our own identities, is not a draft, and no copy with its Message-ID is
anywhere else, as a received message would be. The folder counts when the mail server itself marks it as Sent; where a
server marks no folder, the one of that name does, unless tools created it. In doubt a recipient stays unknown, and a
person is asked. The server itself is asked: a mirror may leave folders out, and keeps what was there a while ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postroom.model.errors import PostroomError
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope
from postroom.model.query.tree import AddressField, Correspondent, In, MessageId, Or, Query
from postroom.service.gateway import Account, Gateway

_LOOKED_AT = 20  # messages to one recipient, newest first
_FIELDS: tuple[AddressField, ...] = ("to", "cc")
_AT_ONCE = 20  # recipients, or Message-IDs, in one search: servers limit how long a question may be


async def acquainted(gateway: Gateway, account: Account, keys: Sequence[str]) -> set[str]:
    """One search of Sent for all of them, and one for copies of what it found; more only where those leave doubt."""
    if not keys:
        return set()
    try:
        folders = await account.at_server.folders()
        sent = await _sent_folder(gateway, account, folders)
        if sent is None:
            return set()
        own = {identity.address.key for identity in await account.identities_now()}
        found = [await _known_of(account, sent, folders, own, some) for some in batched(keys, _AT_ONCE)]
        return set().union(*found)
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


async def _known_of(
    account: Account, sent: Folder, folders: Sequence[Folder], own: set[str], keys: Sequence[str]
) -> set[str]:
    evidence, is_all = await _evidence(account, sent, own, keys)
    known = await _proven(account, folders, evidence)
    missing = [key for key in keys if key not in known]
    if is_all or not missing or len(keys) == 1:
        return known
    for key in missing:  # messages to others may have filled the page
        known |= await _known_of(account, sent, folders, own, [key])
    return known


async def _evidence(
    account: Account, sent: Folder, own: set[str], keys: Sequence[str]
) -> tuple[dict[str, list[str]], bool]:
    """For each recipient the Message-IDs of our messages to them, newest first; and whether that is all."""
    named = Or(tuple(Correspondent(field, key) for key in keys for field in _FIELDS))
    query = Query().narrowed(In(sent.ref), named)
    page = await account.at_server.search(query, limit=_room_for(keys), offset=0)
    ours = [mail for mail in page.items if mail.sender.key in own and not mail.draft and mail.message_id]
    return {
        key: [mail.message_id for mail in ours if _names(mail, key)][:_LOOKED_AT] for key in keys
    }, not page.has_more


def _names(mail: Envelope, key: str) -> bool:
    return any(address.key == key for address in (*mail.to, *mail.cc, *mail.bcc))


async def _proven(account: Account, folders: Sequence[Folder], evidence: dict[str, list[str]]) -> set[str]:
    """Those to whom at least one message is only in Sent. A message to several is looked up once."""
    known: set[str] = set()
    judged: dict[str, bool] = {}
    for turn in range(_LOOKED_AT):
        open_ = {key: ids[turn] for key, ids in evidence.items() if key not in known and turn < len(ids)}
        unseen = [mail_id for mail_id in dict.fromkeys(open_.values()) if mail_id not in judged]
        judged |= await _lie_only_there(account, folders, unseen)
        known |= {key for key, mail_id in open_.items() if judged[mail_id]}
    return known


async def _lie_only_there(account: Account, folders: Sequence[Folder], ids: Sequence[str]) -> dict[str, bool]:
    """Drafts are ours as well."""
    if not ids:
        return {}
    wanted = Or(tuple(map(MessageId, ids))) if len(ids) > 1 else MessageId(ids[0])
    page = await account.at_server.search(Query(wanted, anywhere=True), limit=_room_for(ids), offset=0)
    if page.has_more and len(ids) > 1:
        return {one: (await _lie_only_there(account, folders, [one]))[one] for one in ids}
    homes = {folder.name for folder in folders if folder.role in (Role.SENT, Role.DRAFTS)}
    places = {one: [name for copy in page.items if copy.message_id == one for name in copy.folders] for one in ids}
    return {one: bool(found) and not page.has_more and homes.issuperset(found) for one, found in places.items()}


def _room_for(several: Sequence[str]) -> int:
    """A few for each more: most are found among the newest, and who is not is looked up alone."""
    return _LOOKED_AT + 4 * (len(several) - 1)


def batched(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))
