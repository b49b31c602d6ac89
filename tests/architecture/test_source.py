"""Habits that hold for every file."""

from __future__ import annotations

import ast
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .tree import ROOT, SOURCE, python_files, shown, written_files

MAX_LINES = 400


@pytest.mark.parametrize("path", python_files(), ids=shown)
def test_a_source_file_explains_itself_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "say in the module's docstring what it is for"
    assert len(text.splitlines()) <= MAX_LINES


@pytest.mark.parametrize("folder", sorted({path.parent for path in python_files()}), ids=shown)
def test_every_folder_of_the_source_is_a_package(folder: Path) -> None:
    assert (folder / "__init__.py").is_file()


def submit_calls(path: Path) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "submit"
    ]


def test_there_is_one_way_out_of_the_house() -> None:
    """`submit` is named once outside the providers: in the gate. Executors and the like must be called otherwise."""
    named = [
        f"{shown(path)}:{line}"
        for path in python_files()
        if not path.is_relative_to(SOURCE / "providers")
        for line in submit_calls(path)
    ]
    assert len(named) == 1, named


def test_a_request_that_is_no_message_takes_the_same_way_out() -> None:
    """Where a one-click request could be made, only the account that the gate submits to gets hold of it."""
    named = [shown(path) for path in python_files() if re.search(r"\bOneClick\b", path.read_text(encoding="utf-8"))]
    assert named == ["src/postroom/providers/oneclick.py", "src/postroom/service/open_accounts.py"]


def test_no_name_is_one_that_explains_nothing() -> None:
    vague = re.compile(r"(^|_)(utils?|helpers?|manager|misc|common)(_|$)")
    assert [shown(path) for path in python_files() if vague.search(path.stem)] == []


# Written with a class in each, so that this file does not find itself.
_NOT_OURS = re.compile(
    r"p[y]pi\.org|pythonhos[t]ed|n[p]mjs|deb\.deb[i]an"  # the place packages come from is the machine's own affair
    r"|(?<![\w.~}])/(ro[o]t|ho[m]e/\w+|wo[r]k)/"  # paths of somebody's machine
    r"|(?i:\b(sub[a]gent|this ses[s]ion|the ses[s]ion ended|is[s]ue #?\d+)\b)"
    r"|\b(FIX[M]E|T[O]DO|X[X]X)\b"
)


def test_nothing_in_the_tree_tells_of_the_machine_or_the_people_that_wrote_it() -> None:
    found = []
    for path in written_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{shown(path)}:{number}" for number, line in enumerate(lines, 1) if _NOT_OURS.search(line)]
    assert found == []


def test_locked_requirements_name_no_place_and_hash_every_file() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        pins = re.findall(r"^([\w.-]+)(?:\[.*?\])?==", text, re.MULTILINE)
        assert pins
        assert not re.search(r"^-|://|file:", text, re.MULTILINE)
        for pinned in re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]:
            assert "--hash=sha256:" in pinned, pinned.splitlines()[0]


def test_everything_a_run_needs_is_locked_and_the_tests_use_the_same_versions() -> None:
    run, test = (
        set(re.findall(r"^([\w.-]+(?:\[.*?\])?==[\w.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("run.txt", "test.txt")
    )
    assert run <= test


def test_extras_are_locked_with_the_package_they_belong_to() -> None:
    """Given `a==1` and a package that asks for `a[x]`, older pips (23.2) want the newest `a[x]` and refuse it for
    having no hash: an install that worked until the day `a` released again."""
    lock = (ROOT / "requirements" / "test.txt").read_text(encoding="utf-8")
    pins = [Requirement(pin) for pin in re.findall(r"^[\w.-]+(?:\[.*?\])?==[\w.]+", lock, re.MULTILINE)]
    extras = {canonicalize_name(pin.name): pin.extras for pin in pins}
    missing = []
    for pin in pins:
        for needed in _needed_by(pin):
            if not needed.extras <= extras[canonicalize_name(needed.name)]:
                missing.append(f"{pin.name} needs {needed}")
    assert extras["pyjwt"] == {"crypto"}
    assert missing == []


def _needed_by(pin: Requirement) -> list[Requirement]:
    """What the package as it is installed here asks for; a pin for another system is installed nowhere here."""
    try:
        asked = [Requirement(text) for text in metadata.requires(pin.name) or ()]
    except metadata.PackageNotFoundError:
        return []
    return [
        one
        for one in asked
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in {"", *pin.extras})
    ]


def test_http_clients_are_made_in_one_place() -> None:
    """What counts there (no redirects, no cookies, verified certificates) must count for every request."""
    makes_one = re.compile(r"\bAsyncClient\(|\bhttpx2\.Client\(|urllib\.request|\burlopen\b|(from|import) http\.client")
    found = [shown(path) for path in python_files() if makes_one.search(path.read_text(encoding="utf-8"))]
    assert found == ["src/postroom/providers/http/client.py"]
