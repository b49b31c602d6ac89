"""Database files are opened by SQLite alone: whoever else closes one takes the process's locks on it away.

A tree of syntax does not show which path a call is given, so every place that opens files at all is listed here with
the reason why it can be no database. A new one has to be thought about.
"""

from __future__ import annotations

import ast
from pathlib import Path

from .tree import SOURCE, python_files

OPENS_FILES = {
    "__main__.py": "standard streams that were closed, as the null device",
    "doors/cli/checkup.py": "a new temporary file",
    "doors/cli/main.py": "the null device",
    "doors/mcp/http/accept.py": "the null device",
    "doors/mcp/stdio.py": "its own standard streams, and the null device",
    "files/folders.py": "folders",
    "files/atomic_file.py": "new temporary files, and folders",
    "files/lock_file.py": "lock files",
    "files/plain_file.py": "asks is_in_use first",
    "mime/processes/streams.py": "its own standard streams, and the null device",
    "mime/processes/worker_process.py": "the kernel's file about itself",
    "providers/oauth/keeping.py": "lock files below secrets",
    "providers/local/archives.py": "asks is_in_use first",
    "service/attachment_files.py": "new files only (O_EXCL)",
    "settings/clients.py": "the list of clients",
    "settings/file.py": "the settings file",
    "settings/secret_file.py": "files below secrets, and their key",
    "settings/secrets.py": "the files that the operator named for secrets",
    "settings/writing.py": "the settings file, and its folder",
    "store/audit/mirror.py": "lines below Logs",
    "store/clock.py": "the kernel's boot id",
    "store/sends/owner.py": "lock files in a folder of their own",
    "store/sends/submissions.py": "a file beside the state file, by a suffix that no database has",
    "store/vault/folder.py": "new files only (O_EXCL)",
    "sync/file/lock.py": "lock files beside mirrors",
    "sync/file/mirror.py": "the request to start a mirror over",
    "sync/file/spool.py": "files beside mirrors, by a suffix that no database has",
}
OPENS_DATABASES = {"doors/cli/checkup.py", "sqlite/database.py"}  # the first in memory
_METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "touch"}
_MODES = {"r", "w", "a", "x", "rb", "wb", "ab", "xb", "r+b"}


def opens_files(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id="open"):
            return True
        case ast.Attribute(value=ast.Name(id="os"), attr="open"):
            return True
        case ast.Attribute(value=ast.Name(id="shutil"), attr=name):
            return name not in {"which", "get_terminal_size", "disk_usage"}
        case ast.Attribute(value=ast.Name(id="tempfile")):
            return True
        case ast.Attribute(attr="open"):  # of a path; a mailbox is opened with other words
            modes = {argument.value for argument in call.args if isinstance(argument, ast.Constant)}
            return bool(modes & _MODES) or any(keyword.arg == "encoding" for keyword in call.keywords)
        case ast.Attribute(attr=name):
            return name in _METHODS
    return False


def opens_database(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "connect" and "sqlite3" in ast.unparse(call.func)


def modules_with(find) -> set[str]:
    found: set[str] = set()
    for path in python_files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.Call) and find(node) for node in ast.walk(tree)):
            found.add(path.relative_to(SOURCE).as_posix())
    return found


def test_every_place_that_opens_files_is_known_to_open_no_database() -> None:
    assert modules_with(opens_files) == set(OPENS_FILES)


def test_databases_are_opened_in_one_place() -> None:
    assert modules_with(opens_database) == OPENS_DATABASES


def test_a_database_is_told_of_before_it_is_opened() -> None:
    for name in OPENS_DATABASES - {"doors/cli/checkup.py"}:
        assert "database_file.in_use(" in Path(SOURCE / name).read_text(encoding="utf-8")
