"""A folder or file that is exchanged for a link, again and again, while it is being attached."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroom.model.errors import NotFound, PermissionDenied
from postroom.service.attachment_files import load_files

TRIES, TOO_MANY = 4000, 100_000

# Each works until it is ended, or until nobody is there to end it.
TURN_A_LINK = """
import os, sys
spot, inside, outside = sys.argv[1:]
print("ready", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    for target in (inside, outside):
        os.symlink(target, spot + ".new")
        os.replace(spot + ".new", spot)
"""
PUT_A_LINK_INSTEAD = """
import os, random, sys
spot, aside, outside = sys.argv[1:]
print("ready", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    for _ in range(random.randrange(4000)):  # so that it is there most of the time when it is looked at
        pass
    os.rename(spot, aside)
    os.symlink(outside, spot)
    os.unlink(spot)
    os.rename(aside, spot)
"""


@contextmanager
def exchanging(script: str, *paths: Path) -> Iterator[None]:
    """A process that does it as fast as it can."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, paths)],
        env={**os.environ, "PARENT": str(os.getpid())},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def attached(name: str, allowed: Path) -> str:
    try:
        return load_files([name], [allowed])[0].content.decode()
    except (PermissionDenied, NotFound):
        return "refused"


@pytest.mark.parametrize("what", ["link to a folder", "folder", "file"])
def test_whatever_is_exchanged_while_it_is_attached_no_byte_comes_from_outside(tmp_path, what, record_fault):
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    spot, aside = allowed / "spot", allowed / "aside"
    for folder, text in ((outside, "secret"), (aside, "fine")):
        folder.mkdir(parents=True)
        (folder / "x.txt").write_text(text)
    name = "spot/x.txt"
    if what == "link to a folder":
        spot.symlink_to(aside)
        exchange = exchanging(TURN_A_LINK, spot, aside, outside)
    elif what == "folder":
        aside.rename(spot)
        exchange = exchanging(PUT_A_LINK_INSTEAD, spot, aside, outside)
    else:
        (aside / "x.txt").rename(spot)
        name, exchange = "spot", exchanging(PUT_A_LINK_INSTEAD, spot, allowed / "spare", outside / "x.txt")
    ended = Counter[str]()
    with exchange:
        while ended.total() < TRIES or (len(ended) < 2 and ended.total() < TOO_MANY):
            ended[attached(name, allowed)] += 1
    assert set(ended) == {"fine", "refused"}
    record_fault(f"{what} exchanged while it is attached", ended.total(), ended)
