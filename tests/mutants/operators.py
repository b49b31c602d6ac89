"""The faults: what a slip of the hand or a merge gone wrong would do to a line.

Not mutated: annotations, imports, asserts (they narrow types), log lines, docstrings, and the options of dataclasses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from tests.mutants.mutant import ROOT, Mutant, source

_COMPARED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "is": "is not", "is not": "is",
             "in": "not in", "not in": "in"}  # fmt: skip
_COMPUTED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
             ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.BitAnd: ("&", "|"),
             ast.BitOr: ("|", "&")}  # fmt: skip
_TYPES = {"Literal", "Callable", "Mapping", "tuple", "dict", "list", "set", "frozenset", "type"}
_SQL = re.compile(r"\b(SELECT|UPDATE|DELETE FROM|INSERT|WHERE|CREATE|ORDER BY)\b")
_IN_SQL = [(re.compile(old), new) for old, new in (
    (r" AND ", " OR "), (r" OR ", " AND "), (r"(?<= )<=(?= )", "<"), (r"(?<= )<(?= )", "<="), (r"(?<= )>=(?= )", ">"),
    (r"(?<= )>(?= )", ">="), (r"(?<= )!=(?= )", "="), (r"(?<= )=(?= )", "!="), (r" DESC\b", ""), (r" UNIQUE\b", ""),
    (r"\bDISTINCT ", ""), (r" IS NULL", " IS NOT NULL"), (r" IS NOT NULL", " IS NULL"), (r"\bNOT IN\b", "IN"),
    (r" AND [a-z_.]+ (?:=|!=|IS|IS NOT|IN) (?:'[a-z_]+'|NULL|NOT NULL|\([^)?]*\))", ""),
    (r" ORDER BY [a-z_]+(?:, [a-z_]+)*(?: DESC)?", ""), (r"\bOR IGNORE ", ""),
)]  # fmt: skip


def mutants_of(path: str) -> list[Mutant]:
    """All of one file, by position. Those that are no program, or the program as it is, are left out."""
    text = source(path)
    tree = ast.parse(text)
    found = {(one.start, one.end, one.new): one for one in _Finder(path, text).walk(tree)}
    return sorted(one for one in found.values() if _changes_something(one) and _is_a_program(one))


def _changes_something(mutant: Mutant) -> bool:
    """Not so where nothing was returned before, for one."""
    return source(mutant.path)[mutant.start : mutant.end].decode() != mutant.new


def _is_a_program(mutant: Mutant) -> bool:
    try:
        ast.parse(mutant.source)
    except SyntaxError:
        return False
    return True


@cache
def enumerations() -> dict[str, list[str]]:
    """Every enumeration of the package and its members."""
    found = {}
    for path in (ROOT / "src" / "postroom").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases):
                found[node.name] = [one.targets[0].id for one in node.body if isinstance(one, ast.Assign)
                                    and isinstance(one.targets[0], ast.Name)]  # fmt: skip
    return found


_Change = tuple[ast.AST | tuple[int, int], str, str]


class _Finder:
    def __init__(self, path: str, text: bytes) -> None:
        self._path = path
        self._text = text
        self._starts = [0, *(found.end() for found in re.finditer(rb"\n", text))]
        self._names: list[str] = []
        self._statement: ast.stmt | None = None
        self._body_of: tuple[str, int] | None = None
        self._enumerations = enumerations()

    def walk(self, node: ast.AST) -> Iterator[Mutant]:
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = node
        changes = getattr(self, f"_{type(node).__name__.lower()}", None)
        for span, new, operator in changes(node) if changes else ():
            yield self._mutant(span, new, operator)
        for child in self._children(node):
            yield from self.walk(child)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._inside(node)
        self._statement = outer

    def _inside(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mutant]:
        before = self._body_of
        self._names.append(node.name)
        if self._body_of is None and not isinstance(node, ast.ClassDef):
            begins = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            self._body_of = (".".join(self._names), begins)
        for child in node.body:
            yield from self.walk(child)
        self._names.pop()
        self._body_of = before

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from (one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None)
            case ast.AnnAssign():
                yield from [node.value] if node.value is not None else []
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=values)):
                yield from values
            case ast.Lambda():
                yield node.body
            case ast.Call() if _is_cast(node):
                yield from node.args[1:]
            case _ if not _is_left_alone(node):
                yield from ast.iter_child_nodes(node)

    def _mutant(self, span: ast.AST | tuple[int, int], new: str, operator: str) -> Mutant:
        start, end = span if isinstance(span, tuple) else self._span(span)
        at = self._statement
        assert at is not None
        last = at.end_lineno or at.lineno
        body = getattr(at, "body", None)
        if isinstance(body, list) and body:
            last = max(at.lineno, body[0].lineno - 1)
        line = self._text.count(b"\n", 0, start) + 1
        where = ".".join(self._names)
        return Mutant(self._path, start, end, new, operator, line, at.lineno, last, where, self._body_of)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        place: ast.expr = node  # type: ignore[assignment]
        assert place.end_lineno is not None
        assert place.end_col_offset is not None
        return (
            self._starts[place.lineno - 1] + place.col_offset,
            self._starts[place.end_lineno - 1] + place.end_col_offset,
        )

    def _of(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self._text[start:end].decode()

    # What can go wrong with each kind of node.

    def _functiondef(self, node: ast.FunctionDef) -> Iterator[_Change]:
        for one in node.decorator_list:
            start, end = self._span(one)
            yield (self._text.rindex(b"@", 0, start), end), "", "decorator dropped"

    _asyncfunctiondef = _functiondef

    def _expr(self, node: ast.Expr) -> Iterator[_Change]:
        if not isinstance(node.value, (ast.Constant, ast.Yield)) and not _is_left_alone(node):
            yield node, "pass", "statement dropped"

    def _raise(self, node: ast.Raise) -> Iterator[_Change]:
        yield node, "pass", "raise dropped"

    def _augassign(self, node: ast.AugAssign) -> Iterator[_Change]:
        yield node, "pass", "statement dropped"
        yield from self._operator(node.target, node.op, node.value)

    def _assign(self, node: ast.Assign) -> Iterator[_Change]:
        if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            yield node, "pass", "assignment dropped"

    def _delete(self, node: ast.Delete) -> Iterator[_Change]:
        yield node, "pass", "statement dropped"

    def _break(self, node: ast.Break) -> Iterator[_Change]:
        yield node, "continue", "continue for break"

    def _continue(self, node: ast.Continue) -> Iterator[_Change]:
        yield node, "break", "break for continue"

    def _return(self, node: ast.Return) -> Iterator[_Change]:
        if node.value is not None:
            yield node.value, "None", "nothing returned"

    def _if(self, node: ast.If | ast.While | ast.IfExp) -> Iterator[_Change]:
        yield from self._negated(node.test)

    _while = _ifexp = _if

    def _comprehension(self, node: ast.comprehension) -> Iterator[_Change]:
        for one in node.ifs:
            yield from self._negated(one)
            yield one, "True", "condition dropped"

    def _negated(self, test: ast.expr) -> Iterator[_Change]:
        if not isinstance(test, (ast.Compare, ast.UnaryOp)) or len(getattr(test, "ops", "1")) > 1:
            yield test, f"(not ({self._of(test)}))", "condition negated"

    def _compare(self, node: ast.Compare) -> Iterator[_Change]:
        for left, right in pairwise([node.left, *node.comparators]):
            between = self._span(left)[1], self._span(right)[0]
            gap = self._text[slice(*between)].decode()
            found = re.search(r"[=!<>]=|[<>]|\b(?:is not|not in|is|in)\b", gap)
            if found is not None:
                yield between, gap.replace(found[0], _COMPARED[found[0]], 1), f"{_COMPARED[found[0]]} for {found[0]}"

    def _boolop(self, node: ast.BoolOp) -> Iterator[_Change]:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        values = [f"({self._of(value)})" for value in node.values]
        for index in range(len(values)):
            yield node, f"({f' {old} '.join(values[:index] + values[index + 1 :])})", "operand dropped"
        yield node, f"({f' {new} '.join(values)})", f"{new} for {old}"

    def _unaryop(self, node: ast.UnaryOp) -> Iterator[_Change]:
        if isinstance(node.op, (ast.Not, ast.USub)):
            yield node, f"({self._of(node.operand)})", "not or minus dropped"

    def _binop(self, node: ast.BinOp) -> Iterator[_Change]:
        yield from self._operator(node.left, node.op, node.right)

    def _operator(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> Iterator[_Change]:
        if type(operator) not in _COMPUTED or _is_type(right):
            return
        old, new = _COMPUTED[type(operator)]
        between = self._span(left)[1], self._span(right)[0]
        yield between, self._text[slice(*between)].decode().replace(old, new, 1), f"{new} for {old}"

    def _constant(self, node: ast.Constant) -> Iterator[_Change]:
        value = node.value
        if isinstance(value, bool):
            yield node, str(not value), "other truth"
        elif isinstance(value, (int, float)):
            yield node, repr(value + 1), "one more"
        elif isinstance(value, (str, bytes)):
            empty = "b''" if isinstance(value, bytes) else "''"
            filled = "b'other'" if isinstance(value, bytes) else "'other'"
            yield from self._words(node, empty if value else filled)

    def _joinedstr(self, node: ast.JoinedStr) -> Iterator[_Change]:
        yield from self._words(node, "''")

    def _words(self, node: ast.Constant | ast.JoinedStr, new: str) -> Iterator[_Change]:
        text = self._of(node)
        if not _SQL.search(text):
            yield node, new, "other words"
            return
        for pattern, replacement in _IN_SQL:
            for found in pattern.finditer(text):
                changed = text[: found.start()] + replacement + text[found.end() :]
                yield node, changed, f"SQL: {replacement.strip() or 'nothing'} for {found[0].strip()}"

    def _call(self, node: ast.Call) -> Iterator[_Change]:
        if _is_left_alone(node):
            return
        if isinstance(node.func, ast.Name) and node.func.id == "suppress":
            yield node, "suppress()", "nothing suppressed"
        parts = [self._span(part) for part in (*node.args, *node.keywords)]
        for index, one in enumerate(node.keywords, start=len(node.args)):
            if one.arg is not None:
                around = f"{self._of(node.func)}(", ")"
                yield *self._without(node, parts, index, around), f"argument {one.arg} dropped"

    def _tuple(self, node: ast.Tuple) -> Iterator[_Change]:
        if isinstance(node.ctx, ast.Load):
            yield from self._elements(node, [self._span(one) for one in node.elts], ("(", ",)"))

    def _list(self, node: ast.List) -> Iterator[_Change]:
        if isinstance(node.ctx, ast.Load):
            yield from self._elements(node, [self._span(one) for one in node.elts], ("[", "]"))

    def _set(self, node: ast.Set) -> Iterator[_Change]:
        yield from self._elements(node, [self._span(one) for one in node.elts], ("{", "}"))

    def _dict(self, node: ast.Dict) -> Iterator[_Change]:
        pairs = [(self._span(key)[0] if key else self._span(value)[0] - 2, self._span(value)[1])
                 for key, value in zip(node.keys, node.values, strict=True)]  # fmt: skip
        yield from self._elements(node, pairs, ("{", "}"))

    def _elements(self, node: ast.expr, parts: list[tuple[int, int]], around: tuple[str, str]) -> Iterator[_Change]:
        for index in range(len(parts)):
            yield *self._without(node, parts, index, around), "element dropped"

    def _without(
        self, node: ast.expr, parts: list[tuple[int, int]], index: int, around: tuple[str, str]
    ) -> tuple[ast.AST | tuple[int, int], str]:
        """Cut out of the line where there are more; of two or one, the rest is written anew."""
        if len(parts) > 2:
            is_last = index == len(parts) - 1
            return ((parts[index - 1][1], parts[index][1]) if is_last else (parts[index][0], parts[index + 1][0])), ""
        kept = [self._text[start:end].decode() for start, end in parts[:index] + parts[index + 1 :]]
        empty = "set()" if isinstance(node, ast.Set) else "()" if isinstance(node, ast.Tuple) else "".join(around)
        return node, f"{around[0]}{kept[0]}{around[1]}" if kept else empty

    def _attribute(self, node: ast.Attribute) -> Iterator[_Change]:
        members = self._enumerations.get(node.value.id, []) if isinstance(node.value, ast.Name) else []
        if node.attr in members:
            other = members[(members.index(node.attr) + 1) % len(members)]
            yield node, f"{node.value.id}.{other}", "another member"  # type: ignore[attr-defined]


def _is_left_alone(node: ast.AST) -> bool:
    """Whose inside is no business of a test of behaviour. On Python 3.11 nothing inside an f-string has a position."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr() | ast.ClassDef() | ast.arguments():
            return True
        case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.Subscript(value=ast.Name(id=name)) if name in _TYPES:
            return True
    return False


def _is_cast(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "cast"


def _is_type(node: ast.expr) -> bool:
    """``A | B`` of classes, not of values."""
    return isinstance(node, ast.Name) and node.id[0].isupper() and not node.id.isupper()
