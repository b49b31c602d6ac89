from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from postroom.doors.mcp.serve import serve_http, tokens_for
from postroom.settings import Settings, SettingsError, build

ACCOUNT = {"name": "alex", "provider": "local", "address": "alex@demo.example", "path": "alex.db"}
HEAVY = ("turbohtml", "yaml", "imapclient", "aiosmtplib")


def settings_with(tmp_path: Path, **server: object) -> Settings:
    return build({"server": server, "accounts": [ACCOUNT]}, home=tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "mail.example.com"])
def test_an_address_that_others_can_reach_is_not_served_without_tokens(tmp_path: Path, host: str) -> None:
    with pytest.raises(SettingsError, match=r"server\.tokens"):
        tokens_for(settings_with(tmp_path), host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_loopback_needs_no_token(tmp_path: Path, host: str) -> None:
    assert tokens_for(settings_with(tmp_path), host) == ()


def test_tokens_that_are_set_are_asked_for_on_loopback_too(tmp_path: Path) -> None:
    assert tokens_for(settings_with(tmp_path, tokens=["right"]), "127.0.0.1") == ("right",)


async def test_a_port_in_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}"):
            await serve_http(settings_with(tmp_path), "127.0.0.1", port)


def test_starting_imports_nothing_that_only_reading_or_sending_mail_needs() -> None:
    program = (
        "import sys\n"
        "import postroom.doors.mcp.serve, postroom.doors.mcp.dialects.postroom, postroom.wiring\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
