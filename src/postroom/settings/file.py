"""The TOML file: found, read, and rejected if other users can read a secret in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

from postroom.settings.accounts import BY_PROVIDER
from postroom.settings.environment import Data
from postroom.settings.exposure import is_exposed
from postroom.settings.paths import config_file, named_path
from postroom.settings.problems import SettingsError

_OTHERS_MAY_WRITE = 0o022
_SECRET_KEYS = frozenset({"tokens", "client_secret"}.union(*(account.secrets for account in BY_PROVIDER.values())))


def find(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: the given one, else `$POSTROOM_CONFIG`, else the user's own if there is one."""
    found = named(path, environ)
    if found is None:
        own = config_file(environ)
        return own if is_file(own) else None
    if not is_file(found):
        raise SettingsError(f"{found}: no such file (named by {_origin(path)})")
    return found


def named(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file that the command line or the environment names, whether or not it exists."""
    given = path or environ.get("POSTROOM_CONFIG")
    return named_path(given, _origin(path)) if given else None


def is_file(path: Path) -> bool:
    """SettingsError if nobody can tell: what cannot be read is not the same as no settings."""
    try:
        return S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def _origin(path: Path | None) -> str:
    return "--config" if path else "POSTROOM_CONFIG"


def read(path: Path, warn: Callable[[str], None] | None = None) -> Data:
    """`warn` is called with what is dangerous but still accepted."""
    import tomllib

    try:
        with path.open(encoding="utf-8-sig") as file:
            data, state = tomllib.loads(file.read()), os.fstat(file.fileno())  # of one file, even if it is replaced now
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not valid TOML: the file must be UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    for secret in _secrets(data) if is_exposed(state) else ():
        is_let_pass = secret.startswith("mail_api.") and not state.st_mode & _OTHERS_MAY_WRITE
        _report_exposed(path, secret, warn if is_let_pass else None)
    return _from_mail_api(data)


def _report_exposed(path: Path, secret: str, warn: Callable[[str], None] | None) -> None:
    """An error, except for the token in the mailapi form: such files contain it and are mounted world-readable."""
    name = secret.rpartition(".")[2]
    said = (
        f"{secret}: other users of this machine can read the secret in {path}; run chmod 600 on the file, or write "
        f"{name}_env or {name}_file instead"
    )
    if warn is None:
        raise SettingsError(said)
    warn(said)


def _secrets(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            where = f"{place}.{key}" if place else key
            if inner and (key in _SECRET_KEYS or (where == "store.url" and _has_password(inner))):
                yield where
            yield from _secrets(inner, where)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _secrets(inner, f"{place}[{number}]")


def _has_password(url: Any) -> bool:
    return ":" in str(url).partition("://")[2].rpartition("@")[0]


def _from_mail_api(data: Data) -> Data:
    """A file in the mailapi form, ``[mail_api] base_url, auth_token``, is one `rest` account in that dialect."""
    if "mail_api" not in data:
        return data
    if "accounts" in data:
        raise SettingsError("mail_api: write either [mail_api] or [[accounts]], not both")
    for name in ("mail_api", "server"):
        if not isinstance(data.get(name, {}), dict):
            raise SettingsError(f"{name}: wrong type; write a table")
    rest = {"name": "mail", "provider": "rest", **data["mail_api"]}
    server = {"dialect": "mailapi", **data.get("server", {})}
    kept = {key: value for key, value in data.items() if key != "mail_api"}
    return {**kept, "server": server, "accounts": [rest]}
