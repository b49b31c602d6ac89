"""What every test shares: one event loop implementation, and no settings from whoever runs the tests."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import settings

pytest_plugins = ["tests.peers.fixtures"]

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")

for _name in [name for name in os.environ if name.startswith("POSTROOM_") or name == "DEV_MODE"]:
    del os.environ[_name]
os.environ["TZ"] = "UTC"  # the zone of whoever runs the tests is none of theirs
if hasattr(time, "tzset"):
    time.tzset()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
