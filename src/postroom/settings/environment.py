"""Settings from the environment: ``POSTROOM_SAFETY__DEV_MODE=true`` is ``[safety] dev_mode = true``.

Only names with a double underscore are settings (and POSTROOM_ACCOUNTS, the whole list as JSON), so that a variable
that `password_env` names may be called POSTROOM_PASSWORD without being mistaken for one. An account is identified by
its index or its name: ``POSTROOM_ACCOUNTS__0__HOST``, ``POSTROOM_ACCOUNTS__WORK__HOST``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from postroom.settings.fields import EnvText, read_switch
from postroom.settings.problems import SettingsError

PREFIX = "POSTROOM_"
ACCOUNTS = "POSTROOM_ACCOUNTS"

Data = dict[str, Any]


def merge_environment(data: Data, environ: Mapping[str, str]) -> Data:
    """`data` with the environment's values on top. The input is not changed."""
    merged = {key: dict(value) if isinstance(value, Mapping) else value for key, value in data.items()}
    if environ.get(ACCOUNTS, "").strip():
        merged["accounts"] = _whole_list(environ[ACCOUNTS])
    for name in sorted(environ):
        if name.startswith(PREFIX) and "__" in name:
            _set(merged, name, EnvText(environ[name]))
    _dev_mode(merged, environ)
    return merged


def merge(below: Data, above: Mapping[str, Any]) -> Data:
    """Tables are merged key by key; anything else in `above` replaces what was there."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


def _whole_list(text: str) -> list[Data]:
    try:
        accounts = json.loads(text)
    except (ValueError, RecursionError):
        accounts = None
    if not isinstance(accounts, list):
        raise SettingsError(f"{ACCOUNTS}: write a JSON array of accounts")
    return accounts


def _set(merged: Data, name: str, value: EnvText) -> None:
    section, *path = name.removeprefix(PREFIX).lower().split("__")
    if section == "accounts" and len(path) == 2:
        _account(merged, path[0], name)[path[1]] = value
    elif section == "accounts" and len(path) == 3:
        account = _account(merged, path[0], name)
        inner = account.get(path[1])
        account[path[1]] = {**(inner if isinstance(inner, dict) else {}), path[2]: value}
    elif len(path) == 1 and isinstance(merged.setdefault(section, {}), dict):
        merged[section][path[0]] = value
    else:
        raise SettingsError(f"{name}: write POSTROOM_SECTION__KEY or POSTROOM_ACCOUNTS__NAME__KEY")


def _account(merged: Data, which: str, variable: str) -> Data:
    written = merged.get("accounts", [])
    if not isinstance(written, list) or not all(isinstance(account, Mapping) for account in written):
        raise SettingsError("accounts: wrong type; write a table [[accounts]] for each account")
    accounts: list[Data] = [dict(account) for account in written]
    merged["accounts"] = accounts
    for place, account in enumerate(accounts):
        if which in (str(place), _as_variable(str(account.get("name", "")))):
            return account
    if which == str(len(accounts)):
        accounts.append({})
        return accounts[-1]
    raise SettingsError(f"{variable}: there is no account {which}; use a number, counted from 0, or a name")


def _as_variable(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "_", name.lower())


def _dev_mode(merged: Data, environ: Mapping[str, str]) -> None:
    """DEV_MODE may only enable dev mode: the name is too common to let it loosen what the operator configured."""
    try:
        wanted = read_switch(environ.get("DEV_MODE") or "false")
    except ValueError:
        raise SettingsError("DEV_MODE: write true or false") from None
    safety = merged.get("safety", {})
    if wanted and "POSTROOM_SAFETY__DEV_MODE" not in environ and isinstance(safety, dict):  # otherwise found below
        merged["safety"] = {**safety, "dev_mode": True}
