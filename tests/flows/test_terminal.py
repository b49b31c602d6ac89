"""`postroom serve` as a person starts it: at a terminal, ended with Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE = 60.0  # seconds; nothing here should take as long
CTRL_C = b"\x03"


class Terminal:
    """A process whose standard input, output and error are one terminal."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self._here, there = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "postroom", *arguments],
            stdin=there,
            stdout=there,
            stderr=there,
            start_new_session=True,
            preexec_fn=lambda: _control(there),
            env={**os.environ, "POSTROOM_HOME": str(home), "XDG_CONFIG_HOME": str(home)},
        )
        os.close(there)
        self.shown = ""

    def wait_for(self, words: str) -> None:
        while words not in self.shown:
            assert self._more(), f"it ended without saying {words!r}: {self.shown}"

    def press(self, keys: bytes) -> None:
        os.write(self._here, keys)

    def end(self) -> int:
        """The exit code, once everything it said was read."""
        while self._more():
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._here)

    def _more(self) -> bool:
        ready, _, _ = select.select([self._here], [], [], PATIENCE)
        assert ready, f"nothing happens: {self.shown}"
        with contextlib.suppress(OSError):  # the other end is closed
            said = os.read(self._here, 65536)
            self.shown += said.decode()
            return bool(said)
        return False


def _control(terminal: int) -> None:
    """Make it the one whose Ctrl-C reaches the process."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "postroom").mkdir()
    (tmp_path / "postroom" / "postroom.toml").write_text(
        '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "alice@example.com"\n'
    )
    return tmp_path


@pytest.fixture
def at_terminal(home: Path) -> Iterator[type[Terminal]]:
    opened: list[Terminal] = []

    def start(*arguments: str) -> Terminal:
        opened.append(Terminal(home, *arguments))
        return opened[-1]

    yield start  # type: ignore[misc]
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize("command", [("serve",), ("demo", "--stdio")])
def test_it_says_what_it_waits_for_and_ctrl_c_ends_it_quietly(at_terminal, command: tuple[str, ...]) -> None:
    terminal = at_terminal(*command)
    terminal.wait_for("press Ctrl-C to stop.")
    terminal.press(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    terminal.wait_for('"result"')  # it serves; only then can the end be that of a server
    terminal.press(CTRL_C)

    assert terminal.end() in (0, 130)
    assert "waiting for an MCP client" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert '"event"' not in terminal.shown  # no log lines for what went well


def test_serve_over_http_shows_its_address_and_how_to_connect_and_no_log_lines(at_terminal) -> None:
    terminal = at_terminal("serve", "--http", "127.0.0.1:0")
    terminal.wait_for("Stop with Ctrl-C.")
    terminal.press(CTRL_C)

    assert terminal.end() in (0, 130)
    assert "Postroom serves work at http://127.0.0.1:" in terminal.shown
    assert "127.0.0.1:0/" not in terminal.shown
    assert "claude mcp add --transport http" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert '"event"' not in terminal.shown


def test_a_listing_at_a_terminal_stands_below_its_header(at_terminal) -> None:
    terminal = at_terminal("accounts", "list")

    assert terminal.end() == 0
    assert terminal.shown.splitlines()[0].split() == ["NAME", "PROVIDER", "ADDRESS", "STATUS"]


def test_make_run_names_the_variable_when_the_port_is_taken(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            ["make", "-o", "setup", "run", f"BIN={Path(sys.executable).parent}", f"HTTP={address}"],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "POSTROOM_HOME": str(home)},
        )

    assert done.returncode != 0
    assert f"cannot listen on {address} (Address already in use)." in done.stderr
    assert "make run HTTP=" in done.stderr
