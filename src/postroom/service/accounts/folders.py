"""Which accounts there are, what each can do, its folders and the addresses it may write as."""

from __future__ import annotations

from postroom.mime.clean import clean_line
from postroom.model.capabilities import Capabilities
from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.folder import Folder, Role, match_folder
from postroom.model.query.tree import In, Query
from postroom.service.accounts.logins import check_sending
from postroom.service.gateway import Account, Gateway
from postroom.service.views import AccountView, FolderView, IdentityView


async def list_accounts(gateway: Gateway, *, check: bool = False) -> tuple[AccountView, ...]:
    """Every configured account; with `check` each is asked for mail and tried for sending."""
    return tuple(
        [
            AccountView(
                name=account.name,
                provider=account.provider,
                address=account.address,
                is_default=position == 0,
                status=await _status(gateway, account.name) if check else "",
            )
            for position, account in enumerate(gateway.accounts.configured)
        ]
    )


async def _status(gateway: Gateway, name: str) -> str:
    """Asked anew each time: a connection that worked an hour ago says nothing about now."""
    try:
        account = await gateway.accounts.open(name)
        await account.mailbox.search(Query(In(Role.INBOX)), limit=1, offset=0)
    except PostroomError as error:
        return f"reading: {error.code}: {error.message}"
    try:
        await check_sending(gateway, name)
    except PostroomError as error:
        return f"sending: {error.code}: {error.message}"
    return "ok"


async def capabilities(gateway: Gateway, account: str | None = None) -> tuple[str, Capabilities]:
    opened = await gateway.accounts.open(account)
    return opened.name, opened.capabilities


async def list_folders(gateway: Gateway, account: str | None = None) -> tuple[FolderView, ...]:
    opened = await gateway.accounts.open(account)
    return tuple(folder_view(opened.name, folder) for folder in await opened.mailbox.folders() if folder.selectable)


async def list_identities(gateway: Gateway, account: str | None = None) -> tuple[IdentityView, ...]:
    opened = await gateway.accounts.open(account)
    return tuple(
        IdentityView(
            account=opened.name,
            email=identity.address.email,
            name=clean_line(identity.address.name),
            is_default=identity.is_default,
            signature_html=identity.signature_html,
        )
        for identity in await opened.mailbox.identities()
    )


async def folders_of(account: Account) -> list[Folder]:
    return [folder for folder in await account.mailbox.folders() if folder.selectable]


async def find_folder(account: Account, wanted: str) -> Folder:
    """By name, role or any case of either; the error lists what there is."""
    return pick_folder(account, await folders_of(account), wanted)


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
