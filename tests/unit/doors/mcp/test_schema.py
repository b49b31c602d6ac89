from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import pytest
from jsonschema import Draft202012Validator

from postroom.doors.mcp import failures
from postroom.doors.mcp.schema import output_schema, slim_input
from postroom.model.errors import NotFound


class Part(TypedDict):
    name: str


class Whole(TypedDict):
    parts: list[Part]
    count: int | None
    state: Literal["on", "off"]
    extra: NotRequired[dict[str, Any]]


def test_a_shape_becomes_a_schema_that_requires_what_is_not_optional() -> None:
    assert output_schema(Whole) == {
        "type": "object",
        "properties": {
            "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "count": {"type": ["integer", "null"]},
            "state": {"enum": ["on", "off"]},
            "extra": {"type": "object"},
            "error": {"type": "object"},
        },
        "anyOf": [{"required": ["parts", "count", "state"]}, {"required": ["error"]}],
    }


def test_an_error_fits_the_schema_of_any_answer_and_half_an_answer_does_not() -> None:
    validator = Draft202012Validator(output_schema(Whole))

    assert validator.is_valid({"error": failures.error_dict(NotFound("There is no such mail."))})
    assert validator.is_valid({"parts": [], "count": None, "state": "on"})
    assert not validator.is_valid({"parts": [], "count": None})
    assert not validator.is_valid({"error": "in words alone"})
    assert not validator.is_valid({})


def test_a_type_without_a_schema_is_refused_at_registration() -> None:
    class Odd(TypedDict):
        value: complex

    with pytest.raises(TypeError, match="complex"):
        output_schema(Odd)


def test_an_argument_named_title_survives_the_slimming() -> None:
    schema = {"title": "Args", "type": "object", "properties": {"title": {"title": "Title", "type": "string"}}}

    assert slim_input(schema)["properties"] == {"title": {"type": "string"}}


def test_null_is_left_out_because_leaving_the_argument_out_says_the_same() -> None:
    schema = {"properties": {"subject": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}}

    assert slim_input(schema)["properties"]["subject"] == {"type": "string"}


def test_a_union_inside_an_optional_is_flattened_and_keeps_its_description() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "array"}], "description": "one or many"}
    schema = {"properties": {"to": {"anyOf": [union, {"type": "null"}], "default": None}}}

    assert slim_input(schema)["properties"]["to"] == union


def test_defaults_that_mean_something_stay() -> None:
    schema = {
        "properties": {"limit": {"type": "integer", "default": 20}, "flag": {"type": "boolean", "default": False}}
    }

    assert slim_input(schema)["properties"] == schema["properties"]


def test_unknown_arguments_are_declared_as_refused() -> None:
    assert slim_input({"properties": {}})["additionalProperties"] is False
