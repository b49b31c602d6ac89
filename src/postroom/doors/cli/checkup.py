"""The checks of `doctor`, one Finding each. The draft it writes is deleted again."""

from __future__ import annotations

import shlex
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from postroom.model.errors import AuthRequired, NotFound, PostroomError, ProviderError
from postroom.model.folder import match_folder
from postroom.service.accounts.mirrors import MirrorStatus, is_of_another, left_behind, status_of
from postroom.service.gateway import Gateway
from postroom.settings import Settings, SettingsError

# What does not work without a folder of that role.
NEEDED_ROLES = {
    "inbox": "nothing can be listed",
    "sent": "no copy of sent messages can be kept",
    "drafts": "no draft can be saved",
    "trash": "nothing can be deleted",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` is what was found, or what to fix when it is not ok."""

    what: str
    ok: bool
    text: str = ""


def installation() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    fine = sys.version_info >= (3, 11)
    yield Finding("python", fine, version if fine else f"{version}; Postroom needs 3.11 or newer")
    yield _full_text()


def settings_and_home(settings: Settings) -> Iterator[Finding]:
    origin = settings.config_path or ("none, the sample mailbox is used" if settings.is_demo else "the environment")
    yield Finding("settings", True, str(origin))
    yield _writable(settings.home)
    for name, files in left_behind(settings).items():
        size = sum(file.stat().st_size for file in files if file.exists())
        if size:
            yield Finding("mirrors", True, _left_behind(name, files, size))


def server(settings: Settings, count_tools: Callable[[Settings], int]) -> Finding:
    try:
        count = count_tools(settings)
    except SettingsError as error:
        return Finding("server", False, error.message)
    return Finding("server", True, f"{count} tools of dialect {settings.server.dialect}")


def clients(settings: Settings) -> Iterator[Finding]:
    """Who is admitted over HTTP, where that takes a token."""
    from postroom.settings.clients import load_clients, settings_for
    from postroom.settings.secrets import resolve_tokens

    try:
        tokens, listed = resolve_tokens(settings.server), load_clients(settings.home)
        for client in listed or ():
            settings_for(settings, client)
    except PostroomError as error:
        yield Finding("clients", False, error.message)
        return
    if tokens or listed is not None:
        yield Finding("clients", True, f"{len(listed or ())} with a token of their own, {len(tokens)} in server.tokens")


async def vault(gateway: Gateway) -> Finding:
    troubles = await gateway.in_thread(gateway.vault.troubles)
    text = " ".join(f"{folder}: {why}" for folder, why in troubles)
    fix = " Make yourself the owner of the folders and run chmod 700 on them, or set safety.vault to another path."
    return Finding("vault", not troubles, text + fix if troubles else str(gateway.vault.root))


async def strangers(gateway: Gateway) -> AsyncIterator[Finding]:
    """Sends of accounts that have another name or are gone. Another settings file may still have them."""
    from postroom.service.sending.outbox import list_outbox

    mine = {account.name for account in gateway.settings.accounts}
    page = await list_outbox(gateway, limit=100)
    if others := sorted({row.account.partition("/")[0] for row in page.results} - mine):
        names = ", ".join(others)
        yield Finding("outbox", True, f"has sends of {names}, not in these settings: postroom outbox list shows them")


async def account(gateway: Gateway, name: str) -> AsyncIterator[Finding]:
    """Connection, folders, reading, a draft if writing is allowed, the logins of SMTP and ManageSieve. If the
    connection fails, only what its mirror has is still looked at."""
    asked = gateway.accounts.named(name)
    looks = (
        ("connect", _connect),
        ("folders", _folders),
        ("read", _read),
        # Before the test draft, after which no mirror is up to date.
        *((("mirror", _mirror),) if getattr(asked, "mirror", "off") != "off" else ()),
        *((("mirror_leave_out", _left_out),) if getattr(asked, "mirror_leave_out", ()) else ()),
        ("draft", _draft),
        ("send", _send),
        *((("sieve", _sieve),) if getattr(asked, "sieve_host", "") else ()),
        ("outbox", _outbox),
    )
    is_connected = True
    for what, look in looks:
        if is_connected or what == "mirror":
            finding = await _looked(f"{name}: {what}", look, gateway, name)
            yield finding
            is_connected = is_connected and (finding.ok or what != "connect")


def _full_text() -> Finding:
    with sqlite3.connect(":memory:") as database:
        try:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5(words)")
        except sqlite3.OperationalError:
            return Finding(
                "sqlite", False, f"{sqlite3.sqlite_version} lacks FTS5; use a Python whose SQLite includes it"
            )
    return Finding("sqlite", True, f"{sqlite3.sqlite_version} with FTS5")


def _writable(home: Path) -> Finding:
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=home):
            return Finding("home", True, str(home))
    except FileExistsError:
        return Finding("home", False, f"{home}: not a folder; move it away or set POSTROOM_HOME")
    except OSError as error:
        return Finding("home", False, f"{home}: {error.strerror}; make it writable or set POSTROOM_HOME")


def _left_behind(name: str, files: Sequence[Path], size: int) -> str:
    remove = shlex.join(["rm", *map(str, files)])
    mail = f"{files[0].parent} still has the mail of {name}, {size / 2**20:.1f} MB"
    return f"{mail}; in these settings no account of that name has a mirror. To remove it: {remove}"


async def _looked(what: str, look: Callable[[Gateway, str], Awaitable[str]], gateway: Gateway, name: str) -> Finding:
    try:
        return Finding(what, True, await look(gateway, name))
    except AuthRequired as error:
        from postroom.service.accounts.logins import explained

        message = explained(error, gateway.accounts.named(name)).message
        hint = "" if "accounts login" in message else f" For a new one: postroom accounts login {name}"
        return Finding(what, False, message + hint)
    except PostroomError as error:
        return Finding(what, False, error.message)


async def _connect(gateway: Gateway, name: str) -> str:
    from postroom.service.accounts.folders import capabilities, reach

    try:
        await reach(gateway, name)
    except PostroomError as error:
        if not error.refused_folder:  # otherwise it is the inbox that cannot be read
            raise
    _, able = await capabilities(gateway, name)
    return able.provider + ("" if able.can_send else ", cannot send")


async def _folders(gateway: Gateway, name: str) -> str:
    from postroom.service.accounts.folders import capabilities, list_folders

    folders = await list_folders(gateway, name)
    _, able = await capabilities(gateway, name)
    needed = {role: harm for role, harm in NEEDED_ROLES.items() if role != "drafts" or able.can_draft}
    found = {folder.role: folder.name for folder in folders}
    missing = [f"no {role} folder, so {harm}" for role, harm in needed.items() if role not in found]
    if missing:
        names = ", ".join(role.title() for role in needed if role not in found)
        raise NotFound(f"{'; '.join(missing)}. Create them in the provider's webmail: {names}")
    return f"{len(folders)} ({', '.join(f'{role} {found[role]}' for role in needed)})"


async def _read(gateway: Gateway, name: str) -> str:
    from postroom.service.reading.read import read_email
    from postroom.service.reading.search import list_emails

    newest = (await list_emails(gateway, account=name, limit=1)).results
    if not newest:
        return "the inbox is empty"
    opened = await read_email(gateway, newest[0].email_id)
    return f"the newest message, {opened.row.date[:10]}, can be read"


async def _draft(gateway: Gateway, name: str) -> str:
    from postroom.service.accounts.folders import capabilities
    from postroom.service.writing.composing import DraftRequest
    from postroom.service.writing.draft import try_draft

    _, able = await capabilities(gateway, name)
    if gateway.settings.server.read_only or not able.can_draft:
        return "not tried: read-only" if able.can_draft else "not tried: this provider has no drafts"
    request = DraftRequest(subject="Postroom doctor", body="This draft is deleted immediately.")
    if not await try_draft(gateway, request, account=name):
        return "not tried: dev mode covers drafts in this dialect"
    return "saved and deleted a test draft"


async def _send(gateway: Gateway, name: str) -> str:
    from postroom.service.accounts.logins import check_sending

    if not gateway.settings.traits.has_transport:
        return f"not tried: nothing is ever sent in dialect {gateway.settings.server.dialect}"
    return await check_sending(gateway, name)


async def _sieve(gateway: Gateway, name: str) -> str:
    rules = await (await gateway.accounts.open(name)).rules.list_rules()
    state = "running" if rules.is_active else "not running"
    return f"logged in; {len(rules.rules)} rules of Postroom's" + (f", {state}" if rules.rules else "")


async def _mirror(gateway: Gateway, name: str) -> str:
    """How much of the account it has, how old it is, how large. Not ok if the latest attempt failed, or the server
    refused folders."""
    status = await gateway.in_thread(status_of, gateway.settings, name)
    if is_of_another(status, gateway.accounts.named(name)):
        return (
            "none; the file is of another mailbox with this account's name. A server with these settings starts it "
            "over, unless one with the other's is running: then give one of the accounts another name"
        )
    if status.last_error:
        raise ProviderError(f"{_extent(gateway, name, status)}. The latest run failed: {status.last_error}")
    if status.refusals:
        raise ProviderError(f"{_extent(gateway, name, status)}. Folders that the server refuses: {status.refusals}")
    return _extent(gateway, name, status)


async def _left_out(gateway: Gateway, name: str) -> str:
    """Not ok if a name is of no folder: what somebody did not want on this machine would be there."""
    from postroom.service.accounts.folders import folders_of

    wanted = getattr(gateway.accounts.named(name), "mirror_leave_out", ())
    folders = await folders_of(await gateway.accounts.open(name))
    unknown = [one for one in wanted if match_folder(folders, one) is None]
    if unknown:
        raise NotFound(f"the account has no folder {', '.join(map(repr, unknown))}; correct the name or remove it")
    return ", ".join(wanted)


def _extent(gateway: Gateway, name: str, status: MirrorStatus) -> str:
    if status.leaves_all_out:
        return "empty; all folders are in mirror_leave_out"
    if status.as_of is None and not status.messages:
        return f"empty; a server fills it, or postroom sync --account {name}"
    much = f"{status.messages} of {status.expected} messages, {status.bytes / 2**20:.0f} MB"
    much += f" ({status.bare} of them only as listed, without their text)" if status.bare else ""
    state = "complete" if status.complete else "being filled"
    if status.as_of is None:
        return f"{much}, {state}, not yet compared with the server"
    age = max(0, round((gateway.now() - status.as_of).total_seconds()))
    return f"{much}, {state}, as of {age} s ago"


async def _outbox(gateway: Gateway, name: str) -> str:
    """Not ok if something needs a person, or cannot be sent because the login was refused or for want of a file."""
    from postroom.service.notices import notices
    from postroom.service.sending.outbox import count_unfinished, list_outbox

    await count_unfinished(gateway)
    page = await list_outbox(gateway, account=name, limit=100)
    waiting = [row for row in page.results if row.state == "needs_human"]
    paused = [notice for notice in notices(gateway) if notice.startswith(f"Account {name} ")]
    if waiting or paused:
        counted = "1 send needs" if len(waiting) == 1 else f"{len(waiting)} sends need"
        need = [f"{counted} a person: postroom outbox list"] if waiting else []
        raise ProviderError(" ".join([*paused, *need]))
    return f"{page.total_count} pending or not sent" if page.total_count else "empty"
