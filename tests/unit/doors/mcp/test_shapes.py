"""The shapes of the default dialect are the views of the service, but for the differences that are listed here."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypedDict, get_type_hints

import pytest

from postroom.doors.mcp.dialects.postroom import send_results, shapes
from postroom.doors.mcp.schema import output_schema
from postroom.service import views

Shape = tuple[type, type, set[str], set[str]]
# shape, view, keys that only the shape has, keys that only the view has
PAIRS: list[Shape] = [
    (shapes.EmailRow, views.EmailRow, set(), set()),
    (shapes.EmailPage, views.EmailPage, {"untrusted_fields"}, {"notices"}),
    (shapes.Attachment, views.AttachmentView, {"uri"}, set()),
    (shapes.SenderFacts, views.SenderFacts, set(), set()),
    (shapes.Thread, views.ThreadView, set(), set()),
    (shapes.Account, views.AccountView, set(), set()),
    (shapes.Folder, views.FolderView, set(), set()),
    (shapes.Identity, views.IdentityView, set(), set()),
    (shapes.SavedFile, views.SavedFile, set(), set()),
    (shapes.Item, views.ItemView, set(), set()),
    (shapes.Written, views.WriteView, set(), set()),
    (shapes.Undone, views.UndoView, set(), {"done"}),
    (shapes.Draft, views.DraftView, set(), set()),
    (shapes.Sent, views.SendView, set(), {"tool", "message_ref", "thread_ref", "at", "findings"}),
    (shapes.OutboxRow, views.OutboxRow, set(), set()),
    (shapes.OutboxPage, views.OutboxPage, set(), set()),
]
# Parts that are shaped otherwise, or said in fewer bytes, than their view has them.
OTHERWISE = {"emails", "status", "error", "preview", "approval"}
ONLY_IN_TEXT = {"is_draft"}  # `mailbox` tells it, too


@pytest.mark.parametrize(("shape", "view", "more", "fewer"), PAIRS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_shape_is_its_view(shape: type, view: type, more: set[str], fewer: set[str]) -> None:
    shown, made = (_properties(output_schema(one)["properties"]) for one in (shape, view))
    assert set(shown) - set(made) == more
    assert set(made) - set(shown) == fewer
    assert {key: shown[key] for key in made if key in shown} == {key: made[key] for key in made if key in shown}


def test_the_result_of_a_send_has_what_its_shape_names_and_nothing_else() -> None:
    whole = views.SendView(**{field.name: "x" for field in fields(views.SendView)} | {"refused": {}, "preview": None})
    structured = send_results.sent(replace(whole, refused={"a@b.example": "550"})).structured_content
    assert structured is not None
    assert set(structured) == set(get_type_hints(shapes.Sent)) - {"preview"}


def _properties(properties: Any) -> Any:
    """Down to the keys of parts, without what is said otherwise on purpose."""
    if isinstance(properties, list):
        return [_properties(one) for one in properties if not isinstance(one, str) or one not in ONLY_IN_TEXT]
    if not isinstance(properties, dict):
        return properties
    kept = {key: value for key, value in properties.items() if key not in ONLY_IN_TEXT}
    return {key: _properties(value) if key not in OTHERWISE else "" for key, value in kept.items()}


def test_an_answer_may_be_one_object_or_another() -> None:
    class Rule(TypedDict):
        rule_id: str

    class Plan(TypedDict):
        plan_id: str
        emails: list[str]

    schema = output_schema(Rule | Plan)
    assert schema["type"] == "object"
    assert [arm["required"] for arm in schema["anyOf"]] == [["rule_id"], ["plan_id", "emails"], ["error"]]
    assert schema["anyOf"][1]["properties"]["emails"] == {"type": "array", "items": {"type": "string"}}
