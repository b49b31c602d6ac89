from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from postroom.doors.mcp import serve
from postroom.doors.mcp.serve import serve_http, server_for, tokens_for
from postroom.settings import Settings, SettingsError, build

ACCOUNT = {"name": "alex", "provider": "local", "address": "alex@demo.example", "path": "alex.db"}
HEAVY = ("turbohtml", "yaml", "imapclient", "aiosmtplib")
LATER = (
    "postroom.service.sending.worker",
    "postroom.service.views",
    "postroom.providers.protocol",
    "postroom.mime.read.parse",
)


def settings_with(tmp_path: Path, **server: object) -> Settings:
    return build({"server": server, "accounts": [ACCOUNT]}, home=tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "mail.example.com"])
def test_an_address_that_others_can_reach_is_not_served_without_tokens(tmp_path: Path, host: str) -> None:
    with pytest.raises(SettingsError, match=r"server\.tokens"):
        tokens_for(settings_with(tmp_path), host)


def test_a_contract_without_tokens_is_served_on_a_network_that_is_said_to_be_trusted(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--trust-network"):
        tokens_for(settings_with(tmp_path, dialect="mailapi"), "0.0.0.0")
    assert tokens_for(settings_with(tmp_path, dialect="mailapi", trust_network=True), "0.0.0.0") == ()
    with pytest.raises(SettingsError, match=r"bind to 127\.0\.0\.1\.$"):
        tokens_for(settings_with(tmp_path, trust_network=True), "0.0.0.0")


@pytest.mark.parametrize(("dialect", "toolsets"), [("drafts", ["templates"]), ("postroom", [])])
def test_toolsets_without_any_tool_are_a_mistake_that_names_the_choice(
    tmp_path: Path, dialect: str, toolsets: list[str]
) -> None:
    with pytest.raises(SettingsError, match=r"server.toolsets: .* choose from read, (organise, )?drafts"):
        server_for(settings_with(tmp_path, dialect=dialect, toolsets=toolsets))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_token(tmp_path: Path, host: str) -> None:
    assert tokens_for(settings_with(tmp_path), host) == ()


def test_loopback_behind_a_proxy_that_brings_others_is_not_served_without_tokens(tmp_path: Path) -> None:
    proxied = {"allowed_hosts": ["localhost", "mail.example.com"]}
    with pytest.raises(SettingsError, match=r"^server\.allowed_hosts: mail\.example\.com .* remove the name\.$"):
        tokens_for(settings_with(tmp_path, **proxied), "127.0.0.1")
    assert tokens_for(settings_with(tmp_path, **proxied, tokens=["right"]), "127.0.0.1") == ("right",)
    assert tokens_for(settings_with(tmp_path, allowed_hosts=["localhost"]), "127.0.0.1") == ()
    trusting = settings_with(tmp_path, **proxied, dialect="mailapi", trust_network=True)
    assert tokens_for(trusting, "127.0.0.1") == ()


def test_tokens_that_are_set_are_asked_for_on_loopback_too(tmp_path: Path) -> None:
    assert tokens_for(settings_with(tmp_path, tokens=["right"]), "127.0.0.1") == ("right",)


async def test_a_port_in_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}"):
            await serve_http(settings_with(tmp_path), "127.0.0.1", port)


@pytest.mark.parametrize("serving", [["serve"], ["serve", "--http", "127.0.0.1:0"]], ids=["stdio", "http"])
def test_a_home_that_cannot_be_used_is_said_in_words_and_not_in_a_trace(tmp_path: Path, serving: list[str]) -> None:
    (tmp_path / "home").write_text("no folder")

    done = subprocess.run(
        [sys.executable, "-m", "postroom", *serving],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(tmp_path), "POSTROOM_HOME": str(tmp_path / "home")},
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("postroom: ")


@pytest.mark.parametrize("dialect", ["graph", "mailapi", "vault", "intentmail"])
def test_a_dialect_is_spoken_or_said_not_to_be(tmp_path: Path, dialect: str) -> None:
    settings = settings_with(tmp_path, dialect=dialect)
    if find_spec(f"postroom.doors.mcp.dialects.{dialect}"):
        assert server_for(settings)
        return
    with pytest.raises(SettingsError, match=f"server.dialect: this version has no dialect {dialect}"):
        server_for(settings)


def test_starting_imports_nothing_that_only_reading_or_sending_mail_needs() -> None:
    program = (
        "import sys\n"
        "import postroom.doors.mcp.server, postroom.doors.mcp.dialects.postroom, postroom.wiring\n"
        f"print(*[name for name in {HEAVY + LATER!r} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


def test_the_garbage_collector_is_back_even_when_loading_failed() -> None:
    was_on = []

    def load() -> None:
        with serve._loading():
            was_on.append(gc.isenabled())
            raise SettingsError("no such dialect")

    with pytest.raises(SettingsError):
        load()
    gc.unfreeze()

    assert was_on == [False]
    assert gc.isenabled()


def test_a_response_does_not_wait_for_the_acknowledgement_of_its_headers() -> None:
    with serve._listening_socket("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
