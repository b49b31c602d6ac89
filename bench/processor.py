"""The processor time of another process: what is compared where other work keeps the machine busy."""

from __future__ import annotations

from pathlib import Path


class Processor:
    """Adds up what the kernel counts for each thread, those included that have ended meanwhile."""

    def __init__(self, pid: int) -> None:
        self._threads = Path(f"/proc/{pid}/task")
        self._nanoseconds: dict[str, int] = {}

    def ms(self) -> float:
        """So far."""
        for thread in self._threads.iterdir():
            try:
                self._nanoseconds[thread.name] = int((thread / "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
        return sum(self._nanoseconds.values()) / 1e6
