"""Whether other users of this machine can access files that contain secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from postroom.settings.accounts import AccountSettings
from postroom.settings.problems import SettingsError
from postroom.settings.sections import ServerSettings

_GROUP, _OTHERS = 0o060, 0o006  # to read the secret or to replace it


def is_exposed(file: os.stat_result) -> bool:
    """A group may read a file owned by root, since that is how services get their secrets; not a file of our own. Of
    root's, one of another group was given to a service."""
    if os.name != "posix":
        return False
    is_own_of_root = os.geteuid() == file.st_gid == 0
    is_given = file.st_uid == 0 and not is_own_of_root and not file.st_mode & 0o020
    return bool(file.st_mode & (_OTHERS if is_given else _GROUP | _OTHERS))


def refuse_exposed(server: ServerSettings, accounts: Sequence[AccountSettings]) -> None:
    """Checked at startup, not at first use. A missing file is reported at first use."""
    for key, path in _secret_files(server, accounts):
        with suppress(OSError):
            if is_exposed(path.stat()):
                raise SettingsError(f"{key}: {how_to_close(path)}")


def how_to_close(path: Path) -> str:
    return f"other users of this machine can read or change the secret in {path}; run chmod 600 on the file"


def _secret_files(server: ServerSettings, accounts: Sequence[AccountSettings]) -> Iterator[tuple[str, Path]]:
    if server.tokens_file is not None:
        yield "server.tokens_file", server.tokens_file
    for place, account in enumerate(accounts):
        for secret in account.secrets:
            if path := getattr(account, f"{secret}_file"):
                yield f"accounts[{place}].{secret}_file", path
        oauth = getattr(account, "oauth", None)
        if oauth is not None and oauth.client_secret_file:
            yield f"accounts[{place}].oauth.client_secret_file", oauth.client_secret_file
