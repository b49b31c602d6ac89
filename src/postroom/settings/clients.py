"""HTTP clients with a token of their own, and what each may do: no accounts or toolsets beyond the settings, by its own
gate.

`clients.json` in the home folder holds them. Of a token it keeps only the digest; the token is shown once, to whoever
creates it. It is 32 random bytes, so a plain hash cannot be reversed by guessing.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from postroom.files import atomic_file
from postroom.files.folders import make_private
from postroom.settings.model import Settings
from postroom.settings.problems import SettingsError
from postroom.settings.sections import Gate
from postroom.settings.writing import sole_writer

FILE = "clients.json"
PREFIX = "postroom_"  # lets secret scanners and people recognise one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Client:
    """Empty: as the settings have it."""

    name: str
    digest: str
    accounts: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    gate: str = ""
    read_only: bool = False
    created: str = ""


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def load_clients(home: Path) -> tuple[Client, ...] | None:
    """None if no client was ever created: an empty list is not the same, for whoever revokes the last one does not
    mean to let everybody in."""
    path = home / FILE
    try:
        listed = json.loads(path.read_bytes())["clients"]
        return tuple(_client(each) for each in listed)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. Make it readable for this user.") from None
    except (ValueError, TypeError, KeyError):
        raise SettingsError(
            f"{path} cannot be read, so no client is admitted. Restore it, or stop the server, delete the file and "
            "create the tokens again: without the file nobody on this machine needs a token."
        ) from None


def create(settings: Settings, wanted: Client) -> str:
    """The token of a new client."""
    _check(settings, wanted)
    token = PREFIX + secrets.token_urlsafe(32)
    with _writing(settings.home):
        clients = load_clients(settings.home) or ()
        if any(client.name == wanted.name for client in clients):
            raise SettingsError(f"There is a client {wanted.name} already. Revoke it first, or choose another name.")
        made = replace(wanted, digest=digest(token), created=datetime.now(UTC).isoformat(timespec="seconds"))
        _save(settings.home, (*clients, made))
    return token


def revoke(home: Path, name: str) -> None:
    with _writing(home):  # two at once would bring back what the other revoked
        clients = load_clients(home) or ()
        kept = tuple(client for client in clients if client.name != name)
        if len(kept) == len(clients):
            known = ", ".join(client.name for client in clients) or "there are none"
            raise SettingsError(f"There is no client {name[:80]}. Known clients: {known}.")
        _save(home, kept)


def settings_for(settings: Settings, client: Client) -> Settings:
    """The settings as they apply to this client: its accounts, its toolsets, its gate, and a download folder that no
    other client shares. SettingsError if none of those it was limited to is there."""
    server, safety = settings.server, settings.safety
    toolsets = tuple(name for name in server.toolsets if not client.toolsets or name in client.toolsets)
    accounts = tuple(each for each in settings.accounts if not client.accounts or each.name in client.accounts)
    if client.accounts and not accounts:
        gone = ", ".join(client.accounts)
        raise SettingsError(f"Client {client.name} has no account: there is none called {gone}. Create its token anew.")
    return replace(
        settings,
        accounts=accounts,
        all_downloads=safety.download_dir,
        server=server.model_copy(update={"toolsets": toolsets, "read_only": server.read_only or client.read_only}),
        safety=safety.model_copy(
            update={"gate": client.gate or safety.gate, "download_dir": safety.download_dir / client.name}
        ),
    )


def _check(settings: Settings, wanted: Client) -> None:
    if not _NAME.fullmatch(wanted.name):
        raise SettingsError("A client's name has 1 to 64 letters, digits, dots, underscores and hyphens.")
    _check_each("account", wanted.accounts, [account.name for account in settings.accounts])
    _check_each("toolset", wanted.toolsets, settings.server.toolsets)
    _check_each("gate", (wanted.gate,) if wanted.gate else (), get_args(Gate))


def _check_each(kind: str, given: Iterable[str], offered: Sequence[str]) -> None:
    for name in given:
        if name not in offered:
            raise SettingsError(f"There is no {kind} {name[:80]} here. Choose from {', '.join(offered)}.")


def _client(stored: dict[str, Any]) -> Client:
    if stored["gate"] not in ("", *get_args(Gate)):
        raise ValueError("unknown gate")
    return Client(
        name=str(stored["name"]),
        digest=str(stored["digest"]),
        accounts=tuple(map(str, stored["accounts"])),
        toolsets=tuple(map(str, stored["toolsets"])),
        gate=stored["gate"],
        read_only=stored["read_only"] is not False,
        created=str(stored["created"]),
    )


@contextmanager
def _writing(home: Path) -> Iterator[None]:
    try:
        make_private(home)
        with sole_writer(home):
            yield
    except OSError as error:
        raise SettingsError(f"{home / FILE}: cannot be written: {error.strerror}. Nothing was changed.") from None


def _save(home: Path, clients: tuple[Client, ...]) -> None:
    content = json.dumps({"clients": [asdict(client) for client in clients]}, indent=2) + "\n"
    atomic_file.replace(home / FILE, content.encode())
