from __future__ import annotations

from pathlib import Path

import pytest

from postroom.files.lock_file import locked


def test_a_lock_that_somebody_holds_is_waited_for_only_so_long_and_is_free_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "one.lock"
    with locked(path, patience=0):
        with locked(path.with_name("other.lock"), patience=0):
            pass
        with pytest.raises(TimeoutError), locked(path, patience=0):
            raise AssertionError
    with locked(path, patience=0):
        pass
