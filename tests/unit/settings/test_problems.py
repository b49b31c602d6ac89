"""Every mistake in the settings gets one line that names the key and the fix, and repeats no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.model.errors import InvalidRequest
from postroom.settings import SettingsError, build, load

LOCAL = '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "alice@example.com"\n'
IMAP = '[[accounts]]\nname = "work"\nprovider = "imap"\naddress = "alice@example.com"\nhost = "imap.example.com"\n'


def problem(tmp_path: Path, text: str, *, mode: int = 0o600, environ: dict[str, str] | None = None) -> str:
    path = tmp_path / "postroom.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    path.chmod(mode)
    with pytest.raises(SettingsError) as caught:
        load(path, environ={"POSTROOM_HOME": str(tmp_path), **(environ or {})})
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (IMAP + 'hots = "x"\n', "accounts[0].hots: unknown key; did you mean host?"),
        (LOCAL + "[safty]\n", "safty: unknown key; did you mean safety?"),
        (LOCAL + "[safety]\ndev_mod = true\n", "safety.dev_mod: unknown key; did you mean dev_mode?"),
        (LOCAL + "[safety]\nzzzzzz = true\n", "safety.zzzzzz: unknown key"),
        (IMAP.replace("host =", "#"), "accounts[0].host: missing"),
        (LOCAL.replace("provider", "#"), "accounts[0].provider: missing"),
        (LOCAL.replace('"local"', '"imapp"'), "accounts[0].provider: unknown value 'imapp'; did you mean imap?"),
        (IMAP + '[[accounts.identities]]\nadress = "b@example.com"\n', "adress: unknown key; did you mean address?"),
        (LOCAL + '[safety]\ngate = "confrm"\n', "safety.gate: unknown value 'confrm'; did you mean confirm?"),
        (LOCAL + '[server]\ndialect = "draft"\n', "server.dialect: unknown value 'draft'; did you mean drafts?"),
        (LOCAL + '[server]\ndialect = "grpah"\n', "server.dialect: unknown value 'grpah'; did you mean graph? one of"),
        (LOCAL + '[server]\ntoolsets = ["rulez"]\n', "'rulez'; did you mean rules? one of read, organise, drafts"),
        (LOCAL.replace('"local"', '"gmial"'), "accounts[0].provider: unknown value 'gmial'; did you mean gmail?"),
        (LOCAL + '[server]\ntoolsets = ["read", "sned"]\n', "server.toolsets[1]: unknown value 'sned'"),
        (LOCAL + '[server]\ntoolsets = "read"\n', "server.toolsets: write a list"),
        (LOCAL + '[server]\nbind_addr = "localhost"\n', "server.bind_addr: write host:port"),
        (LOCAL + '[server]\nbind_addr = "http://127.0.0.1:8090"\n', "server.bind_addr: write host:port"),
        (LOCAL + '[safety]\ndev_mode = "yes"\n', "safety.dev_mode: wrong type; write true or false, without quotes"),
        (LOCAL + '[safety]\nsends_per_hour = "10"\n', "safety.sends_per_hour: wrong type; write a whole number"),
        (LOCAL + "[safety]\nsends_per_hour = -1\n", "safety.sends_per_hour: "),
        (LOCAL + "[logging]\nlevel = 3\n", "logging.level: unknown value '3'"),
        (LOCAL + "logging = 3\n", "accounts[0].logging: unknown key"),
        ("logging = 3\n" + LOCAL, "logging: wrong type; write a table"),
        (IMAP + "port = 70000\n", "accounts[0].port: "),
        (IMAP + "timeout = 999999999999\n", "accounts[0].timeout: Input should be less than or equal to 3600"),
        (LOCAL + "[safety]\nhold_seconds = 999999999999999\n", "safety.hold_seconds: Input should be less than"),
        (IMAP + "mirror_days = 999999999\n", "accounts[0].mirror_days: Input should be less than or equal to 36500"),
        *((IMAP.replace("imap.example.com", host), "accounts[0].host: write just a host name")
          for host in ("imaps://imap.example.com", "imap.example.com:993", "imap example", "x" * 64, "", "a@b.com")),
        (IMAP + 'smtp_host = "smtp.example.com:465"\n', "accounts[0].smtp_host: write just a host name"),
        (LOCAL.replace("alice@example.com", "alice"), "accounts[0].address: write an address like alice@example.com"),
        (LOCAL.replace('"work"', '"all"'), "accounts[0].name: all stands for every account; choose another name"),
        (LOCAL.replace('"work"', '"a/b"'), "accounts[0].name: use letters, digits"),
        (LOCAL + LOCAL, "accounts[0].name: two accounts are named work; rename one"),
        (IMAP + 'password = "a"\npassword_env = "B"\n', "accounts[0]: password and password_env are set"),
        (LOCAL + '[store]\nurl = "mysql://x"\n', "store.url: leave it empty for SQLite"),
        (LOCAL + '[mail_api]\nbase_url = "http://x"\n', "mail_api: write either [mail_api] or [[accounts]], not both"),
        ('[mail_api]\nbase_ulr = "http://x"\n', "accounts[0].base_ulr: unknown key; did you mean base_url?"),
        ('server = 3\n[mail_api]\nbase_url = "http://x"\n', "server: wrong type; write a table"),
        (LOCAL + '[safety]\nvault = "~nobody-here/vault"\n', "safety.vault: there is no home folder for ~nobody-here"),
        (LOCAL + '[safety]\nvault = "a\\u0000b"\n', "safety.vault: a path has no NUL character"),
        (LOCAL + '[server]\ntokens = [" "]\n', "server.tokens[0]: a token is empty"),
        *((LOCAL + f'[server]\nallowed_hosts = ["{host}"]\n', "server.allowed_hosts[0]: write just a host name")
          for host in ("https://mail.example.com", "mail.example.com:443", "*", "*.example.com", "[::1]", "")),
    ],
)  # fmt: skip
def test_each_mistake_names_its_key(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in problem(tmp_path, text)


def test_broken_toml_is_reported_with_its_line(tmp_path: Path) -> None:
    assert "line 2" in problem(tmp_path, "[server]\ndialect = \n")


def test_a_file_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    assert "must be UTF-8" in problem(tmp_path, "# \udcff\n")


def test_all_mistakes_are_reported_at_once_and_consequences_are_not(tmp_path: Path) -> None:
    lines = problem(tmp_path, IMAP.replace("host =", "hots =") + '[safety]\ngate = "x"\n').splitlines()
    assert len(lines) == 3  # host is missing, hots is unknown, gate is wrong


def test_a_wrong_value_is_never_repeated_where_it_may_be_a_secret(tmp_path: Path) -> None:
    text = IMAP + "password = 8675309\n" + '[store]\nurl = "mysql://u:hunter2@h/x"\n'
    message = problem(tmp_path, text)
    assert "8675309" not in message
    assert "hunter2" not in message


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (IMAP + 'password = "hunter2"\n', "accounts[0].password"),
        (LOCAL + '[server]\ntokens = ["hunter2"]\n', "server.tokens"),
        (LOCAL + '[store]\nurl = "postgresql://u:hunter2@h/x"\n', "store.url"),
        ('[mail_api]\nbase_url = "http://x"\nauth_token = "a"\n[server]\ntokens = ["hunter2"]\n', "server.tokens"),
    ],
)
def test_a_secret_that_others_can_read_is_refused_by_its_key(tmp_path: Path, text: str, key: str, mode: int) -> None:
    message = problem(tmp_path, text, mode=mode)
    assert message.startswith(f"{key}: other users of this machine can read the secret")
    assert "hunter2" not in message


def test_a_token_that_others_could_exchange_is_refused_in_the_mailapi_form_too(tmp_path: Path) -> None:
    text = '[mail_api]\nbase_url = "http://x"\nauth_token = "hunter2"\n'
    assert problem(tmp_path, text, mode=0o666).startswith("mail_api.auth_token: other users of this machine")


def test_a_file_without_secrets_may_be_readable_by_others(tmp_path: Path) -> None:
    path = tmp_path / "postroom.toml"
    path.write_text(IMAP + 'password_env = "MAIL_PASSWORD"\n')
    path.chmod(0o644)
    assert load(path, environ={"POSTROOM_HOME": str(tmp_path)}).accounts


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("DEV_MODE", "perhaps", "DEV_MODE: write true or false"),
        ("POSTROOM_SAFETY__DEV_MODE", "perhaps", "safety.dev_mode: write true or false"),
        ("POSTROOM_SAFETY__SENDS_PER_HOUR", "many", "safety.sends_per_hour: wrong type"),
        ("POSTROOM_SAFETY__DEV_MOD", "true", "safety.dev_mod: unknown key; did you mean dev_mode?"),
        ("POSTROOM_ACCOUNTS__HOME__HOST", "x", "POSTROOM_ACCOUNTS__HOME__HOST: there is no account home"),
        ("POSTROOM_ACCOUNTS", "{", "POSTROOM_ACCOUNTS: write a JSON array of accounts"),
        ("POSTROOM_A__B__C__D", "x", "POSTROOM_A__B__C__D: write POSTROOM_SECTION__KEY"),
        ("POSTROOM_SERVER__TOOLSETS", "[", "server.toolsets: "),
        ("POSTROOM_HOME", "~nobody-here", "POSTROOM_HOME: there is no home folder for ~nobody-here"),
        ("POSTROOM_ACCOUNTS", "[" * 100_000, "POSTROOM_ACCOUNTS: write a JSON array of accounts"),
        *((f"POSTROOM_{restriction}", " ", "the variable is empty; write [] for an empty list")
          for restriction in ("SERVER__TOKENS", "SAFETY__ALLOW_RECIPIENTS", "SAFETY__BLOCK_RECIPIENTS")),
        *((f"POSTROOM_{restriction}", "", "write true or false")
          for restriction in ("SAFETY__DEV_MODE", "SERVER__READ_ONLY")),
    ],
)  # fmt: skip
def test_mistakes_in_the_environment_are_named_too(tmp_path: Path, variable: str, value: str, expected: str) -> None:
    assert expected in problem(tmp_path, LOCAL, environ={variable: value})


@pytest.mark.parametrize("accounts", ['"work"', "3", "{}", "[3]"])
def test_accounts_that_are_none_are_named_also_where_the_environment_adds_to_them(
    tmp_path: Path, accounts: str
) -> None:
    environ = {"POSTROOM_ACCOUNTS__0__HOST": "imap.example.com", "DEV_MODE": "true"}
    text = f"safety = 3\naccounts = {accounts}\n"
    assert problem(tmp_path, text, environ=environ).startswith("accounts: wrong type; write a table [[accounts]]")


def test_a_safety_section_that_is_none_is_named_also_in_dev_mode(tmp_path: Path) -> None:
    assert "safety: wrong type" in problem(tmp_path, "safety = 3\n" + LOCAL, environ={"DEV_MODE": "true"})


def test_a_user_without_a_home_folder_is_told_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(SettingsError, match=r"^HOME: not set, .* set it, or set POSTROOM_HOME and POSTROOM_CONFIG"):
        load(environ={})


def test_a_folder_of_settings_that_cannot_be_entered_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "postroom").symlink_to("postroom")  # root may enter every folder, but nobody this one
    with pytest.raises(SettingsError, match=r"postroom\.toml: cannot be read: "):
        load(environ={"XDG_CONFIG_HOME": str(tmp_path), "POSTROOM_HOME": str(tmp_path)})


def test_a_settings_error_is_an_invalid_request() -> None:
    assert issubclass(SettingsError, InvalidRequest)


@pytest.mark.parametrize("name", ["allow_recipients", "block_recipients"])
@pytest.mark.parametrize(
    "entry",
    [
        "example.com",
        "@example.com",
        "*",
        "*@*",
        "*@sub.*",
        "*@*.example.com",
        "*x@example.com",
        "x*@example.com",
        "*@localhost",
        "*@example.com.",
        "Bob <bob@example.com>",
        "bob@",
        "a%b.example@example.com",
        "a@[127.0.0.1]",
    ],
)
def test_an_entry_of_a_list_that_could_match_nobody_is_named(name: str, entry: str) -> None:
    with pytest.raises(SettingsError) as refused:
        build({"safety": {name: ["*@example.com", entry]}}, home=Path("/nowhere"))
    assert refused.value.message == f"safety.{name}[1]: write an address or *@domain, not {entry!r}"
