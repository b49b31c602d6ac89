"""JSON Schemas as small as possible: every byte of the tool list costs a model.

Output schemas are generated directly from TypedDicts, or from the dataclasses of `service.views`: building Pydantic
models for them would cost every cold start more than all of this module. The default dialect has TypedDicts,
since importing the views would cost it 30 ms; a test compares each of them with its view.
"""

from __future__ import annotations

import types
from dataclasses import is_dataclass
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
SHOWN_AS = {"sender": "from"}  # a view's field that has another name in every result
_NOISE = {"title", "additionalProperties"}
_ERROR = {"type": "object"}  # code, message, details, retry_after: see failures.error_dict


def output_schema(shape: Any) -> dict[str, Any]:
    """The schema of a whole result, or of the error in its place: clients check both, and drop what does not match.

    The result's own keys are required; those of its parts are only listed, to save bytes. `shape` may be a union of
    objects, for a tool that returns one or the other.
    """
    if _is_union(shape):
        arms = [{"properties": _properties(arm), "required": _required(arm)} for arm in get_args(shape)]
        return {"type": "object", "properties": {"error": _ERROR}, "anyOf": [*arms, {"required": ["error"]}]}
    return {
        "type": "object",
        "properties": {**_properties(shape), "error": _ERROR},
        "anyOf": [{"required": _required(shape)}, {"required": ["error"]}],
    }


def _schema(shape: Any) -> dict[str, Any]:
    if shape in _SCALARS:
        return {"type": _SCALARS[shape]}
    if is_typeddict(shape) or is_dataclass(shape):
        return {"type": "object", "properties": _properties(shape)}
    origin, args = get_origin(shape), get_args(shape)
    if origin is NotRequired:
        return _schema(args[0])
    if origin in (list, tuple):
        return {"type": "array", "items": _schema(args[0])}
    if origin is dict:
        return {"type": "object"}
    if origin is Literal:
        return {"enum": list(args)}
    if _is_union(shape) and all(arg in _SCALARS for arg in args):
        return {"type": [_SCALARS[arg] for arg in args]}
    if _is_union(shape):
        return {"anyOf": [_schema(arg) for arg in args]}
    raise TypeError(f"no schema for {shape!r}")


def _properties(shape: Any) -> dict[str, Any]:
    return {name: _schema(hint) for name, hint in _hints(shape).items()}


def _required(shape: Any) -> list[str]:
    return [name for name, hint in _hints(shape).items() if get_origin(hint) is not NotRequired]


def _hints(shape: Any) -> dict[str, Any]:
    """Key to type, under the names that are shown."""
    hints = get_type_hints(shape, include_extras=True)
    return {SHOWN_AS.get(name, name): hint for name, hint in hints.items()} if is_dataclass(shape) else hints


def _is_union(shape: Any) -> bool:
    return get_origin(shape) in (Union, types.UnionType)


def slim_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Pydantic's schema of a tool's arguments without titles and nulls (omitting an argument means the same);
    it declares that unknown arguments are refused."""
    slimmed: dict[str, Any] = _without_noise(schema)
    return {**slimmed, "additionalProperties": False}


def _without_noise(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_noise(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {}
    for key, value in schema.items():
        if key == "properties":
            slim[key] = {name: _without_noise(sub) for name, sub in value.items()}
        elif key not in _NOISE and not (key == "default" and value in ("", [], None)):
            slim[key] = value if key in ("default", "enum") else _without_noise(value)
    return _without_null(slim)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    arms = [arm for arm in schema.get("anyOf", ()) if arm != {"type": "null"}]
    if not arms:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    flat = [inner for arm in arms for inner in arm.get("anyOf", [arm])]
    described = {key: value for arm in arms if "anyOf" in arm for key, value in arm.items() if key != "anyOf"}
    return {**flat[0], **rest} if len(flat) == 1 else {"anyOf": flat, **described, **rest}
