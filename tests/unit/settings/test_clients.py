"""Clients with a token of their own: created, kept as digests, revoked, and never allowed more than the settings."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from postroom.settings import Settings, SettingsError, build
from postroom.settings.clients import FILE, Client, create, digest, load_clients, revoke, settings_for

ACCOUNTS = [
    {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}
    for name in ("alex", "sam")
]


def settings_in(home: Path, **server: object) -> Settings:
    return build({"accounts": ACCOUNTS, "server": server}, home=home)


def wanted(name: str = "laptop", **more: object) -> Client:
    return Client(name, "", **more)  # type: ignore[arg-type]


def test_of_a_token_only_the_digest_is_kept_in_a_file_of_the_owner(tmp_path: Path) -> None:
    token = create(settings_in(tmp_path), wanted(accounts=("sam",), read_only=True))
    file = tmp_path / FILE

    (client,) = load_clients(tmp_path) or ()

    assert token not in file.read_text()
    assert client.digest == digest(token)
    assert (client.accounts, client.read_only, client.gate) == (("sam",), True, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_two_tokens_are_alike(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)

    assert len({create(settings, wanted(f"c{number}")) for number in range(20)}) == 20


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (wanted("two words"), "letters, digits"),
        (wanted(""), "letters, digits"),
        (wanted("../x"), "letters, digits"),
        (wanted(accounts=("alec",)), "There is no account alec here. Choose from alex, sam"),
        (wanted(toolsets=("templates",)), "There is no toolset templates here"),
        (wanted(gate="open"), "There is no gate open here"),
    ],
)
def test_a_client_that_could_not_be_served_is_refused_and_nothing_is_written(
    tmp_path: Path, client: Client, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        create(settings_in(tmp_path), client)
    assert load_clients(tmp_path) is None


def test_a_name_is_given_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    create(settings, wanted())

    with pytest.raises(SettingsError, match="Revoke it first"):
        create(settings, wanted(read_only=True))

    assert [client.read_only for client in load_clients(tmp_path) or ()] == [False]


def test_revoking_the_last_client_leaves_a_list_that_admits_nobody(tmp_path: Path) -> None:
    create(settings_in(tmp_path), wanted())

    revoke(tmp_path, "laptop")

    assert load_clients(tmp_path) == ()
    with pytest.raises(SettingsError, match="There is no client laptop"):
        revoke(tmp_path, "laptop")


def test_revoking_where_nothing_was_ever_created_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there are none"):
        revoke(tmp_path / "new", "laptop")


def _create(home: Path, name: str) -> None:
    create(settings_in(home), wanted(name))


def test_creators_at_the_same_time_lose_nobody(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(6)]
    processes = [multiprocessing.get_context("spawn").Process(target=_create, args=(tmp_path, name)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert sorted(client.name for client in load_clients(tmp_path) or ()) == names


def test_a_client_never_gets_more_than_the_settings_allow(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, read_only=True, toolsets=["read", "drafts"])

    narrowed = settings_for(settings, wanted(toolsets=("drafts", "send"), accounts=("sam",)))

    assert narrowed.server.toolsets == ("drafts",)
    assert narrowed.server.read_only
    assert [account.name for account in narrowed.accounts] == ["sam"]


def test_a_client_whose_account_is_gone_gets_no_other(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^Client laptop has no account: there is none called gone\."):
        settings_for(settings_in(tmp_path), wanted(accounts=("gone",)))
    left = settings_for(settings_in(tmp_path), wanted(accounts=("gone", "sam")))
    assert [account.name for account in left.accounts] == ["sam"]


def test_a_client_without_wishes_gets_what_the_settings_have(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)

    own = settings_for(settings, wanted())

    assert (own.accounts, own.server, own.safety.gate) == (settings.accounts, settings.server, settings.safety.gate)
    assert own.safety.download_dir == settings.safety.download_dir / "laptop"
    assert settings_for(settings, wanted(gate="approval")).safety.gate == "approval"


def test_a_client_that_is_limited_to_no_account_lacks_none_where_there_are_none(tmp_path: Path) -> None:
    assert settings_for(build({}, home=tmp_path), wanted()).accounts == ()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"clients": 1}', '{"clients": [{}]}'])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)

    with pytest.raises(SettingsError, match=FILE):
        load_clients(tmp_path)


def test_an_unknown_gate_in_the_file_is_not_read_as_the_default(tmp_path: Path) -> None:
    create(settings_in(tmp_path), wanted(gate="approval"))
    stored = json.loads((tmp_path / FILE).read_text())
    stored["clients"][0]["gate"] = "apprval"
    (tmp_path / FILE).write_text(json.dumps(stored))

    with pytest.raises(SettingsError):
        load_clients(tmp_path)


def test_a_disk_that_takes_nothing_is_said_in_words_and_nobody_is_revoked_by_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    create(settings, wanted())
    before = (tmp_path / FILE).read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match=r"clients\.json: cannot be written: No space left on device"):
        create(settings, wanted("desk"))
    with pytest.raises(SettingsError, match=r"clients\.json: cannot be written: .* Nothing was changed"):
        revoke(tmp_path, "laptop")
    assert (tmp_path / FILE).read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {FILE}
