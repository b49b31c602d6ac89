"""The fields that a dialect's contract wants logged of a call: counts, choices and flags, never a caller's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from postroom.settings.dialects import LogField

Scalar = str | int | bool


def fields_of(
    wanted: Iterable[LogField], arguments: Mapping[str, Any], properties: Mapping[str, Any]
) -> dict[str, Scalar]:
    """`properties` are those of the tool's input schema; an argument that was left out has its default."""
    found: dict[str, Scalar] = {}
    for one in wanted:
        given = [_given(name, arguments, properties) for name in one.arguments]
        if one.form == "count":
            found[one.name] = sum(map(_count, given))
        elif one.form == "is_given":
            found[one.name] = any(map(bool, given))
        elif _is_choice(given[0], properties.get(one.arguments[0], {})):
            found[one.name] = given[0]
    return found


def _given(name: str, arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> Any:
    value = arguments.get(name)
    return properties.get(name, {}).get("default") if value is None else value


def _count(value: Any) -> int:
    return len(value) if isinstance(value, list) else int(bool(value))


def _is_choice(value: Any, schema: Mapping[str, Any]) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and value in schema.get("enum", ()))
