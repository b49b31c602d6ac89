"""Which submissions were begun and which sends were stopped, in a file of its own beside the state file; nothing is
ever taken back from it.

A state file that somebody put back from a backup, whether it was replaced or written over, knows nothing of what
happened since. This file does, also of what leaves no trace in the mailbox, unless it was put back along with it.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from postroom.files.folders import hand_over
from postroom.model.errors import ProviderUnavailable

_STOPPED, _RESUMED = "stopped", "resumed"


class Submissions:
    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, send_id: str, attempt: int) -> None:
        self._append(f"{send_id} {attempt}")

    def note_stopped(self, send_id: str) -> None:
        self._append(f"{send_id} {_STOPPED}")

    def resume(self, send_id: str) -> None:
        """A person has it sent again, which the state file may know as one that nobody stopped."""
        if self.is_stopped(send_id):
            self._append(f"{send_id} {_RESUMED}")

    def last(self, send_id: str) -> int:
        """The last attempt of this send that was begun; 0 where none is known."""
        return max((int(entry) for entry in self._entries(send_id) if entry.isdigit()), default=0)

    def is_stopped(self, send_id: str) -> bool:
        return [entry for entry in self._entries(send_id) if not entry.isdigit()][-1:] == [_STOPPED]

    def check(self) -> None:
        """ProviderUnavailable where it cannot be read or written by this user."""
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_NOFOLLOW))
        except FileNotFoundError:
            pass  # nothing was submitted yet
        except OSError as error:
            raise self._unusable(error) from error

    def _entries(self, send_id: str) -> list[str]:
        try:
            entries = self._path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(error) from error
        found = re.findall(rb"^%b (\w+)$" % re.escape(send_id.encode()), entries, re.MULTILINE)
        return [entry.decode() for entry in found]

    def _append(self, entry: str) -> None:
        """On disk when it returns. An entry begins with a line break: one that a power cut left unfinished then spoils
        no other."""
        line = f"\n{entry}\n".encode()
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            try:
                hand_over(descriptor, self._path.with_suffix(""))  # the state file
                if os.write(descriptor, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> ProviderUnavailable:
        return ProviderUnavailable(
            f"The file {self._path.name} beside the state file, which keeps messages from being sent twice, cannot be "
            f"used ({error.strerror}). Ask the operator to check it and the disk.",
            details={"file": str(self._path)},
        )
