"""The vault: folders of approval files that a person moves. Pending_Approval, Approved, Rejected, Done, Logs.

Files are written whole (temporary name, fsync, rename) and read without following links. What others may write to is
closed to them; a folder that is not ours to close approves nothing. A scan of ten thousand files parses only those that
changed since the last one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.files.folders import keep_others_from_writing, make_private, opened_folder
from postroom.files.plain_file import read_from
from postroom.model.address import Address
from postroom.model.errors import InternalError, InvalidRequest, PermissionDenied
from postroom.store.vault.approval_file import MAX_FILE_BYTES, ApprovalFile, parse

PENDING, APPROVED, REJECTED, DONE, LOGS = "Pending_Approval", "Approved", "Rejected", "Done", "Logs"
Version = tuple[int, ...]
_ANYBODY_ELSE_MAY_ENTER = stat.S_IXGRP | stat.S_IXOTH
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
            make_private(self.root / name)

    def write_pending(self, name: str, content: bytes) -> Path:
        try:
            self.prepare()
            with self._opened(PENDING) as folder:
                _write(folder, name, content)
        except OSError as error:
            raise InternalError(f"The approval file could not be written to the vault ({_why(error)}).") from None
        return self.root / PENDING / name

    def scan(self, folder: str) -> list[Found]:
        """Every Markdown file in a folder, newest parse per file version."""
        known, present = self._seen.get(folder, {}), {}
        with suppress(FileNotFoundError, PermissionDenied), self._opened(folder) as opened:
            for name, version in _versions(opened):
                seen = known.get(name)
                if seen is None or seen[0] != version:
                    seen = (version, _read(opened, self.root / folder / name))
                present[name] = seen
        self._seen[folder] = present
        return [found for _, found in present.values()]

    def newest(self, folder: str, most: int) -> list[Found]:
        """The files that came or were changed last."""
        with suppress(FileNotFoundError, PermissionDenied), self._opened(folder) as opened:
            versions = sorted(_versions(opened), key=lambda named: named[1], reverse=True)
            return [_read(opened, self.root / folder / name) for name, _ in versions[:most]]
        return []

    def remembered(self, folder: str) -> list[Found]:
        """What the last scan read. Look again before acting on one: it may have changed since, or be gone."""
        return [found for _, found in self._seen.get(folder, {}).values()]

    def look_again(self, found: Found) -> Found:
        """The file as it is now."""
        try:
            with self._opened(found.path.parent.name) as opened:
                return _read(opened, found.path)
        except FileNotFoundError:
            return Found(found.path, None, "The approval file is gone.")
        except PermissionDenied as error:
            return Found(found.path, None, error.message)

    def troubles(self) -> list[tuple[str, str]]:
        """Folders from which nothing is used, each with the reason."""
        found = []
        for folder in (PENDING, APPROVED, REJECTED):
            try:
                with self._opened(folder):
                    pass
            except FileNotFoundError:
                continue
            except (OSError, PermissionDenied) as error:
                found.append((folder, _why(error)))
        return found

    def names(self, folder: str) -> list[str]:
        """What the files in a folder are called: one look at the folder, none at the files."""
        try:
            return _names(self.root / folder)
        except FileNotFoundError:
            return []

    def strays(self, folder: str) -> list[str]:
        """Files that nobody reads, because of what they are called."""
        try:
            return [entry.name for entry in os.scandir(self.root / folder) if _is_stray(entry)]
        except OSError:
            return []

    def claim(self, path: Path, folder: str = DONE) -> Path | None:
        """Move a file; None when another process was faster. The rename is what makes it happen once.

        InternalError when the folder does not take it, or is a link to another.
        """
        with suppress(OSError):  # the rename tells
            make_private(self.root / folder)
        try:
            with opened_folder(self.root, folder, check=keep_others_from_writing) as opened:
                target = self.root / folder / _free_name(opened, path)
                os.rename(path, target.name, dst_dir_fd=opened)
        except (OSError, PermissionDenied) as error:
            if not os.path.lexists(path):
                return None
            raise InternalError(f"An approval file could not be moved to {folder} ({_why(error)}).") from None
        return target

    def find(self, name: str) -> Path | None:
        """Where a file of this name is now, whichever folder a person moved it to. A folder we may not read counts as
        empty."""
        return next((path for folder in _FOLDERS if os.path.lexists(path := self.root / folder / name)), None)

    @contextmanager
    def _opened(self, folder: str) -> Iterator[int]:
        """PermissionDenied where others could have put something there, or there is a link instead of a folder."""
        try:
            with opened_folder(self.root, folder, check=keep_others_from_writing) as opened:
                yield opened
        except NotADirectoryError:
            raise PermissionDenied(f"{folder} is a link or not a folder. Nothing in it is used.") from None


def _why(error: OSError | PermissionDenied) -> str:
    if isinstance(error, PermissionDenied):
        return error.message
    return os.strerror(error.errno or 0)


def _names(folder: Path | int) -> list[str]:
    listed = os.listdir(folder)  # noqa: PTH208 (ten thousand names, once a second)
    return [name for name in listed if name[-3:].lower() == ".md" and name[0] != "."]


def _is_stray(entry: os.DirEntry[str]) -> bool:
    return entry.name[0] != "." and entry.name[-3:].lower() != ".md" and entry.is_file(follow_symlinks=False)


def _free_name(folder: int, path: Path) -> str:
    name, number = path.name, 1
    while _is_taken(folder, name):
        number += 1
        name = f"{path.stem} ({number}){path.suffix}"
    return name


def _is_taken(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _versions(folder: int) -> Iterator[tuple[str, Version]]:
    """Asked through the folder's descriptor: a fifth faster than by path. Who may write to a file and enter its folder
    is part of its version, because that decides whether it is used."""
    mode = os.fstat(folder).st_mode
    for name in _names(folder):
        try:
            state = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # moved on while we looked
            continue
        yield name, (state.st_mtime_ns, state.st_size, state.st_ino, state.st_ctime_ns, mode)


def _read(folder: int, path: Path) -> Found:
    try:
        file = parse(_bytes_of(folder, path.name))
        return Found(path, file, recipients=frozenset(Address(address.strip()).key for address in file.to))
    except (InvalidRequest, PermissionDenied) as error:
        return Found(path, None, error.message)


def _bytes_of(folder: int, name: str) -> bytes:
    content, state = read_from(folder, name, "The approval file", MAX_FILE_BYTES)
    if state.st_nlink != 1:
        raise PermissionDenied("The approval file has a second hard link somewhere. It was not used.")
    if state.st_uid != os.geteuid():
        raise PermissionDenied("The approval file belongs to somebody else. It was not used.")
    if _is_open_to_others(state.st_mode, os.fstat(folder).st_mode):
        raise PermissionDenied("Other users can write to the approval file. It was not used. Run: chmod go-w")
    return content


def _is_open_to_others(file: int, folder: int) -> bool:
    """Where people have a group of their own, their editors make files that the group may write to (umask 002). In a
    folder that nobody else may enter, that opens it to nobody."""
    return bool(file & stat.S_IWOTH or (file & stat.S_IWGRP and folder & _ANYBODY_ELSE_MAY_ENTER))


def _write(folder: int, name: str, content: bytes) -> None:
    """Private regardless of the umask: a file that others may write to approves nothing when it is read back."""
    temporary = f".{name}.part"
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)  # of a writer that died
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
