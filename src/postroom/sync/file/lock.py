"""One process at a time fills a mirror. The kernel drops the lock when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from postroom.files.folders import hand_over, make_private
from postroom.model.errors import ProviderUnavailable


class Lock:
    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path

    @classmethod
    def taken(cls, path: Path) -> Self | None:
        """None while another process, or another lock of this one, has it."""
        try:
            make_private(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            hand_over(descriptor, path.parent)
        except OSError as error:
            raise ProviderUnavailable(
                f"The mirror {path.stem} cannot be synchronized: {path.name} cannot be written ({error.strerror})."
                " Ask the operator to check the folder of the mirrors."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(descriptor, path)

    @property
    def is_held(self) -> bool:
        """Whether others notice it. They do not once somebody removed the file, or its folder."""
        try:
            return self._descriptor >= 0 and os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            return False

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
