"""The command line itself: what it accepts, what it passes on, how it fails."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.doors.cli import client_hints, main
from postroom.settings import Settings
from postroom.wiring import open_gateway

LOCAL = '[[accounts]]\nname = "work"\nprovider = "local"\naddress = "alice@example.com"\n'


class Served:
    """Stands in for the MCP door and remembers what it was asked to serve."""

    settings: Settings
    http: bool

    def __call__(self, settings: Settings, *, http: bool, ready: Callable[[int], None] | None = None) -> None:
        self.settings, self.http = settings, http
        if ready is not None:
            ready(settings.server.port)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Served()


def _opening(settings: Settings, *, http: bool, ready: Callable[[int], None] | None = None) -> None:
    """Stands in for the MCP door as far as its gateway."""

    async def visit() -> None:
        async with open_gateway(settings):
            pass

    asyncio.run(visit())


def config(tmp_path: Path, text: str = LOCAL) -> str:
    path = tmp_path / "postroom.toml"
    path.write_text(text)
    return str(path)


def test_serve_speaks_on_standard_input_and_output_unless_told_otherwise(tmp_path: Path, served: Served) -> None:
    assert main.run(["serve", "--config", config(tmp_path)], serve=served) == 0
    assert not served.http
    assert [account.name for account in served.settings.accounts] == ["work"]


def test_serve_flags_change_the_settings(tmp_path: Path, served: Served) -> None:
    flags = ["--http", "127.0.0.1:9000", "--dialect", "graph", "--toolsets", "read, drafts", "--read-only"]
    assert main.run(["serve", "--config", config(tmp_path), *flags], serve=served) == 0
    server = served.settings.server
    assert served.http
    assert (server.port, server.dialect, server.toolsets, server.read_only) == (9000, "graph", ("read", "drafts"), True)


def test_http_without_an_address_takes_the_configured_one(tmp_path: Path, served: Served) -> None:
    path = config(tmp_path, LOCAL + '[server]\nbind_addr = "127.0.0.1:9001"\n')
    assert main.run(["serve", "--config", path, "--http"], serve=served) == 0
    assert (served.http, served.settings.server.port) == (True, 9001)


def test_a_missing_read_only_flag_does_not_lift_the_setting(tmp_path: Path, served: Served) -> None:
    main.run(["serve", "--config", config(tmp_path, LOCAL + "[server]\nread_only = true\n")], serve=served)
    assert served.settings.server.read_only


def test_serve_without_settings_says_that_it_serves_the_sample(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["serve"], serve=served) == 0
    out, err = capsys.readouterr()
    assert served.settings.is_demo
    assert (out, "sample mailbox" in err) == ("", True)  # standard output belongs to the protocol


def test_demo_serves_over_http_and_tells_how_to_connect(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "--http", "127.0.0.1:8123"], serve=served) == 0
    out = capsys.readouterr().out
    assert served.http
    assert served.settings.is_demo
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "http://127.0.0.1:8123/mcp"):
        assert client in out


def test_serve_over_http_says_where_and_how_to_connect(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path)
    assert main.run(["serve", "--config", path, "--http", "127.0.0.1:8123"], serve=served) == 0
    out = capsys.readouterr().out
    assert "Postroom serves work at http://127.0.0.1:8123/mcp" in out
    assert json.dumps(["serve", "--config", path]) in out  # what Claude Desktop starts
    assert "Bearer" not in out


@pytest.mark.parametrize("command", ["serve", "demo"])
@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        (["--toolsets", "read,drafts", "--read-only"], {}),
        (["--dialect", "drafts"], {}),
        (["--read-only"], {"POSTROOM_SERVER__READ_ONLY": "true"}),
    ],
)
def test_what_a_client_is_told_to_start_offers_no_more_than_what_is_served(
    tmp_path: Path,
    served: Served,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    flags: list[str],
    environ: dict[str, str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    path = config(tmp_path)
    given = [] if environ else flags
    assert main.run([command, "--config", path, "--http", *given], serve=served) == 0
    own_process = ["serve"] if command == "serve" else ["demo", "--stdio"]
    assert json.dumps([*own_process, "--config", path, *flags]) in capsys.readouterr().out


@pytest.mark.parametrize("home", ["", "/srv/postroom"])
def test_what_a_client_is_told_to_start_has_the_same_home(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("POSTROOM_HOME", home)
    snippet = client_hints.render("127.0.0.1", 8090).split("starts its own):")[1].split("\n")[1]
    server = json.loads(snippet)["mcpServers"]["mail"]
    assert server.get("env") == ({"POSTROOM_HOME": home} if home else None)


def test_where_a_token_is_asked_for_every_hint_says_where_to_put_it_and_none_shows_it(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path, LOCAL + '[server]\ntokens = ["s3cret-s3cret-s3cret"]\n')
    Path(path).chmod(0o600)
    assert main.run(["serve", "--config", path, "--http"], serve=served) == 0
    out = capsys.readouterr().out
    assert "s3cret" not in out
    assert out.count("Bearer TOKEN") == 3


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_once_a_client_has_a_token_every_hint_says_where_to_put_it(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = config(tmp_path)
    assert main.run(["tokens", "create", "laptop", "--config", path], serve=served) == 0
    token = capsys.readouterr().out.strip()
    assert main.run([command, "--config", path, "--http"], serve=served) == 0
    out = capsys.readouterr().out
    assert token not in out
    assert out.count("Bearer TOKEN") == 3


def test_demo_over_standard_input_prints_nothing(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "--stdio"], serve=served) == 0
    assert not served.http
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("mail.example", "mail.example")],
)
def test_connection_hints_are_valid_json_and_name_a_reachable_url(host: str, shown: str) -> None:
    text = client_hints.render(host, 8090)
    snippets = [json.loads(line[line.index("{") :]) for line in text.splitlines() if "{" in line]
    urls = [
        server["url"] for snippet in snippets for server in next(iter(snippet.values())).values() if "url" in server
    ]
    assert urls == [f"http://{shown}:8090/mcp"] * 2
    assert len(snippets) == 3


@pytest.mark.parametrize("command", ["serve", "accounts", "doctor"])
def test_wrong_settings_end_with_code_2_and_one_line_each(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = config(tmp_path, LOCAL + 'hots = "x"\n[safety]\ngate = "x"\n')
    assert main.run([command, "--config", path], serve=served) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("postroom: accounts[0].hots: unknown key")
    assert lines[1].startswith("postroom: safety.gate: unknown value")
    assert len(lines) == 2


@pytest.mark.parametrize("argv", [["frobnicate"], ["search"], ["serve", "--frobnicate"]])
def test_a_wrong_command_line_ends_with_code_2(argv: list[str], served: Served) -> None:
    with pytest.raises(SystemExit) as exit_:
        main.run(argv, serve=served)
    assert exit_.value.code == 2


def test_an_interrupt_ends_quietly_and_the_line_with_it(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(settings: Settings, *, http: bool, ready: Callable[[int], None] | None = None) -> None:
        raise KeyboardInterrupt

    assert main.run(["serve"], serve=interrupted) == 130
    before = "postroom: no settings found, serving the sample mailbox\n"
    assert capsys.readouterr().err == before
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main.run(["serve"], serve=interrupted) == 130
    assert capsys.readouterr().err == f"{before}\n"


def test_help_is_cheap_it_loads_neither_settings_nor_the_protocol() -> None:
    code = (
        "import sys\nfrom postroom.__main__ import main\n"
        "try: main(['--version'])\nexcept SystemExit: pass\n"
        "print([name for name in ('pydantic', 'mcp', 'asyncio', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_that_is_written_can_be_given() -> None:
    folder = Path(main.__file__).parent
    written = {path.stem for path in folder.glob("*.py") if "\ndef register(" in path.read_text(encoding="utf-8")}
    assert set(main.COMMANDS) == written


def test_where_it_cannot_run_it_says_where_it_does(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main.run(["doctor"], serve=served) == 2
    assert "run it in WSL" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["search", "x"], ["doctor"], ["demo", "--stdio"], ["accounts"], ["approvals"]])
def test_a_home_that_cannot_be_used_is_named_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setenv("POSTROOM_HOME", str(tmp_path / ("x" * 300)))  # unusable for root, too
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert main.run(command, serve=_opening, count_tools=lambda _: 1) == 1
    said = capsys.readouterr()
    assert "File name too long" in said.out + said.err


def test_settings_that_cannot_be_read_are_named_when_an_account_is_added(
    tmp_path: Path, served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("x" * 300)
    added = ["accounts", "add", "a@example.com", "--provider", "local", "--config", str(path)]
    assert main.run(added, serve=served) == 2
    assert capsys.readouterr().err == f"postroom: {path}: cannot be read: File name too long\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a Linux device")
def test_a_full_disk_is_no_traceback(served: Served, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "postroom", "accounts", "--config", config(tmp_path)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ})
    assert (done.returncode, done.stderr) == (1, "postroom: No space left on device\n")
