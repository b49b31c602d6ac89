"""Google's discovery document: what a request and an answer may look like, to the last field.

It is not part of this repository. It is looked for beside it, and in google-api-python-client where that is installed;
without it the fake works and checks nothing.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.peers.reference import reference

_RANGES = {
    "int32": range(-(2**31), 2**31),
    "uint32": range(2**32),
    "int64": range(-(2**63), 2**63),
    "uint64": range(2**64),
}
_BASE64 = re.compile(r"[A-Za-z0-9_\-+/]*={0,2}\Z")


def _place() -> Path | None:
    """Where the document lies, if anywhere. The package is not imported for that: it is slow."""
    found = importlib.util.find_spec("googleapiclient")
    package = Path(found.origin).parent if found and found.origin else None
    packaged = package / "discovery_cache" / "documents" / "gmail.v1.json" if package else None
    return next((path for path in (reference("gmail.v1.json"), packaged) if path and path.is_file()), None)


@cache
def load() -> dict[str, Any] | None:
    path = _place()
    return json.loads(path.read_text(encoding="utf-8")) if path else None


class Discovery:
    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas: dict[str, Any] = document["schemas"]
        self.shared_params: dict[str, Any] = document["parameters"]
        self.methods = {method["id"].removeprefix("gmail.users."): method for method in _methods(document)}

    def misfits_of_params(self, method: str, params: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Field and complaint for each parameter that is unknown, repeated or of the wrong type."""
        known = {**self.shared_params, **self.methods[method].get("parameters", {})}
        seen: set[str] = set()
        for name, text in params:
            if name not in known or known[name]["location"] != "query":
                yield (
                    name,
                    (
                        f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
                        f"Field '{name}' could not be found in request message."
                    ),
                )
            elif not _fits_text(known[name], text):
                yield _snake(name), f"Invalid value at '{_snake(name)}' ({_type(known[name])}), \"{text}\""
            elif name in seen and not known[name].get("repeated"):
                yield name, f"Invalid value at '{_snake(name)}', is not repeated"
            seen.add(name)

    def misfits_of_body(self, method: str, value: Any) -> Iterator[tuple[str, str]]:
        """Numbers may come as text and as numbers, as protocol buffers read JSON."""
        reference = self.methods[method].get("request")
        if reference is None:
            if value not in (None, {}):
                yield "", 'Invalid JSON payload received. Unknown name "": Root element must be a message.'
            return
        yield from self._misfits(reference, value, "", lenient=True)

    def misfits_of_answer(self, method: str, value: Any) -> list[str]:
        reference = self.methods[method].get("response")
        if reference is None:
            return [] if value is None else [f"{method} answers nothing, not {value!r}"]
        return [f"{field or method}: {complaint}" for field, complaint in self._misfits(reference, value, "")]

    def _misfits(self, schema: Any, value: Any, at: str, *, lenient: bool = False) -> Iterator[tuple[str, str]]:
        schema = self.schemas[schema["$ref"]] if "$ref" in schema else schema
        if schema.get("type") == "object":
            yield from self._misfits_of_object(schema, value, at, lenient=lenient)
        elif schema.get("type") == "array":
            if not isinstance(value, list):
                yield at, f"Invalid value at '{at}' ({_type(schema)}), {json.dumps(value)}"
                return
            for number, item in enumerate(value):
                yield from self._misfits(schema["items"], item, f"{at}[{number}]", lenient=lenient)
        elif not _fits(schema, value, lenient=lenient):
            yield at, f"Invalid value at '{at}' ({_type(schema)}), {json.dumps(value)}"

    def _misfits_of_object(self, schema: Any, value: Any, at: str, *, lenient: bool) -> Iterator[tuple[str, str]]:
        if not isinstance(value, dict):
            yield at, f"Invalid value at '{at}', Root element must be a message."
            return
        for name, inner in value.items():
            if name not in schema["properties"]:
                place = f" at '{at}'" if at else ""
                yield at, f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.'
            else:
                below = f"{at}.{_snake(name)}" if at else _snake(name)
                yield from self._misfits(schema["properties"][name], inner, below, lenient=lenient)


def _methods(resource: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def _type(schema: Any) -> str:
    named = {"byte": "BYTES", "integer": "INT32", "boolean": "BOOL"}
    kind = str(schema.get("format") or schema.get("type"))
    return "TYPE_" + named.get(kind, kind.upper())


def _fits_text(schema: Any, text: str) -> bool:
    """A parameter of a request: all are text."""
    if schema["type"] == "boolean":
        return text in ("true", "false")
    if schema["type"] == "integer" or schema.get("format") in _RANGES:
        return re.fullmatch(r"-?\d+", text) is not None and int(text) in _RANGES[schema["format"]]
    return not schema.get("enum") or not {text, text.lower()}.isdisjoint(schema["enum"])


def _fits(schema: Any, value: Any, *, lenient: bool) -> bool:
    kind, form = schema.get("type"), schema.get("format")
    if form in _RANGES:
        is_text = kind == "string"  # 64 bits travel as text
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            return False
        if isinstance(value, str) is not is_text and not lenient:
            return False
        return re.fullmatch(r"-?\d+", str(value)) is not None and int(value) in _RANGES[form]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "string":
        is_listed = "enum" not in schema or value in schema["enum"]
        return isinstance(value, str) and is_listed and (form != "byte" or _BASE64.match(value) is not None)
    return bool(kind == "any")
