"""A mutant: one file with one span of bytes replaced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ROOMS = (
    "service/sending/**/*.py",
    "service/organising/places.py",
    "service/notices.py",
    "service/rules/forwarding.py",
    "safety/*.py",
    "store/**/*.py",
    "model/native.py",
)


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    path: str  # below the root of the repository
    start: int
    end: int
    new: str
    operator: str
    line: int
    first: int  # the lines of the statement it is in: a test that runs one of them may notice
    last: int
    where: str  # the class and function around it
    body_of: tuple[str, int] | None  # outermost function whose body it is in, and where that begins

    @property
    def module(self) -> str:
        return ".".join(Path(self.path).relative_to("src").with_suffix("").parts)

    @property
    def lines(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def source(self) -> bytes:
        old = source(self.path)
        return old[: self.start] + self.new.encode() + old[self.end :]

    @property
    def change(self) -> tuple[list[str], list[str]]:
        """The lines that differ, before and after."""
        old = source(self.path)
        begin, end = old.rfind(b"\n", 0, self.start) + 1, old.find(b"\n", self.end)
        new = old[begin : self.start] + self.new.encode() + old[self.end : end]
        return old[begin:end].decode().splitlines(), new.decode().splitlines()

    @property
    def name(self) -> tuple[str, str, str]:
        """What an accepted one is recognised by, wherever its lines move to."""
        was, becomes = (" ".join(" ".join(lines).split()) for lines in self.change)
        return self.path, was, becomes

    def shown(self) -> str:
        was, becomes = self.change
        lines = [*(f"- {line}" for line in was), *(f"+ {line}" for line in becomes)]
        return "\n".join([f"{self.path}:{self.line} in {self.where or 'the module'}: {self.operator}", *lines])


@cache
def source(path: str) -> bytes:
    return (ROOT / path).read_bytes()


def targets() -> list[str]:
    base = ROOT / "src" / "postroom"
    found = {path for pattern in _ROOMS for path in base.glob(pattern)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)
