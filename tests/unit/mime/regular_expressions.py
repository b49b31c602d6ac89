"""Every regular expression of the package, and strings that would show what is wrong with it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import postroom

_ROOMS = ("postroom.mime.", "postroom.index.", "postroom.providers.", "postroom.service.")
_UNITS = 24
_WHOLE = {"match", "fullmatch"}
_METHODS = "match|fullmatch|search|sub|subn|findall|finditer|split"
_CANDIDATES = "a0 -<\"'(\\/:;=.@>\n\té漢\u0301"


@dataclass(frozen=True)
class Expression:
    name: str
    pattern: re.Pattern[Any]
    is_anchored: bool  # only ever matched at one place

    def run(self, text: str) -> None:
        subject: Any = text if isinstance(self.pattern.pattern, str) else text.encode("utf-8", "surrogatepass")
        if self.is_anchored:
            self.pattern.match(subject)
        else:
            for _ in self.pattern.finditer(subject):
                pass


def all_expressions() -> list[Expression]:
    """Those that modules keep, and those written within a call."""
    named: dict[int, tuple[str, re.Pattern[Any]]] = {}
    used: dict[int, set[str]] = {}
    literals: list[Expression] = []
    for module in _modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                named.setdefault(id(value), (f"{module.__name__}.{name}", value))
                used.setdefault(id(value), set()).update(re.findall(rf"\b{name}\.({_METHODS})\b", source))
        for number, pattern, method in _literals(source):
            literals.append(Expression(f"{module.__name__}:{number}", pattern, method in _WHOLE))
    return [*(Expression(*named[key], _is_anchored(used[key])) for key in named), *literals]


def _is_anchored(methods: set[str]) -> bool:
    return bool(methods) and methods <= _WHOLE


def _modules() -> Iterator[Any]:
    """Of the rooms where strangers' bytes are read."""
    for info in pkgutil.walk_packages(postroom.__path__, "postroom."):
        if info.name.startswith(_ROOMS):
            yield importlib.import_module(info.name)


def _literals(source: str) -> Iterator[tuple[int, re.Pattern[Any], str]]:
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        if is_re and node.func.attr in _METHODS.split("|") and isinstance(node.args[0], ast.Constant):
            yield node.lineno, re.compile(node.args[0].value), node.func.attr


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """(before, unit, after): `before`, then `unit` over and over, then `after`. The units are what the expression
    speaks of: its characters, pairs of them, what its pieces match; before them stands what its beginnings match."""
    items = list(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    characters = list(dict.fromkeys(_characters(items)))[:8]
    beginnings = ["".join(map(_sample, items[:count])) for count in range(len(items) + 1)][:5]
    pairs = [one + other for one in characters[:4] for other in characters[:4] if one != other]
    units = dict.fromkeys([*characters, *pairs, *filter(None, beginnings), *filter(None, map(_sample, items))])
    for unit in list(units)[:_UNITS]:
        for before in dict.fromkeys(["", *beginnings[-2:]]):
            for after in ("", "\0", " <x"):
                yield before, unit, after


def _characters(items: Any) -> Iterator[str]:
    for operation, argument in items:
        name = str(operation)
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            yield _sample((operation, argument))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            yield from _characters(argument[2])
        elif name == "SUBPATTERN":
            yield from _characters(argument[3])
        elif name == "ATOMIC_GROUP":
            yield from _characters(argument)
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _characters(branch)


def _sample(item: Any) -> str:
    """Something that this piece matches."""
    operation, argument = item
    match str(operation):
        case "LITERAL":
            return chr(argument)
        case "NOT_LITERAL":
            return next(char for char in _CANDIDATES if ord(char) != argument)
        case "ANY":
            return "a"
        case "IN":
            return _of_class(argument)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return "".join(map(_sample, argument[2])) * max(1, argument[0])
        case "SUBPATTERN":
            return "".join(map(_sample, argument[3]))
        case "ATOMIC_GROUP":
            return "".join(map(_sample, argument))
        case "BRANCH":
            return "".join(map(_sample, argument[1][0]))
    return ""


def _of_class(items: Any) -> str:
    if str(items[0][0]) == "NEGATE":
        inner = re.compile(_parser_class(items[1:]))
        return next((char for char in _CANDIDATES if not inner.match(char)), "x")
    operation, argument = items[0]
    if str(operation) == "RANGE":
        return chr(argument[0])
    if str(operation) == "CATEGORY":
        return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(argument), "-")
    return chr(argument)


def _parser_class(items: Any) -> str:
    pieces = []
    for operation, argument in items:
        match str(operation):
            case "RANGE":
                pieces.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
            case "CATEGORY":
                name = str(argument).removeprefix("CATEGORY_")
                letter = name.removeprefix("NOT_")[0].lower()
                pieces.append("\\" + (letter.upper() if name.startswith("NOT_") else letter))
            case _:
                pieces.append(re.escape(chr(argument)))
    return f"[{''.join(pieces)}]"
