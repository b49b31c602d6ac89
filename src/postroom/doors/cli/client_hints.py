"""How to connect a client to a running Postroom, ready to copy."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.settings import Settings

_TOKEN = "Authorization: Bearer TOKEN"  # noqa: S105 - the word stands for the operator's token


def render(
    host: str,
    port: int,
    *,
    what: str = "a sample mailbox",
    own_process: Sequence[str] = ("demo", "--stdio"),
    takes_token: bool = False,
) -> str:
    """`own_process` are the arguments with which a client starts a Postroom of its own."""
    url = f"http://{_url_host(host)}:{port}/mcp"
    header = f' --header "{_TOKEN}"' if takes_token else ""
    headers = {"headers": dict([_TOKEN.split(": ")])} if takes_token else {}
    replaced = "\nReplace TOKEN with a token of yours; postroom tokens create NAME makes one.\n" if takes_token else ""
    return f"""\
Postroom serves {what} at {url}

Claude Code     claude mcp add --transport http mail {url}{header}
Cursor          in .cursor/mcp.json:   {_snippet("mcpServers", url=url, **headers)}
VS Code         in .vscode/mcp.json:   {_snippet("servers", type="http", url=url, **headers)}
Claude Desktop  in claude_desktop_config.json (starts its own):
                {_snippet("mcpServers", **_own_process(own_process))}
{replaced}
Then ask: "What is new in my inbox?" Stop with Ctrl-C."""


def takes_token(settings: Settings) -> bool:
    """Whether a client without one is turned away: once a client was created, on loopback too."""
    from postroom.settings.clients import load_clients

    server = settings.server
    return bool(server.tokens or server.tokens_env or server.tokens_file) or load_clients(settings.home) is not None


def _snippet(table: str, **server: object) -> str:
    return json.dumps({table: {"mail": server}})


def _own_process(arguments: Sequence[str]) -> dict[str, object]:
    """The command that runs this very installation on the same home folder."""
    installed = shutil.which("postroom", path=str(Path(sys.executable).parent))
    home = os.environ.get("POSTROOM_HOME")
    env = {"env": {"POSTROOM_HOME": str(Path(home).resolve())}} if home else {}
    if installed:
        return {"command": installed, "args": [*arguments], **env}
    return {"command": sys.executable, "args": ["-m", "postroom", *arguments], **env}


def _url_host(host: str) -> str:
    """An address that listens on all interfaces is reached locally by loopback."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
