"""Secrets, fetched when they are needed: from the settings, a variable, a file, or where `keep` stored them.

`keep` prefers the system's keyring; on a machine without one it writes an encrypted file in the home folder. What is
stored is under the `secrets_name` of the account, or else under its name alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import SecretStr

from postroom.model.errors import AuthRequired
from postroom.settings import secret_file
from postroom.settings.accounts import Account
from postroom.settings.exposure import how_to_close, is_exposed
from postroom.settings.fields import Section
from postroom.settings.mailboxes import named, secrets_name
from postroom.settings.oauth import OAuthSettings
from postroom.settings.paths import home_folder
from postroom.settings.sections import ServerSettings

KEYRING_SERVICE = "postroom"


def resolve(account: Account, secret: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The value of `secret` (``password``, ``token``, ...), or None if none was ever set.

    AuthRequired when the settings name a variable or a file that does not exist: continuing without it would only
    fail later, and less clearly.
    """
    return _resolved(account, account, secret, os.environ if environ is None else environ)


def is_at_hand(account: Account, secret: str) -> bool:
    """Whether `resolve` finds it without a look at a disk or a keyring."""
    return getattr(account, secret) is not None or bool(getattr(account, f"{secret}_env"))


def client_secret(account: Account, oauth: OAuthSettings) -> str:
    """Empty if the service issues none to programs on people's machines."""
    return _resolved(oauth, account, "client_secret", os.environ) or ""


def _resolved(section: Section, account: Account, secret: str, environ: Mapping[str, str]) -> str | None:
    where = f"account {account.name}: {secret}"
    written: SecretStr | None = getattr(section, secret)
    if written is not None:
        return written.get_secret_value()
    if variable := getattr(section, f"{secret}_env"):
        return _from_variable(variable, f"{where}_env", environ)
    if path := getattr(section, f"{secret}_file"):
        return _from_file(path, f"{where}_file")
    return in_either_place(secrets_name(account), secret, environ=environ)


def in_either_place(account: str, secret: str, *, environ: Mapping[str, str]) -> str | None:
    found = kept(account, secret, environ=environ)
    return found if found is not None or named(account) == account else kept(named(account), secret, environ=environ)


def in_use(account: str, *secrets: str, environ: Mapping[str, str]) -> str:
    """Under which of the two names they are: under the second only where none is under the first, for it may be
    another settings file's. A keyring that is locked for the moment hides both."""
    mine, others = (any(_is_kept(name, secret, environ) for secret in secrets) for name in (account, named(account)))
    return named(account) if others and not mine else account


def kept(account: str, secret: str, *, environ: Mapping[str, str]) -> str | None:
    """The file first: if there is one, it was stored last."""
    return secret_file.read(home_folder(environ), account, secret) or from_keyring(account, secret)


def replace(account: str, secret: str, value: str, *, environ: Mapping[str, str], in_file: bool = False) -> str:
    """`keep`, in place of the one that was used until now."""
    before = in_use(account, secret, environ=environ)
    place = keep(account, secret, value, environ=environ, in_file=in_file)
    if before != account:
        forget(before, secret, environ=environ)
    return place


def keep(account: str, secret: str, value: str, *, environ: Mapping[str, str], in_file: bool = False) -> str:
    """Store it, and return a description of where it is now."""
    home = home_folder(environ)
    if not in_file and _into_keyring(account, secret, value):
        secret_file.remove(home, account, secret)
        return "the system's keyring"
    return f"the encrypted file {secret_file.write(home, account, secret, value)}"


def lies_in_file(account: str, secret: str, *, environ: Mapping[str, str]) -> bool:
    return secret_file.exists(home_folder(environ), account, secret)


def _is_kept(account: str, secret: str, environ: Mapping[str, str]) -> bool:
    return lies_in_file(account, secret, environ=environ) or from_keyring(account, secret) is not None


def forget(account: str, secret: str, *, environ: Mapping[str, str]) -> None:
    """Wherever `keep` stored it; a missing secret is not an error."""
    secret_file.remove(home_folder(environ), account, secret)
    with contextlib.suppress(ImportError):
        import keyring
        import keyring.errors

        with contextlib.suppress(keyring.errors.KeyringError, RuntimeError):
            keyring.delete_password(KEYRING_SERVICE, f"{account}/{secret}")


def resolve_tokens(server: ServerSettings, *, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The bearer tokens of HTTP clients: written out, comma-separated in a variable, or one per line in a file."""
    tokens = [token.get_secret_value().strip() for token in server.tokens]
    if server.tokens_env:
        variables = os.environ if environ is None else environ
        tokens += _listed(_from_variable(server.tokens_env, "server.tokens_env", variables).split(","), "tokens_env")
    if server.tokens_file:
        tokens += _listed(_from_file(server.tokens_file, "server.tokens_file").splitlines(), "tokens_file")
    return tuple(tokens)


def _listed(tokens: Iterable[str], key: str) -> list[str]:
    """At least one: a server without any needs none, and whoever names a place for them does not mean that."""
    found = [token.strip() for token in tokens if token.strip()]
    if not found:
        raise AuthRequired(f"server.{key} names a place without a token in it. Put one there, or remove the key.")
    return found


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


def _into_keyring(account: str, secret: str, value: str) -> bool:
    """Read back to be sure: some keyrings accept everything and store nothing."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return False
    try:
        keyring.set_password(KEYRING_SERVICE, f"{account}/{secret}", value)
        return keyring.get_password(KEYRING_SERVICE, f"{account}/{secret}") == value
    except (keyring.errors.KeyringError, RuntimeError):
        return False


def _from_variable(variable: str, where: str, environ: Mapping[str, str]) -> str:
    value = environ.get(variable, "").strip("\r\n")
    if not value:
        raise AuthRequired(f"{where} names the variable {variable}, which is not set. Set it and start Postroom again.")
    return value


def _from_file(path: Path, where: str) -> str:
    try:
        with path.open(encoding="utf-8-sig") as file:
            if is_exposed(os.fstat(file.fileno())):
                raise AuthRequired(f"{where}: {how_to_close(path)}.")
            value = file.read().strip()
    except (OSError, UnicodeDecodeError):
        raise AuthRequired(f"{where} names {path}, which cannot be read. Create it or correct the path.") from None
    if not value:
        raise AuthRequired(f"{where} names {path}, which is empty. Write the secret into it.")
    return value
