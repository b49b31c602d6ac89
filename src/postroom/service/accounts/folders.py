"""Which accounts there are, what each can do, and its folders."""

from __future__ import annotations

from functools import partial

from postroom.mime.clean import clean_line
from postroom.model.capabilities import Capabilities
from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.query.tree import In, Query
from postroom.service.accounts.logins import check_sending
from postroom.service.concurrently import answers_of
from postroom.service.gateway import Account, Gateway
from postroom.service.views import AccountView, FolderView


async def list_accounts(gateway: Gateway, *, check: bool = False) -> tuple[AccountView, ...]:
    """Every configured account; with `check`, reading and sending are tried for each."""
    configured = gateway.accounts.configured
    said = await answers_of([partial(_status, gateway, account.name) for account in configured if check])
    statuses = [str(status) for status in said] or [""] * len(configured)
    return tuple(
        AccountView(account.name, account.provider, account.address, position == 0, status)
        for position, (account, status) in enumerate(zip(configured, statuses, strict=True))
    )


async def _status(gateway: Gateway, name: str) -> str:
    """Checked again each time: a connection that worked an hour ago proves nothing about now."""
    try:
        await reach(gateway, name)
    except PostroomError as error:
        return f"reading: {error.code}: {error.message}"
    try:
        await check_sending(gateway, name)
    except PostroomError as error:
        return f"sending: {error.code}: {error.message}"
    return "ok"


async def reach(gateway: Gateway, name: str) -> None:
    """Asks the server itself: a mirror would answer in its place."""
    account = await gateway.accounts.open(name)
    await account.at_server.search(Query(In(Role.INBOX)), limit=1, offset=0)


async def capabilities(gateway: Gateway, account: str | None = None) -> tuple[str, Capabilities]:
    opened = await gateway.accounts.open(account)
    return opened.name, opened.capabilities


async def list_folders(gateway: Gateway, account: str | None = None) -> tuple[FolderView, ...]:
    opened = await gateway.accounts.open(account)
    counted = await opened.folders.ask_anew()
    return tuple(folder_view(opened.name, folder) for folder in counted if folder.selectable)


async def folders_of(account: Account) -> list[Folder]:
    """Their counts may be a few seconds old."""
    return [folder for folder in await account.folders.get() if folder.selectable]


async def find_folder(account: Account, wanted: str) -> Folder:
    """By name, role or any case of either; the error lists what there is."""
    folders = await folders_of(account)
    if match_folder(folders, wanted) is None:
        account.folders.forget()  # another program may have made it just now
        folders = await folders_of(account)
    return pick_folder(account, folders, wanted)


async def folders_now(account: Account) -> list[Folder]:
    """For moving messages or creating a folder: which folder is Sent or Drafts is asked of the server each time. A
    mirror knows neither what became of them since nor which of them are guesses."""
    return [folder for folder in await account.folders.ask_anew(account.at_server.folders) if folder.selectable]


def pick_folder(account: Account, folders: list[Folder], wanted: str) -> Folder:
    found = match_folder(folders, wanted)
    if found is None:
        names = ", ".join(clean_line(folder.name) for folder in folders[:30])
        raise InvalidRequest(
            f"There is no mailbox {wanted[:80]!r} in account {account.name}. Mailboxes: {names}.",
            reason="folder_unknown",
            details={"field": "mailbox", "mailbox": wanted[:80]},
        )
    return found


def folder_view(account: str, folder: Folder) -> FolderView:
    return FolderView(
        account=account,
        name=clean_line(folder.name),
        role=folder.role.value if folder.role else "",
        total=folder.total,
        unread=folder.unread,
    )
