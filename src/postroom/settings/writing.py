"""Adding an account to the settings file, or removing one: everything else in it stays the same, byte for byte."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from postroom.files import atomic_file
from postroom.files.folders import make_private
from postroom.settings import file
from postroom.settings.environment import merge_environment
from postroom.settings.loading import build
from postroom.settings.model import Settings
from postroom.settings.paths import config_file, home_folder
from postroom.settings.problems import SettingsError

Table = Mapping[str, Any]

_ACCOUNT = re.compile(rb"\s*\[\[\s*accounts\s*\]\]")
_IN_ONE_LIST = "accounts = [...] takes no table below it; write each account as [[accounts]], and add this yourself:"
_PART = re.compile(rb"\s*\[\[?\s*accounts\s*\.")  # [accounts.oauth] and the like, of the account above it


def target(path: Path | None, environ: Mapping[str, str]) -> Path:
    """The file that `load` would read, whether or not it exists yet."""
    return file.named(path, environ) or config_file(environ)


def grown(path: Path, account: Table | None, environ: Mapping[str, str]) -> Settings:
    """What the settings would be with this account at the end of the file; without one, as they are.

    Unlike `load`, this does not replace a missing file, or one without accounts, by the sample mailbox.
    """
    data = file.read(path) if file.is_file(path) else {}
    if account is not None:
        data = {**data, "accounts": [*data.get("accounts", []), dict(account)]}
    return build(merge_environment(data, environ), home=home_folder(environ), config_path=path)


def append_account(path: Path, account: Table) -> None:
    """Creates the file, readable only by its owner, if there is none. All or nothing."""
    _rewrite(path, lambda before: _appended(path, before, account))


def remove_account(path: Path, name: str) -> None:
    """Removes its table from the file; the comments around it stay. All or nothing."""
    _rewrite(path, lambda before: _without(path, before, name))


def _rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path = path.resolve()  # a link to the real file stays a link
    try:
        make_private(path.parent)
        with sole_writer(path.parent):
            before = path.read_bytes() if path.exists() else b""
            mode = path.stat().st_mode & 0o777 if path.exists() else atomic_file.OWNER_ONLY
            atomic_file.replace(path, change(before), mode=mode)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror}") from None


def rendered(account: Table) -> str:
    return "\n".join(["[[accounts]]", *(f"{key} = {_value(value)}" for key, value in account.items()), ""])


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # TOML's basic strings escape the same characters the same way


def _appended(path: Path, before: bytes, account: Table) -> bytes:
    _refuse_second(path, before, account)
    line_end = b"\r\n" if b"\r\n" in before else b"\n"
    text = rendered(account).encode().replace(b"\n", line_end)
    gap = b"" if not before else line_end if before.endswith(b"\n") else line_end * 2
    after = before + gap + text
    if _parsed(after) is None and _parsed(before) is not None:
        raise SettingsError(f"{path}: {_IN_ONE_LIST}\n{rendered(account)}")
    if _parsed(after) != _expected(_parsed(before), account):
        raise SettingsError(f"{path}: cannot add an account at the end; add this yourself:\n{rendered(account)}")
    return after


def _refuse_second(path: Path, before: bytes, account: Table) -> None:
    """Its name was free when somebody was asked for the password."""
    taken = {str(one.get("name")).casefold() for one in (_parsed(before) or {}).get("accounts", [])}
    if str(account["name"]).casefold() in taken:
        raise SettingsError(
            f"{path}: there is an account called {account['name']} by now. Nothing was written; choose another --name"
        )


def _expected(before: dict[str, Any] | None, account: Table) -> dict[str, Any] | None:
    if before is None or "mail_api" in before:  # [mail_api] is its own account list
        return {}
    return {**before, "accounts": [*before.get("accounts", []), dict(account)]}


def _without(path: Path, before: bytes, name: str) -> bytes:
    """Its lines are found by pattern; parsing both versions verifies that nothing else was removed."""
    data = _parsed(before) or {}
    names = [str(account.get("name")) for account in data.get("accounts", [])]
    lines = before.splitlines(keepends=True)
    after = b"".join(_cut(lines, names.index(name))) if name in names else b""
    kept = [account for account in data.get("accounts", []) if account.get("name") != name]
    expected = {**data, "accounts": kept} if kept else {key: data[key] for key in data if key != "accounts"}
    if name not in names or _parsed(after) != expected:
        raise SettingsError(f"{path}: cannot remove account {name}; remove its lines yourself")
    return after


def _cut(lines: Sequence[bytes], number: int) -> Sequence[bytes]:
    """Without the account's header and what follows, tables of its own too, up to its last key; of two adjacent blank
    lines, one stays."""
    headers = [place for place, line in enumerate(lines) if line.lstrip().startswith(b"[")]
    accounts = [place for place in headers if _ACCOUNT.match(lines[place])]
    if number >= len(accounts):
        return lines
    start = accounts[number]
    end = next((place for place in headers if place > start and not _PART.match(lines[place])), len(lines))
    while lines[end - 1].lstrip()[:1] in (b"", b"#"):
        end -= 1
    if start and not lines[start - 1].strip() and (end == len(lines) or not lines[end].strip()):
        start -= 1
    return [*lines[:start], *lines[end:]]


def _parsed(content: bytes) -> dict[str, Any] | None:
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """One at a time: two writers that read the same file and write it back would lose one of the changes."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
