"""postroom accounts add --oauth and login, from the command line to a real Dovecot that takes the token."""

from __future__ import annotations

import io
import re
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from tests.peers.daemon import free_ports
from tests.peers.dovecot import Dovecot
from tests.peers.tokens import make_token
from tests.unit.providers.oauth.authorisation import Authorisation, authorising

from postroom.doors.cli import main
from postroom.providers.discovery.found import Found, Server
from postroom.providers.oauth.keeping import Keeping
from postroom.providers.oauth.services import SERVICES
from postroom.settings import ImapAccount, load
from postroom.settings.mailboxes import secrets_name
from postroom.store import open_store


def run(*argv: str) -> int:
    return main.run(list(argv), serve=lambda *args, **kwargs: None)


@pytest.fixture
def user(dovecot: Dovecot) -> str:
    return dovecot.new_user()


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CLIENT_SECRET", "hush")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr("postroom.settings.secrets._into_keyring", lambda *args: False)
    monkeypatch.setattr("postroom.settings.secrets.from_keyring", lambda *args: None)
    return tmp_path / "config" / "postroom" / "postroom.toml"


@pytest.fixture
def idp(user: str, dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authorisation]:
    """Stands in for Google's endpoints."""
    with authorising() as told:
        told.make_access_token = lambda: make_token(user)
        told.client_secret = "hush"
        own = replace(
            SERVICES["google"],
            authorize_url=f"{told.url}/authorize",
            token_url=f"{told.url}/token",
            device_url=f"{told.url}/device",
            imap_hosts=(dovecot.host,),
        )
        monkeypatch.setitem(SERVICES, "google", own)
        yield told


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Opens the page at once and is sent back; holds what the person sees at the end."""
    shown: list[str] = []
    threads: list[threading.Thread] = []

    def visit(url: str) -> None:
        shown.append(httpx2.get(url, follow_redirects=True, trust_env=False).text)

    def open_page(url: str) -> bool:
        threads.append(threading.Thread(target=visit, args=(url,)))
        threads[-1].start()
        return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", open_page)
    yield shown
    for thread in threads:
        thread.join()


def adding(dovecot: Dovecot, user: str, *more: str) -> list[str]:
    servers = ["--host", dovecot.host, "--port", str(dovecot.imap), "--security", "none"]
    client = ["--oauth", "--client-id", "client-1", "--client-secret-env", "CLIENT_SECRET"]
    return ["accounts", "add", user, "--name", "work", *servers, *client, *more]


def test_a_login_in_the_browser_sets_the_account_up(
    dovecot: Dovecot,
    user: str,
    idp: Authorisation,
    browser: list[str],
    config: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*adding(dovecot, user)) == 0, capsys.readouterr().err
    (account,) = load(config).accounts
    assert isinstance(account, ImapAccount)
    assert account.oauth is not None
    assert (account.auth, account.oauth.client_id) == ("xoauth2", "client-1")
    kept = Keeping(secrets_name(account)).read()
    assert kept.refresh_token in idp.refresh_tokens
    assert idp.authorised[0]["scope"] == "https://mail.google.com/"
    assert idp.authorised[0]["access_type"] == "offline"
    assert run("accounts", "--check") == 0
    said = capsys.readouterr().out
    for secret in ("hush", kept.access_token, kept.refresh_token):
        assert secret not in said + config.read_text()


def test_a_login_that_covers_only_reading_is_not_tried_for_sending(
    dovecot: Dovecot,
    user: str,
    idp: Authorisation,
    browser: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("POSTROOM_SERVER__TOOLSETS", "read")
    (closed,) = free_ports(1)
    assert run(*adding(dovecot, user, "--smtp-host", "localhost", "--smtp-port", str(closed))) == 0
    assert run("accounts", "--check") == 0
    assert run("doctor") == 0
    assert "does not cover sending" in capsys.readouterr().out


def test_a_login_is_kept_alive_when_its_token_runs_out(
    dovecot: Dovecot, user: str, idp: Authorisation, browser: list[str]
) -> None:
    idp.lifetime = 1  # used up before it is used
    assert run(*adding(dovecot, user)) == 0
    assert run("accounts", "--check") == 0
    assert len(idp.refreshes) >= 1


@pytest.mark.parametrize("denial", ["page", "server"])
def test_a_login_that_fails_writes_nothing(
    dovecot: Dovecot,
    user: str,
    idp: Authorisation,
    browser: list[str],
    config: Path,
    capsys: pytest.CaptureFixture[str],
    denial: str,
) -> None:
    if denial == "page":
        idp.denies = True
    else:
        idp.make_access_token = lambda: make_token("somebody-else@example.test")
    assert run(*adding(dovecot, user)) == 1
    assert "Nothing was written" in capsys.readouterr().err
    assert not config.exists()
    assert not list((config.parents[2] / "home").rglob("work.*"))


def test_a_withdrawn_login_names_the_command_that_mends_it(
    dovecot: Dovecot,
    user: str,
    idp: Authorisation,
    browser: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    idp.lifetime = 1
    assert run(*adding(dovecot, user)) == 0
    idp.refresh_tokens.clear()
    assert run("accounts", "--check") == 1
    assert "AUTH_REQUIRED" in (said := capsys.readouterr().out)
    assert "postroom accounts login work" in said
    assert run("accounts", "login", "work") == 0
    assert run("accounts", "--check") == 0


def test_a_new_login_resumes_what_waited_for_it(
    dovecot: Dovecot, user: str, idp: Authorisation, browser: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*adding(dovecot, user)) == 0
    with closing(open_store(load().home / "state.db")) as store:
        store.pauses.login_refused("work", "The login was withdrawn.")
    assert run("accounts", "login", "work") == 0
    assert "are sent now" in capsys.readouterr().out
    with closing(open_store(load().home / "state.db")) as store:
        assert store.pauses.all() == ()


def test_the_last_address_can_be_pasted_where_there_is_no_browser(
    dovecot: Dovecot,
    user: str,
    idp: Authorisation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def paste(prompt: str) -> str:
        (url,) = re.findall(r"^http://\S+/authorize\S+", capsys.readouterr().out, re.MULTILINE)
        return idp.authorize(dict(parse_qsl(urlsplit(url).query)))

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", paste)
    assert run(*adding(dovecot, user, "--paste")) == 0
    assert run("accounts", "login", "work", "--paste") == 0


def test_ctrl_c_at_the_prompt_for_the_address_ends_the_login_at_once(
    dovecot: Dovecot, user: str, idp: Authorisation, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def interrupted(prompt: str) -> str:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the prompt went on after Ctrl-C")

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", interrupted)
    assert run(*adding(dovecot, user, "--paste")) == 130
    assert not config.exists()


def test_a_code_can_be_typed_in_on_another_device(
    dovecot: Dovecot,
    user: str,
    idp: Authorisation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def at_once(seconds: float) -> None:
        """No waiting."""

    monkeypatch.setattr("postroom.providers.oauth.device.finish_on_device.__kwdefaults__", {"sleep": at_once})
    assert run(*adding(dovecot, user, "--device")) == 0
    assert "enter: ABCD-EFGH" in capsys.readouterr().out


def test_without_a_client_id_the_clicks_are_told_and_nothing_is_written(
    dovecot: Dovecot, user: str, idp: Authorisation, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = ["--host", dovecot.host, "--port", str(dovecot.imap), "--security", "none"]
    assert run("accounts", "add", user, *servers, "--oauth") == 2
    said = capsys.readouterr()
    assert "https://console.cloud.google.com" in said.out
    assert "--client-id" in said.err
    assert not config.exists()


def test_a_found_server_of_somebody_else_never_gets_the_services_token(
    idp: Authorisation,
    config: Path,
    dovecot: Dovecot,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A domain can publish that its mail is read at Google and sent through a server of its own."""
    servers = Server(dovecot.host, dovecot.imap, "starttls"), Server("smtp.evil.example", 465, "tls")

    async def published(address: str, *args: object, **kwargs: object) -> Found:
        return Found(*servers, "password", (address,), "autoconfig")

    monkeypatch.setattr("postroom.providers.imap.setup.find", published)
    assert run("accounts", "add", "me@evil.example", "--oauth", "--client-id", "client-1") == 2
    assert "smtp.evil.example" in (said := capsys.readouterr().err)
    assert "--smtp-host" in said
    assert idp.authorised == []


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["accounts", "add", "a@example.com", "--host", "imap.example.com", "--oauth"], "oauth table"),
        (["accounts", "add", "a@gmail.com", "--oauth", "--client-id", "x", "--password-stdin"], "--password-stdin"),
        (["accounts", "add", "a@gmail.com", "--device", "--client-id", "x", "--client-secret-env", "CLIENT_SECRET"],
         "does not support device codes"),
        (["accounts", "add", "a@outlook.com"], "--client-id"),
        (["accounts", "add", "a@gmail.com", "--client-id", "GOCSPX-x", "--client-secret-env", "CLIENT_SECRET"],
         "a client secret of google, not the client ID"),
        (["accounts", "add", "a@gmail.com", "--client-id", "1-x y", "--client-secret-env", "CLIENT_SECRET"],
         "has no spaces"),
        (["accounts", "add", " a@gmail.com ", "--client-id", "x", "--client-secret-env", "CLIENT_SECRET", "--paste"],
         "no terminal to ask at (address or code). Run this in one."),
    ],
)  # fmt: skip
def test_what_cannot_be_logged_in_so_is_refused_with_what_to_do(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str], config: Path
) -> None:
    assert run(*argv) == 2
    assert says in capsys.readouterr().err
    assert not config.exists()


def test_an_account_with_a_password_has_no_page_to_log_in_on(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(
        '[[accounts]]\nname = "x"\nprovider = "imap"\naddress = "x@example.com"\nhost = "imap.example.com"\n'
    )
    assert run("accounts", "login", "x", "--paste") == 2
    assert "password or token" in capsys.readouterr().err


def test_removing_the_account_forgets_the_login(
    dovecot: Dovecot, user: str, idp: Authorisation, browser: list[str], config: Path
) -> None:
    assert run(*adding(dovecot, user)) == 0
    assert run("accounts", "remove", "work") == 0
    assert not list((config.parents[2] / "home" / "secrets").glob("work.oauth"))
