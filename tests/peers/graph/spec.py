"""Microsoft's OpenAPI document and service metadata: what a request and an answer may look like, to the last field.

They are not part of this repository and are looked for beside it; without them the fake works and checks nothing.
The OpenAPI document calls every type open; here only names with ``@`` may be added, as the metadata has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from tests.peers.reference import reference

_NAMES = ("graph-v1.0-mail.openapi.json", "graph-v1.0-mail.csdl.json")
_SUBTYPE = "#microsoft.graph."


@cache
def load() -> Spec | None:
    found = [path for path in map(reference, _NAMES) if path]
    return Spec(*(json.loads(path.read_text(encoding="utf-8")) for path in found)) if len(found) == 2 else None


class Spec:
    def __init__(self, openapi: dict[str, Any], csdl: dict[str, Any]) -> None:
        self._openapi = openapi
        self._types: dict[str, Any] = csdl["types"]

    def operation(self, path: str, verb: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._openapi["paths"].get(path, {}).get(verb.lower())
        return found

    def misfits_of_params(self, operation: dict[str, Any], params: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Names with a dollar sign that are unknown or repeated, and numbers that are none."""
        known = {}
        for one in operation.get("parameters", ()):
            resolved = self._resolved(one)
            known[resolved["name"]] = resolved["schema"]
        seen: set[str] = set()
        for name, text in params:
            if name.startswith("$") and name not in (*known, "$skiptoken", "$deltatoken"):
                yield f"The query parameter '{name}' is not supported."
            elif name in seen:
                yield f"Query option '{name}' was specified more than once, but it must be specified at most once."
            elif known.get(name, {}).get("type") == "integer" and not re.fullmatch(r"\d+", text):
                yield f"Invalid value '{text}' for {name} query option found. It must be a non-negative integer."
            seen.add(name)

    def misfits_of_body(self, operation: dict[str, Any], value: Any) -> list[str]:
        described = operation.get("requestBody")
        if described is None:
            return ["this operation takes no body"] if value else []
        schema = self._resolved(described)["content"]["application/json"]["schema"]
        return list(self._misfits(schema, _lowered(value, schema), ""))

    def misfits_of_answer(self, operation: dict[str, Any], value: Any) -> list[str]:
        content = self._resolved(operation["responses"]["2XX"]).get("content", {})
        if "application/json" not in content:
            return [] if value is None else [f"answers nothing, not {value!r}"]
        return list(self._misfits(content["application/json"]["schema"], value, ""))

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            found: Any = self._openapi
            for step in schema["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            schema = found
        return schema

    def _properties(self, schema: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for part in schema.get("allOf", [schema]):
            resolved = self._resolved(part)
            found |= self._properties(resolved, {}) if "allOf" in resolved else resolved.get("properties", {})
        subtype = str(value.get("@odata.type", "")).removeprefix(_SUBTYPE)
        for name in self._types.get(subtype, {}).get("props", {}):
            found.setdefault(name, {})
        for name in self._types.get(subtype, {}).get("nav", {}):
            found.setdefault(name, {})
        return found

    def _misfits(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        is_nullable = schema.get("nullable", "$ref" in schema or "anyOf" in schema)
        schema = self._resolved(schema["anyOf"][0] if "anyOf" in schema else schema)
        if value is None:
            if not (is_nullable or schema.get("nullable")):
                yield f"{at} may not be null"
        elif "allOf" in schema or schema.get("type") == "object":
            yield from self._misfits_of_object(schema, value, at)
        elif schema.get("type") == "array":
            if not isinstance(value, list):
                yield f"{at} is not a collection: {value!r}"
                return
            for number, item in enumerate(value):
                yield from self._misfits(schema["items"], item, f"{at}[{number}]")
        elif not _fits(schema, value):
            yield f"{at}: {value!r} is not {schema.get('enum') or schema.get('type')}"

    def _misfits_of_object(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at or 'the body'} is not an object: {value!r}"
            return
        known = self._properties(schema, value)
        for name, inner in value.items():
            if "@" in name:
                continue
            if name not in known:
                yield f"The property '{name}' does not exist on type '{schema.get('title', at)}'."
            elif known[name]:
                yield from self._misfits(known[name], inner, f"{at}.{name}".lstrip("."))


def _lowered(value: Any, schema: dict[str, Any]) -> Any:
    """The parameters of an action are written ``Comment`` there, and ``comment`` by everybody."""
    names = {name.lower(): name for name in schema.get("properties", {})}
    if not isinstance(value, dict) or not names:
        return value
    return {names.get(name.lower(), name): inner for name, inner in value.items()}


def _fits(schema: dict[str, Any], value: Any) -> bool:
    match schema.get("type"):
        case "boolean":
            return isinstance(value, bool)
        case "number" | "integer":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            if not isinstance(value, str) or ("enum" in schema and value.lower() not in map(str.lower, schema["enum"])):
                return False  # of an enumeration any spelling is taken: Microsoft's own examples write HTML
            return "pattern" not in schema or re.match(schema["pattern"], value) is not None
    return True
