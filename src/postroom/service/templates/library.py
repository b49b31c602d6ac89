"""The folder of templates: one file each, named after the template, ``.md``, ``.txt`` or ``.html``.

Files are read without following a link, and a name is one word: it cannot lead out of the folder.
"""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postroom.files import atomic_file
from postroom.files.plain_file import read_below
from postroom.model.errors import Conflict, InvalidRequest, NotFound, PermissionDenied, PostroomError
from postroom.service.templates import front_matter
from postroom.service.templates.template import Format, Template

MAX_BYTES = 128 * 1024
MAX_TEMPLATES = 500
_MAX_REPLACED = 10
_SUFFIXES: dict[str, Format] = {".md": "markdown", ".txt": "text", ".html": "html"}
_SUFFIX_OF = {fmt: suffix for suffix, fmt in _SUFFIXES.items()}
_NAME = re.compile(r"\w(?:[\w -]{0,62}\w)?")


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that cannot be used, and why."""

    filename: str
    problem: str


def load_all(folder: Path) -> tuple[list[Template], list[Broken]]:
    """In the order of their names."""
    good: list[Template] = []
    bad: list[Broken] = []
    files = _files(folder)
    for filename in sorted(files)[:MAX_TEMPLATES]:
        try:
            good.append(load(folder, Path(filename).stem))
        except PostroomError as error:
            bad.append(Broken(filename, error.message))
    if len(files) > MAX_TEMPLATES:
        bad.append(Broken("", f"There are {len(files)} templates; only the first {MAX_TEMPLATES} are listed."))
    return good, bad


def load(folder: Path, name: str) -> Template:
    name = checked_name(name)
    found = [filename for filename in _files(folder) if _key(Path(filename).stem) == _key(name)]
    if not found:
        raise _unknown(folder, name)
    if len(found) > 1:
        raise Conflict(f"Several files are the template {name}: {', '.join(sorted(found))}. Remove all but one.")
    raw = read_below(folder, [found[0]], f"The template {name}", MAX_BYTES)
    if len(raw) > MAX_BYTES:
        raise InvalidRequest(f"The template {name} is larger than {MAX_BYTES // 1024} KB.", reason="invalid_template")
    return _read(found[0], raw)


def save(folder: Path, template: Template, *, overwrite: bool) -> None:
    """Atomically. What would not be read back the same is refused, and what is replaced stays beside it."""
    content = front_matter.write(template)
    filename = template.name + _SUFFIX_OF[template.format]
    if len(content) > MAX_BYTES:
        raise InvalidRequest(f"A template may have {MAX_BYTES // 1024} KB.", details={"field": "body"})
    if _read(filename, content) != template:
        raise InvalidRequest("The template contains characters that a file cannot keep.", reason="invalid_template")
    others = [each for each in _files(folder) if _key(Path(each).stem) == _key(template.name)]
    if others and not overwrite:
        raise Conflict(
            f"There is a template {template.name} already. Set overwrite to replace it, or choose another name.",
            reason="already_exists",
            details={"field": "name"},
        )
    try:
        for other in others:
            _keep(folder, other)
        atomic_file.replace(folder / filename, content)
        for other in others:
            if not _is_same(folder / other, folder / filename):
                (folder / other).unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(error) from None


def _keep(folder: Path, filename: str) -> None:
    """Under a name that is no template's: a person who wrote it can have it back. Of each file the latest ones."""
    kept = re.compile(re.escape(filename) + r"\.([0-9]{1,9})\.replaced")
    numbers = sorted(int(found[1]) for path in folder.iterdir() if (found := kept.fullmatch(path.name)))
    latest = numbers[-1] + 1 if numbers else 1
    with suppress(FileExistsError):  # another process replaces it at the same moment
        os.link(folder / filename, folder / f"{filename}.{latest}.replaced", follow_symlinks=False)
    for number in numbers[: 1 - _MAX_REPLACED]:
        (folder / f"{filename}.{number}.replaced").unlink(missing_ok=True)


def checked_name(name: str) -> str:
    name = unicodedata.normalize("NFC", name.strip())
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            "The name of a template is letters, digits, spaces, - and _, at most 64: no dots, no slashes.",
            reason="invalid_template",
            details={"field": "template"},
        )
    return name


def _read(filename: str, raw: bytes) -> Template:
    path = Path(filename)
    try:
        return front_matter.read(unicodedata.normalize("NFC", path.stem), _SUFFIXES[path.suffix], raw)
    except InvalidRequest as error:
        raise InvalidRequest(f"{filename}: {error.message}", reason=error.reason, details=error.details) from None


def _unknown(folder: Path, name: str) -> NotFound:
    names = sorted({Path(filename).stem for filename in _files(folder)})
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else f" There are: {', '.join(names[:30])}." if names else ""
    return NotFound(
        f"There is no template {name}.{hint or ' There are none yet; the operator keeps them in templates.dir.'}",
        reason="unknown_template",
        details={"field": "template", "template": name, "near": near},
    )


def _files(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if path.suffix in _SUFFIXES and path.name[0] != "."]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(error) from None


def _is_same(one: Path, other: Path) -> bool:
    """Some file systems know a file by every spelling of its name."""
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except FileNotFoundError:
        return False


def _key(stem: str) -> str:
    return unicodedata.normalize("NFC", stem).casefold()


def _unusable(error: OSError) -> PermissionDenied:
    return PermissionDenied(
        f"The folder of templates cannot be used ({os.strerror(error.errno or 0)}). Check templates.dir."
    )
