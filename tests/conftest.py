"""What every test shares: one event loop, files in memory, and no settings from whoever runs the tests."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from postroom.files import database_file

pytest_plugins = ["tests.peers.fixtures"]

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")

_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30  # bytes; a whole run leaves about one fourth of it behind
_MANY_FILES = 300  # open at once in one process
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)  # a sync costs nothing there, and milliseconds on a disk

for _name in [name for name in os.environ if name.startswith("POSTROOM_") or name == "DEV_MODE"]:
    del os.environ[_name]
os.environ["TZ"] = "UTC"  # the zone of whoever runs the tests is none of theirs
if hasattr(time, "tzset"):
    time.tzset()


@pytest.fixture(autouse=True)
def no_log_handler_stays() -> Iterator[None]:
    """A handler that a test configured writes to that test's standard error, which is closed afterwards."""
    yield
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if type(handler).__name__ != "FloodHandler"]


@pytest.fixture(autouse=True)
def no_database_stays_in_use() -> Iterator[None]:
    """A server opens a few databases and looks at all of them before it reads a file; the tests open thousands."""
    before = set(database_file._in_use)
    yield
    database_file._in_use &= before


@pytest.fixture(autouse=True)
def few_files_stay_open() -> Iterator[None]:
    """A database that a test leaves open is closed when it is collected. Reading in bulk, which tests do in their own
    process, makes that rare and exempts what is there by then: a worker would have more than `select` can watch."""
    yield
    if len(os.listdir("/dev/fd")) > _MANY_FILES:
        gc.unfreeze()
        gc.collect()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
