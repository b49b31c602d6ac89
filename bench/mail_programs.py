"""mu and notmuch on the Maildir that the server serves: a process per call, as their users run them.

Debian packages `maildir-utils` and `notmuch`; neither is a dependency of the project. They read the files beside the
server, so their time to index has no IMAP in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Calls = Mapping[str, Sequence[str]]  # what to run for each thing that is measured


@dataclass(frozen=True, slots=True)
class Program:
    """`indexed` is how long it took to index, None where it was stopped; `why` is why it is not measured."""

    name: str
    env: Mapping[str, str]
    indexed: float | None = None
    why: str = ""

    def ran(self, command: Sequence[str]) -> float:
        """Milliseconds."""
        started = time.perf_counter()
        subprocess.run(command, env=self.env, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (time.perf_counter() - started) * 1000


def mu(maildir: Path, home: Path, patience: float) -> Program:
    env = {**os.environ, "MUHOME": str(home / "mu")}
    steps = [["mu", "init", f"--maildir={maildir}"], ["mu", "index", "--quiet"]]
    return _indexed("mu", "maildir-utils", env, steps, patience)


def notmuch(maildir: Path, home: Path, patience: float) -> Program:
    config = home / "notmuch-config"
    config.write_text(
        f"[database]\npath={home / 'notmuch'}\nmail_root={maildir}\n[user]\nname=Bench\nprimary_email=b@bench.example\n"
        "[new]\ntags=inbox\nignore=/^dovecot.*/\n[maildir]\nsynchronize_flags=false\n"
    )
    (home / "notmuch").mkdir()
    env = {**os.environ, "NOTMUCH_CONFIG": str(config)}
    return _indexed("notmuch", "notmuch", env, [["notmuch", "new", "--quiet"]], patience)


def _indexed(
    name: str, package: str, env: Mapping[str, str], steps: Sequence[Sequence[str]], patience: float
) -> Program:
    if not shutil.which(name):
        return Program(name, env, why=f"not installed (Debian: {package})")
    started = time.perf_counter()
    try:
        for step in steps:
            left = max(1.0, patience - (time.perf_counter() - started))
            quiet = subprocess.DEVNULL
            subprocess.run(step, env=env, check=True, timeout=left, stdout=quiet, stderr=quiet)
    except subprocess.TimeoutExpired:
        return Program(name, env, why=f"not indexed within {patience:.0f} s")
    except subprocess.CalledProcessError as error:
        return Program(name, env, why=f"indexing failed ({error.returncode})")
    return Program(name, env, time.perf_counter() - started)


def mu_calls(words: Mapping[str, str], message_id: str, path: str) -> Calls:
    find = ["mu", "find", "--sortfield=date", "--reverse", "--maxnum=20"]
    return {
        "list 20": [*find, ""],
        **{name: [*find, word] for name, word in words.items()},
        "thread": ["mu", "find", "--include-related", f"msgid:{message_id}"],
        "read": ["mu", "view", path],
    }


def notmuch_calls(words: Mapping[str, str], message_id: str, offset: int) -> Calls:
    find = ["notmuch", "search", "--limit=20", "--sort=newest-first"]
    return {
        "list 20": [*find, "*"],
        "list 20, far down": [*find, f"--offset={offset}", "*"],
        **{name: [*find, word] for name, word in words.items()},
        "thread": ["notmuch", "search", "--output=messages", f"thread:{{id:{message_id}}}"],
        "read": ["notmuch", "show", "--entire-thread=false", f"id:{message_id}"],
    }
