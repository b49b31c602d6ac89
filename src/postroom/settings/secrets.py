"""Secrets, fetched at the moment they are needed: from the settings, a variable, a file or the system's keyring."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from postroom.model.errors import AuthRequired
from postroom.settings.accounts import AccountSettings
from postroom.settings.sections import ServerSettings

KEYRING_SERVICE = "postroom"


def resolve(account: AccountSettings, secret: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The value of `secret` (``password``, ``token``, ...), or None where nobody ever set one.

    AuthRequired when the settings point to a variable or a file that is not there: going on without it would only
    be refused later, and less clearly.
    """
    where = f"account {account.name}: {secret}"
    written: SecretStr | None = getattr(account, secret)
    if written is not None:
        return written.get_secret_value()
    if variable := getattr(account, f"{secret}_env"):
        return _from_variable(variable, f"{where}_env", os.environ if environ is None else environ)
    if path := getattr(account, f"{secret}_file"):
        return _from_file(path, f"{where}_file")
    return from_keyring(account.name, secret)


def resolve_tokens(server: ServerSettings, *, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The bearer tokens of HTTP clients: written out, comma-separated in a variable, or one per line in a file."""
    tokens = [token.get_secret_value() for token in server.tokens]
    if server.tokens_env:
        variables = os.environ if environ is None else environ
        tokens += _from_variable(server.tokens_env, "server.tokens_env", variables).split(",")
    if server.tokens_file:
        tokens += _from_file(server.tokens_file, "server.tokens_file").splitlines()
    return tuple(token.strip() for token in tokens if token.strip())


def from_keyring(account: str, secret: str) -> str | None:
    """None without the keyring package, without a keyring (a headless machine), or without an entry."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    try:
        return keyring.get_password(KEYRING_SERVICE, f"{account}/{secret}")
    except keyring.errors.KeyringError:
        return None


def _from_variable(variable: str, where: str, environ: Mapping[str, str]) -> str:
    value = environ.get(variable, "")
    if not value:
        raise AuthRequired(f"{where} names the variable {variable}, which is not set. Set it and start Postroom again.")
    return value


def _from_file(path: Path, where: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise AuthRequired(f"{where} names {path}, which cannot be read. Create it or correct the path.") from None
