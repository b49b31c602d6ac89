"""Accounts that were removed from the settings file while a process runs that was started with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from postroom.settings import file
from postroom.settings.environment import merge_environment
from postroom.settings.problems import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from postroom.settings.model import Settings

_State = tuple[int, int, int]  # of the file


class Withdrawn:
    """Each `look` tells which of the accounts are gone, as far as that is certain: an editor may have written only the
    beginning of the file yet, so they have to be missing at two looks. A file that cannot be read, is broken or is
    empty (on a full disk it stays that) changes nothing."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] | None = None) -> None:
        self._path = None if settings.is_demo else settings.config_path
        self._names = frozenset(account.name for account in settings.accounts)
        self._environ = os.environ if environ is None else environ
        self._state: _State | None = None
        self._missing: frozenset[str] = frozenset()
        self._gone: frozenset[str] = frozenset()

    def look(self) -> frozenset[str]:
        state = _state_of(self._path)
        if self._path is None or state is None or (state == self._state and self._missing == self._gone):
            return self._gone
        found = _names_in(self._path, self._environ)
        if found is None:
            return self._gone
        missing = self._names - found
        self._gone = missing & (self._missing | self._gone)
        self._state, self._missing = state, missing
        return self._gone


def _state_of(path: Path | None) -> _State | None:
    try:
        found = path.stat() if path is not None else None
    except OSError:  # it is being replaced, or its disk does not answer
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found is not None and found.st_size else None


def _names_in(path: Path, environ: Mapping[str, str]) -> frozenset[str] | None:
    """Of the accounts; None where the file is not readable, or not finished."""
    try:
        accounts = merge_environment(file.read(path, lambda _: None), environ).get("accounts", [])
        return frozenset(str(account["name"]) for account in accounts)
    except (SettingsError, OSError, KeyError, TypeError):  # it may be replaced while it is read
        return None
