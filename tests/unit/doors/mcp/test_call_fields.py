"""What is logged of a call under a contract's names can be counted or chosen from, never read."""

from __future__ import annotations

from postroom.doors.mcp.call_fields import fields_of
from postroom.settings.dialects import TRAITS

SEND = TRAITS["graph"].log_fields["send_email"]
PROPERTIES = {"body_type": {"enum": ["text", "html"], "default": "text"}, "importance": {"enum": ["low", "normal"]}}


def test_recipients_are_counted_and_choices_named() -> None:
    arguments = {"to": ["a@x.example", "b@x.example"], "cc": "c@x.example", "bcc": ["d@x.example"], "importance": "low"}
    assert fields_of(SEND, arguments, PROPERTIES) == {"recipientCount": 3, "bodyType": "text", "importance": "low"}


def test_a_value_that_the_schema_does_not_list_is_left_out() -> None:
    found = fields_of(SEND, {"to": "a@x.example", "body_type": "secret words", "importance": ["secret"]}, PROPERTIES)
    assert found == {"recipientCount": 1}


def test_a_comment_is_only_said_to_be_there() -> None:
    wanted = TRAITS["graph"].log_fields["forward_email"]
    assert fields_of(wanted, {"to": [], "comment": "secret"}, {}) == {"recipientCount": 0, "hasComment": True}
    assert fields_of(wanted, {"comment": ""}, {}) == {"recipientCount": 0, "hasComment": False}
    assert fields_of(TRAITS["graph"].log_fields["reply_email"], {"reply_all": True}, {}) == {"replyAll": True}
