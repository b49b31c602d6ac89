"""Where settings come from, and which of them wins."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from postroom.settings import ImapAccount, LocalAccount, RestAccount, Settings, SettingsError, build, load, load_demo

ACCOUNT = '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "alice@example.com"\n'
IMAP = '[[accounts]]\nname = "work"\nprovider = "imap"\naddress = "alice@example.com"\nhost = "imap.example.com"\n'


def write(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    path = tmp_path / "postroom.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def read(tmp_path: Path, text: str, environ: dict[str, str] | None = None, **more: Any) -> Settings:
    return load(write(tmp_path, text), environ={"POSTROOM_HOME": str(tmp_path / "home"), **(environ or {})}, **more)


def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose configuration and data folders lie in `tmp_path`."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "POSTROOM_HOME": str(tmp_path / "home")}


def test_no_settings_at_all_are_the_demo_with_two_local_accounts(tmp_path: Path) -> None:
    settings = load(environ=home(tmp_path))
    assert settings.is_demo
    assert [account.name for account in settings.accounts] == ["alex", "sam"]
    first = settings.accounts[0]
    assert isinstance(first, LocalAccount)
    assert first.path == tmp_path / "home" / "demo" / "alex.db"


def test_a_byte_order_mark_before_the_settings_is_passed_over(tmp_path: Path) -> None:
    assert [account.name for account in read(tmp_path, "\ufeff" + ACCOUNT).accounts] == ["work"]


def test_loading_creates_nothing_on_disk(tmp_path: Path) -> None:
    load(environ=home(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has its own folder for settings, in the real home")
def test_the_users_own_file_is_read_when_none_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "postroom"
    folder.mkdir(parents=True)
    own = write(folder, ACCOUNT)
    settings = load(environ=home(tmp_path))
    assert settings.config_path == own
    assert not settings.is_demo


def test_the_variable_names_the_file_and_the_flag_wins_over_it(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    by_variable, by_flag = write(tmp_path / "one", ACCOUNT), write(tmp_path / "two", ACCOUNT)
    environ = {**home(tmp_path), "POSTROOM_CONFIG": str(by_variable)}
    assert load(environ=environ).config_path == by_variable
    assert load(by_flag, environ=environ).config_path == by_flag


@pytest.mark.parametrize("origin", ["--config", "POSTROOM_CONFIG"])
def test_a_missing_file_that_was_named_is_an_error_that_says_who_named_it(tmp_path: Path, origin: str) -> None:
    absent = tmp_path / "absent.toml"
    environ = home(tmp_path) if origin == "--config" else {**home(tmp_path), "POSTROOM_CONFIG": str(absent)}
    with pytest.raises(SettingsError, match=f"no such file.*{origin}"):
        load(absent if origin == "--config" else None, environ=environ)


def test_a_file_without_accounts_is_an_error_and_not_the_demo(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="names no account"):
        read(tmp_path, "[safety]\ndev_mode = true\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[account]]\nname = "work"\n', "account: unknown key; did you mean accounts"),
        ('[safety]\ngate = "ask"\n', "safety.gate: unknown value 'ask'"),
    ],
)
def test_a_file_without_accounts_is_first_told_its_other_mistakes(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        read(tmp_path, text)


def test_the_demo_ignores_the_users_own_file_but_not_the_environment(tmp_path: Path) -> None:
    environ = {**home(tmp_path), "POSTROOM_CONFIG": str(tmp_path / "absent"), "POSTROOM_SERVER__READ_ONLY": "true"}
    settings = load_demo(environ=environ)
    assert settings.is_demo
    assert settings.server.read_only


def test_defaults_are_the_published_ones_and_paths_lie_in_the_home_folder(tmp_path: Path) -> None:
    settings = read(tmp_path, ACCOUNT)
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8090)
    assert settings.server.toolsets == ("read", "organise", "drafts", "send")
    assert (settings.safety.gate, settings.safety.sends_per_hour) == ("auto", 10)
    assert settings.safety.vault == tmp_path / "home" / "vault"
    assert settings.safety.download_dir == tmp_path / "home" / "downloads"
    assert settings.accounts[0].path == tmp_path / "home" / "mail" / "work.db"  # type: ignore[union-attr]


def test_imap_ports_follow_the_security_and_the_user_name_the_address(tmp_path: Path) -> None:
    plain, own = (
        read(tmp_path, IMAP + extra).accounts[0]
        for extra in ('security = "starttls"\nsmtp_security = "starttls"\n', 'port = 1993\nusername = "al"\n')
    )
    assert isinstance(plain, ImapAccount)
    assert isinstance(own, ImapAccount)
    assert (plain.port, plain.smtp_port, plain.username) == (143, 587, "alice@example.com")
    assert (own.port, own.smtp_port, own.username) == (1993, 465, "al")


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("imap.bücher.example", "imap.xn--bcher-kva.example"),
        ("imap.faß.example", "imap.xn--fa-hia.example"),
        ("imap.example.com.", "imap.example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("mail_1", "mail_1"),
    ],
)
def test_a_servers_name_is_read_the_way_dns_knows_it(tmp_path: Path, written: str, read_as: str) -> None:
    account = read(tmp_path, IMAP.replace("imap.example.com", written)).accounts[0]
    assert isinstance(account, ImapAccount)
    assert account.host == read_as


def test_certificates_are_found_beside_the_file_that_names_them(tmp_path: Path) -> None:
    account = read(tmp_path, IMAP + 'ca_file = "ca.pem"\n').accounts[0]
    assert isinstance(account, ImapAccount)
    assert account.ca_file == tmp_path / "ca.pem"


@pytest.mark.parametrize(
    ("variable", "value", "section", "key", "expected"),
    [
        ("POSTROOM_SAFETY__DEV_MODE", "true", "safety", "dev_mode", True),
        ("POSTROOM_SAFETY__DEV_MODE", "0", "safety", "dev_mode", False),
        ("POSTROOM_SAFETY__SENDS_PER_HOUR", "3", "safety", "sends_per_hour", 3),
        ("POSTROOM_SERVER__TOOLSETS", "read, drafts", "server", "toolsets", ("read", "drafts")),
        ("POSTROOM_SERVER__TOOLSETS", '["read"]', "server", "toolsets", ("read",)),
        ("POSTROOM_SAFETY__ALLOW_RECIPIENTS", "*@Example.com", "safety", "allow_recipients", ("*@Example.com",)),
        ("POSTROOM_LOGGING__LEVEL", "debug", "logging", "level", "debug"),
    ],
)
def test_every_kind_of_value_can_come_from_the_environment(
    tmp_path: Path, variable: str, value: str, section: str, key: str, expected: object
) -> None:
    settings = read(tmp_path, ACCOUNT, {variable: value})
    assert getattr(getattr(settings, section), key) == expected


@pytest.mark.parametrize("which", ["0", "WORK"])
def test_the_environment_reaches_an_account_by_place_or_name(tmp_path: Path, which: str) -> None:
    settings = read(tmp_path, ACCOUNT, {f"POSTROOM_ACCOUNTS__{which}__DISPLAY_NAME": "Alice"})
    assert settings.accounts[0].display_name == "Alice"


def test_accounts_can_come_from_the_environment_alone(tmp_path: Path) -> None:
    one = {f"POSTROOM_ACCOUNTS__0__{key}": value for key, value in
           (("NAME", "box"), ("PROVIDER", "local"), ("ADDRESS", "a@example.com"))}  # fmt: skip
    whole = {"POSTROOM_ACCOUNTS": '[{"name": "box", "provider": "local", "address": "a@example.com"}]'}
    for environ in (one, whole):
        settings = load(environ={**home(tmp_path), **environ})
        assert [account.name for account in settings.accounts] == ["box"]
        assert not settings.is_demo


def test_a_variable_that_only_holds_a_secret_is_not_taken_for_a_setting(tmp_path: Path) -> None:
    assert read(tmp_path, ACCOUNT, {"POSTROOM_WORK_PASSWORD": "x"}).accounts


def test_overrides_win_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    text = ACCOUNT + '[server]\ndialect = "vault"\nread_only = true\n'
    environ = {"POSTROOM_SERVER__DIALECT": "graph"}
    assert read(tmp_path, text, environ).server.dialect == "graph"
    settings = read(tmp_path, text, environ, overrides={"server": {"dialect": "drafts"}})
    assert (settings.server.dialect, settings.server.read_only) == ("drafts", True)


def test_dev_mode_alone_switches_on_and_never_off(tmp_path: Path) -> None:
    on = ACCOUNT + "[safety]\ndev_mode = true\n"
    assert read(tmp_path, ACCOUNT, {"DEV_MODE": "true"}).safety.dev_mode
    assert read(tmp_path, on, {"DEV_MODE": "false"}).safety.dev_mode
    assert not read(tmp_path, ACCOUNT, {"DEV_MODE": "false"}).safety.dev_mode


def test_a_file_in_the_mailapi_form_is_one_rest_account_in_its_dialect(tmp_path: Path) -> None:
    text = (
        '[server]\nbind_addr = "0.0.0.0:8090"\n[mail_api]\nbase_url = "http://mail-rs:8080"\nauth_token = "t0ken"\n'
        '[logging]\nlevel = "info"\nformat = "json"\n'
    )
    settings = read(tmp_path, text)
    account = settings.accounts[0]
    assert isinstance(account, RestAccount)
    assert account.base_url == "http://mail-rs:8080"
    assert account.auth_token is not None
    assert account.auth_token.get_secret_value() == "t0ken"
    assert (settings.server.dialect, settings.server.host, settings.server.port) == ("mailapi", "0.0.0.0", 8090)
    assert settings.warnings == ()


def test_a_file_in_the_mailapi_form_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[mail_api]\nbase_url = "http://mail-rs:8080"\nauth_token = "t0ken"\n')
    path.chmod(0o644)
    settings = load(path, environ={"POSTROOM_HOME": str(tmp_path)})
    (warning,) = settings.warnings
    assert "mail_api.auth_token: other users of this machine can read" in warning
    assert "t0ken" not in warning


@pytest.mark.parametrize(
    "folder", ["vault", "vault/Approved", "vault/approved/x", "vault/../vault/Rejected", "link/Approved", "link"]
)
def test_downloads_are_not_saved_where_they_could_count_as_approvals(tmp_path: Path, folder: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    with pytest.raises(SettingsError, match=r"safety\.download_dir: must not be the vault or one of its folders"):
        build({"safety": {"download_dir": folder}}, home=tmp_path)
    for elsewhere in ("vault-downloads", "vault/downloads", "downloads/Approved"):
        assert build({"safety": {"download_dir": elsewhere}}, home=tmp_path)
