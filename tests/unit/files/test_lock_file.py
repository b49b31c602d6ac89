from __future__ import annotations

from pathlib import Path

import pytest

from postroom.files.lock_file import locked
from postroom.model.errors import InternalError


def test_a_lock_that_somebody_holds_is_waited_for_only_so_long_and_is_free_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "one.lock"
    with locked(path, patience=0):
        with locked(path.with_name("other.lock"), patience=0):
            pass
        with pytest.raises(TimeoutError), locked(path, patience=0):
            raise AssertionError
    with locked(path, patience=0):
        pass


def test_a_lock_that_cannot_be_made_is_said_to_be_the_trouble(tmp_path: Path) -> None:
    (tmp_path / "locks").touch()
    with pytest.raises(InternalError, match="locks"), locked(tmp_path / "locks" / "one.lock", patience=0):
        raise AssertionError
    (tmp_path / "two.lock").mkdir()
    with pytest.raises(InternalError, match=r"two\.lock"), locked(tmp_path / "two.lock", patience=0):
        raise AssertionError
