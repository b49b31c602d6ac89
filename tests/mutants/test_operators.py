"""Each fault is made where it can be made, and the list of accepted ones is true."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.mutants.__main__ import ACCEPTED, accepted_among
from tests.mutants.mutant import ROOT, targets
from tests.mutants.operators import mutants_of
from tests.mutants.tests_of import LEFT_OUT, SUITE


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("return a", {"return None"}),
        ("return", set()),
        ("return None", set()),
        ("a()", {"pass"}),
        ("await a(b=1)", {"pass", "await a()", "await a(b=2)"}),
        ("log.info('words')", set()),
        ("assert a == b", set()),
        ("a: Literal['x'] = b", set()),
        ("raise a", {"pass"}),
        ("a.b = c", {"pass"}),
        ("a += b", {"pass", "a -= b"}),
        ("if a: b = c", {"if (not (a)): b = c"}),
        ("if not a: b = c", {"if (a): b = c"}),
        ("a = b <= c", {"a = b < c"}),
        ("a = (b) is not (c)", {"a = (b) is (c)"}),
        ("a = b not in c", {"a = b in c"}),
        ("a = b and c", {"a = ((b))", "a = ((c))", "a = ((b) or (c))"}),
        ("a = {b, c}", {"a = {b}", "a = {c}"}),
        ("a = b, c", {"a = (b,)", "a = (c,)"}),
        ("a = {b: c}", {"a = {}"}),
        ("a = 'ä', b", {"a = ('ä',)", "a = (b,)", "a = '', b"}),
        ("a = ''", {"a = 'other'"}),
        ("a = True", {"a = False"}),
        ("a = f'{b == c}'", {"a = ''"}),
        ("a = State.DONE", {"a = State.REJECTED"}),
        ("a = [b for b in c if b]", {"a = [b for b in c if (not (b))]", "a = [b for b in c if True]"}),
        ("with suppress(a): b = c", {"with suppress(): b = c"}),
        ("a = 'SELECT b WHERE c = 1'", {"a = 'SELECT b WHERE c != 1'"}),
        (
            "a = 'SELECT b WHERE c > ? AND d IS NULL'",
            {
                "a = 'SELECT b WHERE c >= ? AND d IS NULL'",
                "a = 'SELECT b WHERE c > ? OR d IS NULL'",
                "a = 'SELECT b WHERE c > ? AND d IS NOT NULL'",
                "a = 'SELECT b WHERE c > ?'",
            },
        ),
    ],
)
def test_a_line_has_these_faults(tmp_path: Path, line: str, faults: set[str]) -> None:
    prefix = "async " if "await" in line else ""
    path = tmp_path / "code.py"
    path.write_text(f"{prefix}def function(a, b, *c):\n    {line}\n", encoding="utf-8")
    assert {mutant.change[1][-1].strip() for mutant in mutants_of(str(path))} == faults


def test_a_mutant_says_where_it_is_and_which_function_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(
        "class A:\n    @property\n    def b(self):\n        def c():\n            return 1\n        return c\n"
    )
    found = {(one.line, one.where, one.body_of, one.operator) for one in mutants_of(str(path))}
    assert found == {
        (2, "A", None, "decorator dropped"),
        (5, "A.b.c", ("A.b", 2), "nothing returned"),
        (5, "A.b.c", ("A.b", 2), "one more"),
        (6, "A.b", ("A.b", 2), "nothing returned"),
    }


def test_every_accepted_mutant_has_a_reason_and_still_exists() -> None:
    entries = tomllib.loads(ACCEPTED.read_text(encoding="utf-8")).get("mutant", [])
    assert all(entry["why"].strip() for entry in entries)
    assert {entry["path"] for entry in entries} <= set(targets())
    _, stale = accepted_among([mutant for path in {entry["path"] for entry in entries} for mutant in mutants_of(path)])
    assert stale == []


def test_the_gate_is_among_what_is_broken_and_every_test_that_is_asked_is_there() -> None:
    assert {f"src/postroom/service/sending/{name}.py" for name in ("gate", "dispatch", "staging")} <= set(targets())
    assert [path for path in (*SUITE, *LEFT_OUT) if not (ROOT / path).exists()] == []
