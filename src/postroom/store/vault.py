"""The vault: folders of approval files that a person moves. Pending_Approval, Approved, Rejected, Done, Logs.

Files are written whole (temporary name, fsync, rename) and read without following links. A scan of ten thousand files
parses only those that changed since the last one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.model.address import Address
from postroom.model.errors import InternalError, InvalidRequest, PermissionDenied
from postroom.store.approval_file import MAX_FILE_BYTES, ApprovalFile, parse
from postroom.store.plain_file import read_plain

PENDING, APPROVED, REJECTED, DONE, LOGS = "Pending_Approval", "Approved", "Rejected", "Done", "Logs"
Version = tuple[int, int, int]
_FOLDERS = (PENDING, APPROVED, REJECTED, DONE, LOGS)


@dataclass(frozen=True, slots=True)
class Found:
    """A file in a vault folder: what it says and about whom (as `Address.key`), or why it cannot be used."""

    path: Path
    file: ApprovalFile | None
    problem: str = ""
    recipients: frozenset[str] = frozenset()


class Vault:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._seen: dict[str, dict[str, tuple[Version, Found]]] = {}

    def prepare(self) -> None:
        """Make the folders; only their owner may look inside."""
        for name in _FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)

    def write_pending(self, name: str, content: bytes) -> Path:
        path = self.root / PENDING / name
        temporary = path.with_name(f".{name}.part")
        try:
            self.prepare()
            temporary.unlink(missing_ok=True)  # of a writer that died
            # Private whatever the umask says: a file that others may write approves nothing when it comes back.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.rename(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            why = os.strerror(error.errno or 0)
            raise InternalError(f"The approval could not be written to the vault ({why}).") from None
        return path

    def scan(self, folder: str) -> list[Found]:
        """Every Markdown file in a folder, newest parse per file version."""
        known, present = self._seen.get(folder, {}), {}
        for name, version in self._versions(folder):
            seen = known.get(name)
            if seen is None or seen[0] != version:
                seen = (version, _read(self.root / folder / name))
            present[name] = seen
        self._seen[folder] = present
        return [found for _, found in present.values()]

    def newest(self, folder: str, most: int) -> list[Found]:
        """The files that came or were changed last."""
        versions = sorted(self._versions(folder), key=lambda named: named[1], reverse=True)
        return [_read(self.root / folder / name) for name, _ in versions[:most]]

    def remembered(self, folder: str) -> list[Found]:
        """What the last scan read. Look again before acting on one: it may have changed since, or be gone."""
        return [found for _, found in self._seen.get(folder, {}).values()]

    def look_again(self, found: Found) -> Found:
        """The file as it is now."""
        return _read(found.path)

    def names(self, folder: str) -> list[str]:
        """What the files in a folder are called: one look at the folder, none at the files."""
        try:
            listed = os.listdir(self.root / folder)  # noqa: PTH208 (ten thousand names, once a second)
        except FileNotFoundError:
            return []
        return [name for name in listed if name.endswith(".md") and name[0] != "."]

    def claim(self, path: Path, folder: str = DONE) -> Path | None:
        """Move a file; None when another process was faster. The rename is what makes it happen once.

        InternalError when the folder does not take it.
        """
        target = self.root / folder / path.name
        number = 1
        while os.path.lexists(target):
            number += 1
            target = target.with_name(f"{path.stem} ({number}){path.suffix}")
        try:
            path.rename(target)
        except FileNotFoundError:
            return None
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise InternalError(f"An approval file could not be moved to {folder} ({why}).") from None
        return target

    def find(self, name: str) -> Path | None:
        """Where a file of this name lies now, whichever folder a person moved it to. One we may not look into has it
        as little as one that is gone."""
        return next((path for folder in _FOLDERS if os.path.lexists(path := self.root / folder / name)), None)

    def _versions(self, folder: str) -> Iterator[tuple[str, Version]]:
        """Asked through the folder's descriptor: a fifth faster than by path."""
        names = self.names(folder)
        if not names:
            return
        descriptor = os.open(self.root / folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names:
                try:
                    state = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except FileNotFoundError:  # moved on while we looked
                    continue
                yield name, (state.st_mtime_ns, state.st_size, state.st_ino)
        finally:
            os.close(descriptor)


def _read(path: Path) -> Found:
    try:
        file = parse(_bytes_of(path))
        return Found(path, file, recipients=frozenset(Address(address.strip()).key for address in file.to))
    except (InvalidRequest, PermissionDenied) as error:
        return Found(path, None, error.message)


def _bytes_of(path: Path) -> bytes:
    content, state = read_plain(path, "The approval file", MAX_FILE_BYTES)
    if state.st_nlink != 1:
        raise PermissionDenied("The approval file has a second name somewhere. It was not used.")
    if state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise PermissionDenied("The approval file belongs to, or is writable by, somebody else. It was not used.")
    return content
