"""What Postroom is measured beside over IMAP: another MCP mail server, and a mirroring program.

`mcp-email-server` (PyPI) goes into a virtual environment of its own under the temporary folder, made on the first run;
`mbsync` is the Debian package isync. Neither is a dependency of the project.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.peers.dovecot import Dovecot

PEER = "mcp-email-server"


def peer_command() -> list[str]:
    home = Path(tempfile.gettempdir()) / "postroom-bench-peer"
    program = home / "bin" / PEER
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run(
            [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--quiet", "--quiet", PEER], check=True
        )
    return [str(program), "stdio"]


def peer_environment(dovecot: Dovecot, user: str, password: str, home: Path) -> Mapping[str, str]:
    settings = {
        "EMAIL_ADDRESS": user,
        "USER_NAME": user,
        "PASSWORD": password,
        "ACCOUNT_NAME": "bench",
        "IMAP_HOST": dovecot.host,
        "IMAP_PORT": str(dovecot.imap),
        "IMAP_SSL": "false",
        "SMTP_HOST": dovecot.host,
        "CREDENTIAL_STORAGE": "plaintext",
    }
    named = {f"MCP_EMAIL_SERVER_{name}": value for name, value in settings.items()}
    return {**os.environ, **named, "HOME": str(home)}


def mirror_seconds(dovecot: Dovecot, user: str, password: str, folder: Path) -> float:
    """How long mbsync takes to fetch the whole inbox into an empty Maildir, without waiting for the disk."""
    (folder / "mirror").mkdir(parents=True)
    config = folder / "mbsyncrc"
    config.write_text(
        f"FSync no\nIMAPStore far\nHost {dovecot.host}\nPort {dovecot.imap}\nUser {user}\nPass {password}\n"
        f"SSLType None\nAuthMechs LOGIN\n\nMaildirStore near\nInbox {folder}/mirror/INBOX\n\n"
        "Channel all\nFar :far:INBOX\nNear :near:INBOX\nSync Pull\nCreate Near\n"
        f"SyncState {folder}/state-\n"
    )
    started = time.perf_counter()
    subprocess.run(["mbsync", "--config", config, "--quiet", "all"], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started
