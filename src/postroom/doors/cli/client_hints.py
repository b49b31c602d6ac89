"""How to connect a client to a Postroom that is running, ready to copy."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path


def render(host: str, port: int) -> str:
    url = f"http://{_url_host(host)}:{port}/mcp"
    return f"""\
Postroom serves a sample mailbox at {url}

Claude Code     claude mcp add --transport http mail {url}
Cursor          in .cursor/mcp.json:   {_snippet("mcpServers", url=url)}
VS Code         in .vscode/mcp.json:   {_snippet("servers", type="http", url=url)}
Claude Desktop  in claude_desktop_config.json (starts its own):
                {_snippet("mcpServers", **_own_process())}

Then ask: "What is new in my mail?" Stop with Ctrl-C."""


def _snippet(table: str, **server: object) -> str:
    return json.dumps({table: {"mail": server}})


def _own_process() -> dict[str, object]:
    """The command that runs this very installation."""
    installed = shutil.which("postroom", path=str(Path(sys.executable).parent))
    if installed:
        return {"command": installed, "args": ["demo", "--stdio"]}
    return {"command": sys.executable, "args": ["-m", "postroom", "demo", "--stdio"]}


def _url_host(host: str) -> str:
    """An address that listens everywhere is reached here by loopback."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
