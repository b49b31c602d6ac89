"""Secrets in encrypted files: what lies on the disk, who can read it, and when it is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from postroom.model.errors import AuthRequired
from postroom.providers.oauth.keeping import Keeping, Login
from postroom.settings import ImapAccount, SettingsError, secret_file, secrets
from postroom.settings.mailboxes import secrets_name

SECRET = "correct horse battery staple ü"


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory; `forgetful` takes everything and keeps nothing, `absent` is none at all."""

    priority = 1.0

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        self._fail_if_absent()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._fail_if_absent()
        if self.kind != "forgetful":
            self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._fail_if_absent()
        if self.entries.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError

    def _fail_if_absent(self) -> None:
        if self.kind == "absent":
            raise keyring.errors.NoKeyringError


@pytest.fixture
def ring(request: pytest.FixtureRequest) -> Iterator[Ring]:
    before, ring = keyring.get_keyring(), Ring(getattr(request, "param", ""))
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def on_disk(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert secret_file.read(tmp_path, "work", "password") is None
    secret_file.write(tmp_path, "work", "password", "old")
    secret_file.write(tmp_path, "work", "password", SECRET)
    secret_file.write(tmp_path, "me@example.com", "token", "t")
    assert secret_file.read(tmp_path, "work", "password") == SECRET
    assert secret_file.read(tmp_path, "me@example.com", "token") == "t"
    secret_file.remove(tmp_path, "work", "password")
    secret_file.remove(tmp_path, "work", "password")
    assert secret_file.read(tmp_path, "work", "password") is None


def test_nothing_on_the_disk_shows_the_secret_and_only_the_owner_can_read_it(tmp_path: Path) -> None:
    secret_file.write(tmp_path / "home", "work", "password", SECRET)
    files = on_disk(tmp_path)
    assert len(files) == 2
    for path in files:
        assert SECRET.encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


def test_the_same_secret_is_sealed_differently_each_time(tmp_path: Path) -> None:
    path = secret_file.write(tmp_path, "work", "password", SECRET)
    before = path.read_bytes()
    assert secret_file.write(tmp_path, "work", "password", SECRET).read_bytes() != before


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = secret_file.write(tmp_path, "work", "password", SECRET)
    whole = path.read_bytes()
    for at in (len(whole) - 1, 15, 0):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(AuthRequired, match="postroom accounts login work"):
            secret_file.read(tmp_path, "work", "password")
    path.write_bytes(b"")
    with pytest.raises(AuthRequired):
        secret_file.read(tmp_path, "work", "password")


def test_one_accounts_file_does_not_open_as_anothers(tmp_path: Path) -> None:
    path = secret_file.write(tmp_path, "work", "password", SECRET)
    path.rename(path.with_name("home.password"))
    with pytest.raises(AuthRequired):
        secret_file.read(tmp_path, "home", "password")


@pytest.mark.parametrize("damage", ["lost", "other", "short"])
def test_without_its_key_a_secret_is_lost_and_it_is_said(tmp_path: Path, damage: str) -> None:
    secret_file.write(tmp_path, "work", "password", SECRET)
    key = tmp_path / secret_file.KEY_NAME
    key.unlink()
    if damage != "lost":
        key.write_bytes(b"x" * (32 if damage == "other" else 5))
        key.chmod(0o600)
    with pytest.raises(AuthRequired) as caught:
        secret_file.read(tmp_path, "work", "password")
    assert SECRET not in caught.value.message


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    secret_file.write(tmp_path, "work", "password", SECRET)
    (tmp_path / secret_file.KEY_NAME).chmod(0o644)
    with pytest.raises(AuthRequired, match="chmod 600"):
        secret_file.read(tmp_path, "work", "password")


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        secret_file.write(tmp_path / "file" / "home", "work", "password", SECRET)


def test_many_who_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    names = [f"account{number}" for number in range(16)]
    start = threading.Barrier(len(names))

    def store(name: str) -> None:
        start.wait()
        secret_file.write(tmp_path, name, "password", name)

    threads = [threading.Thread(target=store, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [secret_file.read(tmp_path, name, "password") for name in names] == names
    assert len(on_disk(tmp_path)) == len(names) + 1


def account() -> ImapAccount:
    return ImapAccount(name="work", address="alice@example.com", host="imap.example.com")


def test_a_secret_is_kept_in_the_keyring_where_there_is_one(tmp_path: Path, ring: Ring) -> None:
    environ = {"POSTROOM_HOME": str(tmp_path)}
    place = secrets.keep("work", "password", SECRET, environ=environ)
    assert "keyring" in place
    assert on_disk(tmp_path) == []
    assert secrets.resolve(account(), "password", environ=environ) == SECRET


@pytest.mark.parametrize("ring", ["absent", "forgetful"], indirect=True)
def test_a_secret_is_kept_in_a_file_where_no_keyring_keeps_it(tmp_path: Path, ring: Ring) -> None:
    environ = {"POSTROOM_HOME": str(tmp_path)}
    place = secrets.keep("work", "password", SECRET, environ=environ)
    assert str(tmp_path) in place
    assert secrets.resolve(account(), "password", environ=environ) == SECRET


def test_what_was_kept_last_counts_wherever_it_is(tmp_path: Path, ring: Ring) -> None:
    environ = {"POSTROOM_HOME": str(tmp_path)}
    for value, in_file in (("one", False), ("two", True), ("three", False)):
        secrets.keep("work", "password", value, environ=environ, in_file=in_file)
        assert secrets.resolve(account(), "password", environ=environ) == value


@pytest.mark.parametrize("ring", ["", "absent"], indirect=True)
def test_a_forgotten_secret_is_gone_from_everywhere(tmp_path: Path, ring: Ring) -> None:
    environ = {"POSTROOM_HOME": str(tmp_path)}
    for in_file in (False, True):
        secrets.keep("work", "password", SECRET, environ=environ, in_file=in_file)
    for _ in range(2):
        secrets.forget("work", "password", environ=environ)
        assert secrets.resolve(account(), "password", environ=environ) is None


def test_a_login_that_is_renewed_while_the_keyring_is_locked_counts_when_it_is_open_again(
    tmp_path: Path, ring: Ring
) -> None:
    keeping = Keeping(secrets_name(account()), {"POSTROOM_HOME": str(tmp_path)})
    keeping.write(Login("access", 0, "first"))
    ring.kind = "absent"
    keeping.write_again(Login("access", 0, "second"))
    ring.kind = ""
    assert keeping.read().refresh_token == "second"
