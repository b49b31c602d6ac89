"""Secrets in encrypted files of the home folder, for machines without a keyring.

One file per secret, encrypted with AES-256-GCM under the key in ``secrets.key`` and bound to the name it is stored
under. Key and files are in the same place, so this protects a secret from a glance, a search and a copy of the files
alone; anyone who can read everything the user can read can read the secret too.
"""

from __future__ import annotations

import os
from pathlib import Path

from postroom.files import atomic_file
from postroom.model.errors import AuthRequired
from postroom.settings.mailboxes import named
from postroom.settings.problems import SettingsError

KEY_NAME = "secrets.key"
_FOLDER = "secrets"
_FORMAT = b"postroom-1\n"
_KEY_BYTES, _NONCE_BYTES = 32, 12


def read(home: Path, account: str, secret: str) -> str | None:
    """None if none was ever stored; AuthRequired if there is one that cannot be decrypted."""
    try:
        sealed = _path(home, account, secret).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(account, secret, str(error.strerror)) from None
    return _opened(sealed, _key(home, account, secret), account, secret)


def write(home: Path, account: str, secret: str, value: str) -> Path:
    """Returns the path of the file."""
    path = _path(home, account, secret)
    try:
        atomic_file.create(home / KEY_NAME, os.urandom(_KEY_BYTES))
        atomic_file.replace(path, _sealed(value, _key(home, account, secret), account, secret))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def exists(home: Path, account: str, secret: str) -> bool:
    return _path(home, account, secret).is_file()


def remove(home: Path, account: str, secret: str) -> None:
    _path(home, account, secret).unlink(missing_ok=True)


def _path(home: Path, account: str, secret: str) -> Path:
    return home / _FOLDER / f"{account}.{secret}"


def _key(home: Path, account: str, secret: str) -> bytes:
    path = home / KEY_NAME
    try:
        with path.open("rb") as file:
            exposed = os.fstat(file.fileno()).st_mode & 0o077
            key = file.read()
    except OSError as error:
        raise _unreadable(account, secret, f"{path}: {error.strerror}") from None
    if exposed:
        raise AuthRequired(
            f"Other users of this machine can read {path}, the key to the stored secrets. Run chmod 600."
        )
    if len(key) != _KEY_BYTES:
        raise _unreadable(account, secret, f"{path} is damaged")
    return key


def _sealed(value: str, key: bytes, account: str, secret: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return _FORMAT + nonce + AESGCM(key).encrypt(nonce, value.encode(), _name(account, secret))


def _opened(sealed: bytes, key: bytes, account: str, secret: str) -> str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    body = sealed.removeprefix(_FORMAT)
    try:
        return AESGCM(key).decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], _name(account, secret)).decode()
    except (InvalidTag, ValueError):
        raise _unreadable(account, secret, "it was changed, or encrypted with another key") from None


def _name(account: str, secret: str) -> bytes:
    return f"{account}/{secret}".encode()


def _unreadable(account: str, secret: str, why: str) -> AuthRequired:
    fix = f"Store it again: postroom accounts login {named(account)}"
    return AuthRequired(f"The stored {secret} of account {named(account)} cannot be read ({why}). {fix}")
