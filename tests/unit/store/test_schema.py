from __future__ import annotations

import hashlib

from postroom.store.schema import MIGRATIONS

# A state file that has gone through a migration never goes through it again: a change to it would reach new files only.
# For the next change append a migration, and its digest here.
RELEASED = [
    "55a80feb5c0fb393",
    "21524024a939f43e",
    "ed60a55d55c688bf",
    "00b399e6a8610e52",
    "8377a9f9a1d4f60b",
    "8633c0170ad276df",
    "3034095de5f2769f",
    "e6a10916a4890054",
    "6e44fcba0ea9e97a",
    "9eb77b3b8d4122dd",
    "ceafc3cb70308827",
    "78f3984f3e12e77c",
]


def test_a_released_migration_is_never_edited() -> None:
    assert [hashlib.sha256("\n".join(steps).encode()).hexdigest()[:16] for steps in MIGRATIONS] == RELEASED
