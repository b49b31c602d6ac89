"""Setting up an account from its address, on a real Dovecot and a real Postfix."""

from __future__ import annotations

import io
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from tests.peers.daemon import free_ports
from tests.peers.dovecot import PASSWORD, Dovecot, running_dovecot
from tests.peers.postfix import Postfix
from tests.peers.raw_smtp import raw_smtp
from tests.peers.tokens import make_token

from postroom.doors.cli import main
from postroom.model.errors import AuthRequired
from postroom.providers.discovery import finding
from postroom.providers.discovery.finding import Reach
from postroom.providers.discovery.found import Server
from postroom.providers.discovery.resolving import Kind, Record
from postroom.service.accounts import logins, setup
from postroom.settings import ImapAccount, SettingsError, load, secrets

WRONG = "not-the-password-of-anybody"
SRV = {
    "_imaps._tcp.example.test": [Record(0, "imap.hoster.example", 0, 993)],
    "_submissions._tcp.example.test": [Record(0, "smtp.hoster.example", 0, 465)],
}


def run(*argv: str) -> int:
    def no_server(*args: object, **kwargs: object) -> None:
        raise AssertionError("this command serves nothing")

    return main.run(argv, serve=no_server)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the settings will be. A home of our own, no keyring, no terminal, and nobody to ask on the network."""
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    network(monkeypatch)
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield tmp_path / "config" / "postroom" / "postroom.toml"
    keyring.set_keyring(before)


def network(monkeypatch: pytest.MonkeyPatch, *, xml: str = "", records: dict[str, list[Record]] | None = None) -> None:
    async def fetch(url: str) -> bytes | None:
        return xml.encode() or None

    async def resolve(name: str, kind: Kind) -> list[Record]:
        return (records or {}).get(name, [])

    async def probe(protocol: str, server: Server) -> bool:
        return False

    reach = Reach(fetch, resolve, probe)
    monkeypatch.setattr(finding, "Reach", lambda: reach)


def hand_over(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(secret + "\n"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def servers(dovecot: Dovecot, postfix: Postfix, **changes: object) -> list[str]:
    """The flags that name them."""
    flags: dict[str, object] = {
        "host": "localhost",
        "port": dovecot.imaps,
        "smtp_host": "localhost",
        "smtp_port": postfix.starttls,
        "smtp_security": "starttls",
        "ca_file": dovecot.certificates.ca,
    }
    pairs = (flags | changes).items()
    return [word for key, value in pairs if value for word in (f"--{key.replace('_', '-')}", str(value))]


def published(dovecot: Dovecot, postfix: Postfix) -> str:
    login = "<username>%EMAILADDRESS%</username><authentication>password-cleartext</authentication>"
    return f"""<clientConfig><emailProvider id="example.test">
      <incomingServer type="imap"><hostname>localhost</hostname><port>{dovecot.imaps}</port>
        <socketType>SSL</socketType>{login}</incomingServer>
      <outgoingServer type="smtp"><hostname>localhost</hostname><port>{postfix.tls}</port>
        <socketType>SSL</socketType>{login}</outgoingServer>
    </emailProvider></clientConfig>"""


def left_behind(tmp_path: Path) -> list[str]:
    return [path.name for folder in ("config", "home") for path in (tmp_path / folder).rglob("*") if path.is_file()]


def test_an_address_and_a_password_are_enough(
    dovecot: Dovecot,
    postfix: Postfix,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    user = dovecot.new_user()
    network(monkeypatch, xml=published(dovecot, postfix))
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", user, "--password-stdin", "--ca-file", str(dovecot.certificates.ca)) == 0
    out, err = capsys.readouterr()
    for shown in (f"localhost:{dovecot.imaps} (tls)", f"localhost:{postfix.tls} (tls)", "postroom doctor"):
        assert shown in out
    assert PASSWORD not in out + err + config.read_text()
    assert config.stat().st_mode & 0o777 == 0o600
    (account,) = load().accounts
    assert (account.name, account.address, account.provider) == ("example", user, "imap")
    assert run("accounts", "--check") == 0


def test_doctor_walks_through_an_account_end_to_end(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, PASSWORD)
    user = dovecot.new_user()
    assert run("accounts", "add", user, "--password-stdin", "--name", "work", *servers(dovecot, postfix)) == 0
    capsys.readouterr()
    assert run("doctor") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "work" in line]
    assert [line.split(": ")[1] for line in lines] == ["connect", "folders", "read", "draft", "send", "outbox"]
    assert all(line.startswith("ok") for line in lines)
    assert "drafts Drafts" in lines[1]
    run("search", "in:drafts")
    assert "no messages found\n" in capsys.readouterr().out


def test_doctor_changes_nothing_in_a_read_only_account_and_still_tries_the_submission_login(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", dovecot.new_user(), "--password-stdin", *servers(dovecot, postfix)) == 0
    monkeypatch.setenv("POSTROOM_SERVER__READ_ONLY", "true")
    assert run("doctor") == 0
    out = capsys.readouterr().out
    assert "example: draft: not tried: read-only" in out
    assert "example: send: the submission server accepts the login" in out


@pytest.mark.parametrize(
    ("change", "failing"),
    [({"password": WRONG}, "connect"), ({"smtp": True}, "send")],
    ids=["wrong password", "no submission server"],
)
def test_doctor_says_what_fails_and_what_to_do(
    dovecot: Dovecot,
    postfix: Postfix,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, object],
    failing: str,
) -> None:
    hand_over(monkeypatch, str(change.get("password", PASSWORD)))
    ports = {"smtp_port": free_ports(1)[0]} if "smtp" in change else {}
    flags = [*servers(dovecot, postfix, **ports), "--no-check", "--password-stdin"]
    assert run("accounts", "add", dovecot.new_user(), *flags) == 0
    assert run("doctor") == 1
    out = capsys.readouterr().out
    failures = [line for line in out.splitlines() if line.startswith("FAIL")]
    assert [line.split(": ")[1] for line in failures] == [failing]
    assert WRONG not in out


def test_a_mirror_does_not_hide_that_its_server_is_away(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, PASSWORD)
    with running_dovecot() as server:
        flags = ["--host", server.host, "--port", str(server.imap), "--security", "none", "--password-stdin"]
        assert run("accounts", "add", "me@example.test", "--name", "work", *flags) == 0
        config.write_text(f'{config.read_text()}mirror = "full"\n')
        assert run("sync") == 0
        server.kill()
        capsys.readouterr()
        assert run("doctor") == 1
        found = [line.split(": ")[:2] for line in capsys.readouterr().out.splitlines() if "work: " in line]
        assert found == [["FAIL  work", "connect"], ["ok    work", "mirror"]]
        assert run("accounts", "list", "--check") == 1
        assert "reading: PROVIDER_ERROR" in capsys.readouterr().out
        assert run("sync", "--reset") == 1
        assert run("doctor") == 1
        (line,) = [line for line in capsys.readouterr().out.splitlines() if "work: mirror" in line]
        assert "0 of 0 messages, 0 MB, complete, as of" in line
        assert "The latest run failed: " in line


def test_a_wrong_password_leaves_nothing_behind(
    dovecot: Dovecot,
    postfix: Postfix,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hand_over(monkeypatch, WRONG)
    assert run("accounts", "add", dovecot.new_user(), "--password-stdin", *servers(dovecot, postfix)) == 1
    out, err = capsys.readouterr()
    assert "refused the login" in err
    assert "Nothing was written" in err
    assert WRONG not in out + err
    assert left_behind(tmp_path) == []


def test_a_submission_server_that_asks_for_no_login_is_not_said_to_take_it(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, PASSWORD)
    with raw_smtp(EHLO=b"250 raw\r\n") as relay:
        flags = servers(dovecot, postfix, smtp_host=relay.host, smtp_port=relay.port, smtp_security="none")
        assert run("accounts", "add", dovecot.new_user(), "--password-stdin", *flags) == 0
        assert run("doctor") == 0
    out = capsys.readouterr().out
    assert out.count("requires no login") == 2
    assert "accepts the login" not in out


def test_a_submission_server_that_does_not_answer_leaves_nothing_behind(
    dovecot: Dovecot,
    postfix: Postfix,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hand_over(monkeypatch, PASSWORD)
    flags = servers(dovecot, postfix, smtp_port=free_ports(1)[0])
    assert run("accounts", "add", dovecot.new_user(), "--password-stdin", *flags) == 1
    assert "SMTP server cannot be reached" in capsys.readouterr().err
    assert left_behind(tmp_path) == []


def test_an_account_without_a_submission_server_reads_only(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, PASSWORD)
    flags = servers(dovecot, postfix, smtp_host="", smtp_port="", smtp_security="")
    assert run("accounts", "add", dovecot.new_user(), "--password-stdin", *flags) == 0
    assert "--smtp-host" in capsys.readouterr().out
    assert run("doctor") == 0
    assert "send: not tried: this account cannot send" in capsys.readouterr().out


def test_a_token_is_taken_in_place_of_a_password(
    dovecot: Dovecot, postfix: Postfix, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = dovecot.new_user()
    hand_over(monkeypatch, make_token(user))
    flags = [*servers(dovecot, postfix), "--auth", "xoauth2", "--password-stdin"]
    assert run("accounts", "add", user, *flags) == 0
    assert tomllib.loads(config.read_text())["accounts"][0]["auth"] == "xoauth2"
    assert run("accounts", "--check") == 0


def test_the_password_is_asked_for_without_showing_it(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = []

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        return PASSWORD

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", typed)
    user = dovecot.new_user()
    assert run("accounts", "add", user, *servers(dovecot, postfix)) == 0
    assert prompts == [f"Password for {user}: "]
    assert PASSWORD not in "".join(capsys.readouterr())


def test_what_is_in_the_file_stays_and_the_next_account_comes_after_it(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = '# keep me\n[[accounts]]\nname = "gmail"\nprovider = "local"\naddress = "me@example.com"\n'
    config.parent.mkdir(parents=True)
    config.write_text(before)
    hand_over(monkeypatch, "abcd efgh ijkl mnop")
    assert run("accounts", "add", "alice@gmail.com", "--no-check", "--password-stdin", "--display-name", "Alice Ü") == 0
    assert config.read_text().startswith(before)
    first, second = load().accounts
    assert (first.name, second.name, second.display_name) == ("gmail", "alice@gmail.com", "Alice Ü")
    assert isinstance(second, ImapAccount)
    assert (second.host, second.port, second.smtp_host, second.smtp_port) == (
        "imap.gmail.com",
        993,
        "smtp.gmail.com",
        465,
    )


def test_the_config_flag_names_the_file_before_or_after_the_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, place in enumerate(("before", "after")):
        path = tmp_path / f"{place}.toml"
        flag = ["--config", str(path)]
        order = [*flag, "add", "a@gmx.de"] if place == "before" else ["add", "a@gmx.de", *flag]
        hand_over(monkeypatch, "x")
        assert run("accounts", *order, "--no-check", "--password-stdin", "--name", f"a{number}") == 0
        assert "imap.gmx.net" in path.read_text()
        assert f"postroom serve --config {path}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["alice"], "postroom: 'alice' is not an email address. Write one like alice@example.com."),
        (["alice@"], "' is not an email address. Write one like alice@example.com."),
        (["alice@exa mple.com"], "' is not an email address. Write one like alice@example.com."),
        (["alice@example.com", "--host", "imap.example.com:993"], "accounts[1].host: write just a host name"),
        (["alice@example.com", "--host", "https://mail.example.com"], "accounts[1].host: write just a host name"),
        (
            ["alice@example.com", "--provider", "jmap", "--host", "https://mail.example.com"],
            "--host: write just a host",
        ),
        (["alice@gmail.com", "--name", "two words"], "accounts[1].name"),
        (["alice@gmail.com", "--name", "all"], "every account"),
        (["alice@gmail.com", "--name", "Box"], "already an account called Box"),
        (["BOX@example.com"], "postroom accounts login box"),
        (["alice@outlook.com"], "--auth xoauth2"),
        (["alice@gmail.com", "--port", "70000"], "accounts[1].port"),
    ],
)
def test_what_cannot_be_an_account_is_refused_before_a_password_is_asked_for(
    config: Path, capsys: pytest.CaptureFixture[str], argv: list[str], says: str
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('[[accounts]]\nname = "box"\nprovider = "local"\naddress = "box@example.com"\n')
    before = config.read_bytes()
    assert run("accounts", "add", *argv) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1, "what follows from a mistake is not another one"
    assert config.read_bytes() == before


def test_an_address_whose_servers_cannot_be_found_says_what_to_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts", "add", "alice@example.test") == 1
    assert "--host and --smtp-host" in capsys.readouterr().err


@pytest.mark.parametrize("secret", ["", "one\ntwo", "x" * 20_000, "bell\a"])
def test_what_cannot_be_a_password_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], secret: str
) -> None:
    hand_over(monkeypatch, secret)
    assert run("accounts", "add", "alice@gmail.com", "--no-check", "--password-stdin") == 2
    assert "one line of text" in capsys.readouterr().err
    assert left_behind(tmp_path) == []


def test_bytes_that_are_no_text_are_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    assert run("accounts", "add", "alice@gmail.com", "--no-check", "--password-stdin") == 2
    assert "one line of text" in capsys.readouterr().err
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("key", [EOFError, KeyboardInterrupt])
def test_who_ends_the_question_for_the_password_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: type[BaseException]
) -> None:
    def ended(prompt: str) -> str:
        raise key

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", ended)
    assert run("accounts", "add", "alice@gmail.com", "--provider", "imap", "--no-check") == 130
    assert left_behind(tmp_path) == []


def test_a_gmail_address_is_set_up_with_gmails_own_api_and_a_login_on_googles_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("accounts", "add", "alice@gmail.com", "--no-check") == 2
    told = capsys.readouterr()
    assert "https://gmail.googleapis.com" in told.out
    assert "console.cloud.google.com" in told.out
    assert "--client-id" in told.err
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("option", ["--host=imap.gmail.com", "--username=me", "--auth=xoauth2"])
def test_what_only_imap_has_is_refused_for_gmails_api(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts", "add", "alice@gmail.com", "--provider", "gmail", option) == 2
    assert option.partition("=")[0] in capsys.readouterr().err


def test_without_a_terminal_the_password_comes_by_standard_input_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("accounts", "add", "alice@gmail.com", "--provider", "imap", "--no-check") == 2
    assert "--password-stdin" in capsys.readouterr().err
    assert left_behind(tmp_path) == []


def test_servers_that_only_dns_names_elsewhere_get_no_password_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    network(monkeypatch, records=SRV)
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", "alice@example.test", "--password-stdin", "--no-check") == 2
    assert "--yes" in capsys.readouterr().err
    assert left_behind(tmp_path) == []
    assert run("accounts", "add", "alice@example.test", "--password-stdin", "--no-check", "--yes") == 0


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2), ("", 2)])
def test_a_person_can_vouch_for_them(monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    network(monkeypatch, records=SRV)
    monkeypatch.setattr(sys, "stdin", Terminal(answer + "\n"))
    monkeypatch.setattr("getpass.getpass", lambda prompt: PASSWORD)
    assert run("accounts", "add", "alice@example.test", "--no-check") == code


def test_accounts_of_the_environment_would_hide_the_new_one_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTROOM_ACCOUNTS", '[{"name": "box", "provider": "local", "address": "b@example.com"}]')
    assert run("accounts", "add", "alice@gmail.com") == 2
    assert "POSTROOM_ACCOUNTS" in capsys.readouterr().err
    assert left_behind(tmp_path) == []


def test_a_settings_file_that_cannot_be_written_takes_the_secret_back(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise SettingsError("the disk is full")

    monkeypatch.setattr("postroom.settings.writing.append_account", full)
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", "alice@gmail.com", "--no-check", "--password-stdin") == 2
    assert left_behind(tmp_path) == ["secrets.key"]


def test_it_leaves_the_secret_that_another_settings_file_has_for_this_account(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", "alice@gmail.com", "--no-check", "--password-stdin") == 0
    hand_over(monkeypatch, WRONG)
    in_place_of_a_file = str(tmp_path)
    other = ("accounts", "add", "alice@gmail.com", "--config", in_place_of_a_file, "--no-check", "--password-stdin")
    assert run(*other) == 2
    assert password_of(config) == PASSWORD


def password_of(config: Path) -> str | None:
    (account,) = load(config).accounts
    return secrets.resolve(account, "password")


def test_two_settings_files_may_use_one_name_for_two_addresses(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.toml"
    for address, path, secret in (("alice@gmx.de", config, PASSWORD), ("bob@gmx.de", other, "bobs-own")):
        hand_over(monkeypatch, secret)
        assert run("accounts", "add", address, "--config", str(path), "--no-check", "--password-stdin") == 0
    assert "replaced" not in capsys.readouterr().out
    assert (password_of(config), password_of(other)) == (PASSWORD, "bobs-own")
    hand_over(monkeypatch, "newer")
    assert run("accounts", "login", "gmx", "--no-check", "--password-stdin") == 0
    assert (password_of(config), password_of(other)) == ("newer", "bobs-own")
    assert run("accounts", "remove", "gmx") == 0
    assert password_of(other) == "bobs-own"


def test_a_secret_that_is_stored_under_the_name_alone_is_used_replaced_and_removed(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('[[accounts]]\nname = "work"\nprovider = "imap"\naddress = "alice@example.com"\nhost = "h"\n')
    secrets.keep("work", "password", PASSWORD, environ=os.environ)
    assert password_of(config) == PASSWORD
    hand_over(monkeypatch, "newer")
    assert run("accounts", "login", "work", "--no-check", "--password-stdin") == 0
    assert password_of(config) == "newer"
    assert run("accounts", "remove", "work") == 0
    assert sorted(left_behind(tmp_path)) == ["postroom.toml", "secrets.key"]


def test_it_says_that_it_replaced_the_secret_of_another_settings_file(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "add", "alice@gmail.com", "--no-check", "--password-stdin") == 0
    assert "replaced another" not in capsys.readouterr().out
    hand_over(monkeypatch, WRONG)
    other = ("accounts", "add", "alice@gmail.com", "--config", str(tmp_path / "other.toml"), "--password-stdin")
    assert run(*other, "--no-check") == 0
    assert "it replaced another one; a settings file that has the same account" in capsys.readouterr().out


def test_a_new_password_is_tried_and_replaces_the_old_one(
    dovecot: Dovecot, postfix: Postfix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, WRONG)
    flags = [*servers(dovecot, postfix), "--no-check", "--password-stdin"]
    assert run("accounts", "add", dovecot.new_user(), *flags) == 0
    assert run("accounts", "--check") == 1
    hand_over(monkeypatch, PASSWORD)
    assert run("accounts", "login", "example", "--password-stdin") == 0
    hand_over(monkeypatch, WRONG)
    assert run("accounts", "login", "example", "--password-stdin") == 1
    assert run("accounts", "--check") == 0
    out, err = capsys.readouterr()
    assert WRONG not in out + err
    assert PASSWORD not in out + err


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ('provider = "local"\n', "needs no login"),
        ('provider = "imap"\nhost = "h"\npassword_env = "PW"\n', "from password_env"),
        ('provider = "imap"\nhost = "h"\nauth = "xoauth2"\ntoken_env = "PW"\n', "from token_env"),
    ],
)
def test_a_login_that_would_have_no_effect_is_refused(
    config: Path, capsys: pytest.CaptureFixture[str], keys: str, says: str
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(f'[[accounts]]\nname = "box"\naddress = "box@example.com"\n{keys}')
    assert run("accounts", "login", "box") == 2
    assert says in capsys.readouterr().err
    assert run("accounts", "login", "nobody") == 2
    assert "box" in capsys.readouterr().err


async def test_the_user_name_that_works_is_the_one_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    async def only_alice(account: ImapAccount) -> None:
        tried.append(account.username)
        if account.username != "alice":
            raise AuthRequired("refused")

    monkeypatch.setattr(setup, "try_reading", only_alice)
    table = {"name": "x", "provider": "imap", "address": "alice@example.com", "host": "imap.example.com"}
    plan = setup.Plan(tmp_path / "postroom.toml", table, ("alice@example.com", "alice"))
    assert (await setup.settle_username(plan, "s")).table == {**table, "username": "alice"}
    assert tried == ["alice@example.com", "alice"]


def test_a_refused_login_comes_with_what_the_provider_wants_instead() -> None:
    account = ImapAccount(name="g", address="a@gmail.com", host="imap.gmail.com")
    message = logins.explained(AuthRequired("The mail server refused the login."), account).message
    assert message.startswith("The mail server refused the login. Google requires an app password")


def test_every_kind_that_can_be_set_up_can_be_chosen() -> None:
    from postroom.doors.cli.main import build_parser

    parser = build_parser(lambda *args, **kwargs: None)
    for kind in setup.kinds():
        assert parser.parse_args(["accounts", "add", "a@example.com", "--provider", kind]).provider == kind


@pytest.mark.parametrize("flags", [["--host", "imap.example.com"], ["--oauth"], ["--auth", "xoauth2"], ["--port", "1"]])
def test_what_an_embedded_mailbox_has_no_use_for_is_refused_by_name(
    config: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert run("accounts", "add", "old@example.test", "--provider", "local", *flags) == 2
    assert f"Leave out {flags[0]}." in capsys.readouterr().err
    assert not config.exists()


def test_an_embedded_mailbox_needs_no_server_and_no_secret(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("accounts", "add", "old@example.test", "--provider", "local", "--name", "archive") == 0
    assert "secret" not in capsys.readouterr().out
    (account,) = load(config).accounts
    assert (account.provider, account.name) == ("local", "archive")
    assert not account.path.exists()  # type: ignore[union-attr]
