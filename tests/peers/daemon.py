"""What every peer needs: ports, waiting for a listener, stopping by process id, and an honest skip."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

LOOPBACK = "127.0.0.1"
_CHANCE = random.SystemRandom()  # not the seeded one: two workers must not choose alike


def missing_programs(*names: str) -> str | None:
    """Why these cannot be started here, in words; None when they can."""
    places = f"{os.environ.get('PATH', '')}:/usr/sbin"
    missing = [name for name in names if shutil.which(name, path=places) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    return None if os.geteuid() == 0 else f"{', '.join(names)} can only be started by root"


def require_programs(*names: str) -> None:
    """Skip (fail under CI) unless every program is there and we may start it."""
    require(missing_programs(*names))


def require(missing: str | None) -> None:
    """Skip (fail under CI) where there is a reason why a peer cannot be started."""
    if missing and os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"peer missing under CI: {missing}", pytrace=False)
    if missing:
        pytest.skip(f"peer missing: {missing}")


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on; all are held until the last is known, so they differ. None of those that the system
    gives to outgoing connections: between this and the server's own bind, one of them would take it now and then."""
    holders: list[socket.socket] = []
    try:
        while len(holders) < count:
            holder = socket.socket()
            try:
                holder.bind((LOOPBACK, _CHANCE.randrange(20_000, 32_000)))
            except OSError:
                holder.close()
            else:
                holders.append(holder)
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()


def wait_for_listener(
    port: int, log: Path, seconds: float = 120, process: subprocess.Popen[bytes] | None = None
) -> None:
    """Generous, for machines with much else to do; a `process` that has ended is not waited for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and (process is None or process.poll() is None):
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    tail = log.read_text(errors="replace")[-2000:] if log.exists() else "(no log)"
    waited = f"after {seconds} s" if process is None or process.poll() is None else "and the process has ended"
    raise RuntimeError(f"nothing listens on {port} {waited}:\n{tail}")


def kill_by_pid_file(pid_file: Path, seconds: float = 10) -> None:
    """End the daemon that wrote this file, at once and with all its children: it leads a process group of its own."""
    try:
        pid = int(pid_file.read_text().strip())
        leads_its_group = os.getpgid(pid) == pid
    except (OSError, ValueError):
        return
    if not leads_its_group:
        raise RuntimeError(f"process {pid} leads no group of its own; its children would be left behind")
    os.killpg(pid, signal.SIGKILL)
    deadline = time.monotonic() + seconds
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    pid_file.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    """A process that ended but was never waited for (no init in a container) counts as gone."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
