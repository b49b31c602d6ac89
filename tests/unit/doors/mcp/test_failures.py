from __future__ import annotations

import logging

import pytest
from pydantic import BaseModel, ValidationError

from postroom.doors.mcp import failures
from postroom.model.errors import Conflict, InvalidRequest, NotFound, PostroomError, RateLimited


def text_of(error: PostroomError) -> str:
    block = failures.failure(error).content[0]
    assert block.type == "text"
    return block.text


def test_a_failure_says_its_code_its_message_and_when_to_come_back() -> None:
    error = RateLimited("Ten sends this hour.", retry_after=90, details={"limit": 10})

    assert text_of(error) == "RATE_LIMIT_EXCEEDED: Ten sends this hour. (retry after 90 s)"
    result = failures.failure(error)
    assert result.is_error
    assert result.structured_content == {
        "error": {
            "code": "RATE_LIMIT_EXCEEDED",
            "message": "Ten sends this hour.",
            "details": {"limit": 10},
            "retry_after": 90,
        }
    }


def test_a_failure_of_ours_is_found_behind_the_wrappers_around_it() -> None:
    wrapped = RuntimeError("Error executing tool")
    wrapped.__cause__ = Conflict("It changed.")

    assert failures.as_postroom_error(wrapped, "move_email") is wrapped.__cause__


def test_a_crash_becomes_a_reference_and_nothing_of_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    error = failures.as_postroom_error(ValueError("password=hunter2"), "read_email")

    assert error.code == "INTERNAL_ERROR"
    assert error.details["correlation_id"] in error.message
    assert "hunter2" not in str(failures.failure(error)) + caplog.text
    assert caplog.records[0].__dict__["correlation_id"] == error.details["correlation_id"]
    assert caplog.records[0].__dict__["error_type"] == "ValueError"


def test_rejected_arguments_are_named_without_their_values() -> None:
    class Arguments(BaseModel):
        limit: int

    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate({"limit": "secret words"})

    error = failures.as_postroom_error(caught.value, "list_emails")

    assert error.code == "INVALID_REQUEST"
    assert "limit" in error.message
    assert "secret" not in error.message


def test_of_many_different_problems_of_an_argument_a_few_are_named_and_the_rest_counted() -> None:
    class Item(BaseModel, extra="forbid"):
        pass

    class Arguments(BaseModel):
        items: list[Item]

    with pytest.raises(ValidationError) as wrong:
        Arguments.model_validate({"items": [{f"key{number}": 1} for number in range(1000)]})

    message = failures.as_postroom_error(wrong.value, "tool").message
    assert "items: item 1: Unknown name key0, or: item 2: Unknown name key1, or: " in message
    assert message.endswith(", or: 995 more problems. Correct them and call again.")


def test_a_misspelt_argument_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(InvalidRequest, match=r"Unknown argument bbc of send_email; did you mean bcc\?"):
        failures.refuse_unknown_arguments("send_email", {"bbc": "a@example.com"}, ["to", "bcc"])


def test_an_argument_unlike_any_other_gets_the_list_of_what_is_taken() -> None:
    with pytest.raises(InvalidRequest, match=r"Unknown argument zzzz of undo\. undo takes: operation_id\."):
        failures.refuse_unknown_arguments("undo", {"zzzz": 1}, ["operation_id"])


@pytest.mark.parametrize("text", ["a\0b", "half \ud800 pair"])
def test_nul_and_broken_unicode_are_refused_by_the_name_of_the_argument(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        failures.refuse_unfit_text("create_draft", {"subject": "fine", "to": ["ok", text]})

    assert caught.value.details == {"field": "to"}


def test_texts_without_end_are_refused_together_not_one_by_one() -> None:
    half = "x" * (failures.MAX_ARGUMENT_CHARS // 2 + 1)

    with pytest.raises(InvalidRequest, match="at most"):
        failures.refuse_unfit_text("create_draft", {"body": half, "body_html": half})
    failures.refuse_unfit_text("create_draft", {"body": half})


def test_a_disabled_tool_is_told_apart_from_one_that_does_not_exist() -> None:
    disabled = failures.refuse_unknown_tool("send_email", ["list_emails"], {"send_email": "send"})
    unknown = failures.refuse_unknown_tool("list_mails", ["list_emails"], {"list_emails": "read"})

    assert "not enabled" in disabled.message
    assert "Did you mean list_emails?" in unknown.message


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Gone. Call list_drafts.", "Gone."),
        ("Gone. Call list_drafts to see them. Then try again.", "Gone. Then try again."),
        ("Gone. Call list_emails to see what is there.", "Gone. Call list_emails to see what is there."),
        ("Use another. Call create_draft to write one. Call undo to put it back.", "Use another."),
        ("Call list_drafts.", "Call list_drafts."),
    ],
)
def test_advice_to_call_a_tool_that_is_absent_is_left_out(said: str, kept: str) -> None:
    assert failures.advise_within(NotFound(said), {"list_emails"}).message == kept
