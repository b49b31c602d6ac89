"""The completion scripts in the shells they are for."""

from __future__ import annotations

import subprocess

import pytest
from tests.peers.daemon import require

from postroom.doors.cli import completion_scripts, main
from postroom.doors.cli.completion import SHELLS

BASH = """{script}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); _postroom; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# compadd and _files work only inside a completion widget, so that they are stood in for.
ZSH = """compdef() {{ :; }}; compadd() {{ shift; printf '%s\\n' "$@"; }}; _files() {{ echo FILES; }}
{script}
words=({words}); CURRENT=${{#words}}; _postroom
"""
FISH = "{script}\ncomplete -C'{line}'\n"


def offered(shell: str, line: str) -> list[str]:
    """What the shell offers for the last word of a line."""
    script = completion_scripts.render(shell, main.build_parser(lambda *args, **kwargs: None))
    *before, last = line.split(" ")
    words = " ".join([*before, f"'{last}'"])
    program = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell].format(script=script, words=words, line=line)
    try:
        flags = ["--norc"] if shell == "bash" else ["-f"] if shell == "zsh" else ["--no-config"]
        done = subprocess.run([shell, *flags, "-c", program], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        require(f"{shell} not installed")
        raise
    assert done.stderr == ""
    return [found.split("\t")[0] for found in done.stdout.split("\n") if found]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_offered(shell: str) -> None:
    assert {"serve", "accounts", "read", "import", "completion"} <= set(offered(shell, "postroom "))


@pytest.mark.parametrize("shell", SHELLS)
def test_the_verbs_and_flags_of_a_command_are_offered_where_it_was_named(shell: str) -> None:
    assert {"list", "add", "login", "remove"} <= set(offered(shell, "postroom accounts "))
    assert {"--host", "--smtp-host"} <= set(offered(shell, "postroom accounts add --"))
    assert "--host" not in offered(shell, "postroom search --")


@pytest.mark.parametrize("shell", SHELLS)
def test_fixed_choices_are_offered_as_values(shell: str) -> None:
    assert set(offered(shell, "postroom accounts add --auth ")) == {"password", "xoauth2", "oauthbearer"}
    assert {"sent", "resend", "drop"} <= set(offered(shell, "postroom outbox resolve "))
    assert {"bash", "zsh", "fish"} <= set(offered(shell, "postroom completion "))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_value_does_not_pass_for_a_command(shell: str) -> None:
    assert "--limit" in offered(shell, "postroom search --account serve --")


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", "bash"], serve=lambda *args, **kwargs: None) == 0
    assert "complete -F _postroom postroom" in capsys.readouterr().out
