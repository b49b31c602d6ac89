"""Drafts by folder numbers (UIDs): what a caller that thinks in IMAP asks for.

A number counts within its folder only: mails to answer are looked for in the inbox, drafts in the drafts folder. One
that means nothing there is an error, never another mail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from postroom.mime.clean import clean_line
from postroom.mime.write import compose, reply
from postroom.model.address import Address, parse_address
from postroom.model.draft import Draft, SavedDraft
from postroom.model.errors import InvalidRequest, NotFound, PermissionDenied
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Page
from postroom.model.query.text import parse_query
from postroom.model.query.tree import In
from postroom.safety.limits import MAX_RECIPIENTS
from postroom.service.accounts.folders import find_folder
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import row, rows
from postroom.service.reading.read import read_email
from postroom.service.reading.search import check_page, with_own_addresses
from postroom.service.views import EmailRow, OpenEmail
from postroom.service.writing import composing


@dataclass(frozen=True, slots=True)
class Letter:
    """A draft in the caller's words. `cc` and `bcc` may name several addresses, separated by commas."""

    to: str
    subject: str
    body: str
    cc: str = ""
    bcc: str = ""
    in_reply_to: int | None = None


@dataclass(frozen=True, slots=True)
class NumberedDraft:
    uid: int
    subject: str
    to: str
    date: str


async def create_draft(gateway: Gateway, letter: Letter) -> NumberedDraft:
    account = await gateway.accounts.open()
    await drafts_folder(account)
    return await _saved(gateway, account, await _written(gateway, account, letter))


async def draft_reply(gateway: Gateway, uid: int, body: str, *, reply_all: bool = False) -> NumberedDraft:
    """To whoever wrote it; with `reply_all` the other readers get a copy, the account's own addresses left out."""
    account = await gateway.accounts.open()
    await drafts_folder(account)
    original = await _original(account, uid)
    own = {identity.address.key for identity in await account.mailbox.identities()}
    others = [address for address in (*original.to, *original.cc) if address.key not in own | {original.sender.key}]
    letter = Letter(
        to=original.sender.email,
        subject=composing.usable_subject(original.subject),
        body=body,
        cc=",".join(dict.fromkeys(address.email for address in others)) if reply_all else "",
        in_reply_to=uid,
    )
    draft = await _written(gateway, account, letter)
    names = {address.key: address for address in reply.presentable([original.sender, *others])}
    to, cc = (tuple(names.get(address.key, address) for address in group) for group in (draft.to, draft.cc))
    return await _saved(gateway, account, replace(draft, to=to, cc=cc))


async def update_draft(gateway: Gateway, uid: int, letter: Letter) -> NumberedDraft:
    """The new version takes the old one's place, under a number of its own."""
    account = await gateway.accounts.open()
    folder = await drafts_folder(account)
    found = await account.numbered.mail_with_uid(uid, folder.ref)
    if found is None:
        raise PermissionDenied(f"The mail {uid} is no draft.", reason="not_a_draft")
    draft = await _written(gateway, account, letter)
    if letter.in_reply_to is None:
        draft = replace(draft, threading=replace(draft.threading, in_reply_to=found.in_reply_to,
                                                 references=found.references))  # fmt: skip
    raw = await gateway.in_thread(compose.compose, draft, date=gateway.now(), keep_bcc=True)
    saved = await account.drafts.update_draft(found.ref, raw, thread_ref=draft.threading.thread_ref)
    return await _answer(account, saved, draft, gateway.now())


async def drafts_folder(account: Account) -> Folder:
    folders = await account.mailbox.folders()
    found = next((folder for folder in folders if folder.role is Role.DRAFTS and folder.selectable), None)
    if found is None:
        raise NotFound("There is no Drafts folder.", reason="folder_role_missing", details={"role": "drafts"})
    return found


async def mail_with_uid(account: Account, uid: int, folder: str) -> Envelope:
    found = await account.numbered.mail_with_uid(uid, (await find_folder(account, folder)).ref)
    if found is None:
        raise NotFound(f"There is no mail {uid} in that folder.", reason="unknown_id", details={"id": uid})
    return found


async def _original(account: Account, uid: int) -> Envelope:
    return await mail_with_uid(account, uid, "INBOX")


async def _written(gateway: Gateway, account: Account, letter: Letter) -> Draft:
    composing.check_text(letter.subject, letter.body, "")
    draft = Draft(
        sender=(await composing.find_identity(account, "")).address,
        to=_addresses(letter.to, "to"),
        cc=_addresses(letter.cc, "cc"),
        bcc=_addresses(letter.bcc, "bcc"),
        subject=letter.subject,
        text=letter.body,
    )
    if not draft.to:
        raise InvalidRequest("`to` is empty. Name the recipient.", details={"field": "to"})
    if letter.in_reply_to is None:
        return draft
    original = await _original(account, letter.in_reply_to)
    return replace(
        draft, subject=reply.reply_subject(clean_line(letter.subject)), threading=reply.threading_for(original)
    )


def _addresses(text: str, field: str) -> tuple[Address, ...]:
    """Several addresses in one string. A comma inside a quoted name separates nothing."""
    parts, quoted, current = [], False, ""
    for char in text:
        quoted ^= char == '"'
        if char in ",;" and not quoted:
            parts.append(current)
            current = ""
        else:
            current += char
    named = [part for part in (*parts, current) if part.strip()]
    if len(named) > MAX_RECIPIENTS:
        raise InvalidRequest(f"{field} names more than {MAX_RECIPIENTS} recipients.", details={"field": field})
    return tuple(parse_address(part) for part in named)


async def _saved(gateway: Gateway, account: Account, draft: Draft) -> NumberedDraft:
    raw = await gateway.in_thread(compose.compose, draft, date=gateway.now(), keep_bcc=True)
    saved = await account.drafts.create_draft(raw, thread_ref=draft.threading.thread_ref)
    return await _answer(account, saved, draft, gateway.now())


async def _answer(account: Account, saved: SavedDraft, draft: Draft, now: datetime) -> NumberedDraft:
    uid = await account.numbered.uid_of(saved.message_ref)
    to = ", ".join(str(address) for address in draft.to)
    return NumberedDraft(uid, draft.subject, to, now.isoformat(timespec="seconds"))


async def list_mails(
    gateway: Gateway, *, folder: str, query: str = "", limit: int = 20, offset: int = 0
) -> tuple[tuple[tuple[int, EmailRow], ...], Page[Envelope]]:
    """A folder's mails, newest first, each with its number there."""
    check_page(limit, offset)
    account = await gateway.accounts.open()
    where = In((await find_folder(account, folder)).name)
    wanted = await with_own_addresses(account, parse_query(query, now=gateway.now(), zone=gateway.settings.server.zone))
    page = await account.mailbox.search(wanted.narrowed(where), limit=limit, offset=offset)
    numbers = [await account.numbered.uid_of(envelope.ref) for envelope in page.items]
    return tuple(zip(numbers, await rows(gateway, account, page.items), strict=True)), page


async def read_mail(
    gateway: Gateway, uid: int, folder: str, *, include_quoted: bool = False, offset: int = 0
) -> OpenEmail:
    account = await gateway.accounts.open()
    found = await mail_with_uid(account, uid, folder)
    email_id = (await row(gateway, account, found)).email_id
    return await read_email(gateway, email_id, include_quoted=include_quoted, offset=offset)
