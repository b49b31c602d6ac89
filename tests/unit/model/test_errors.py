"""Every failure has a stable code, and says so."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from tests.architecture.tree import ROOT

from postroom.model import errors
from postroom.model.errors import PostroomError, ProviderUnavailable, RateLimited, Unsupported

CODES = {
    "INVALID_REQUEST",
    "NOT_FOUND",
    "PERMISSION_DENIED",
    "AUTH_REQUIRED",
    "RATE_LIMIT_EXCEEDED",
    "PROVIDER_ERROR",
    "CONFLICT",
    "UNSUPPORTED",
    "INTERNAL_ERROR",
}
LEAVES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, PostroomError) and value is not PostroomError
]


@pytest.mark.parametrize("leaf", LEAVES)
def test_each_error_has_a_published_code_and_stands_in_the_drawn_tree(leaf: type[PostroomError]) -> None:
    assert leaf.code in CODES
    assert errors.__doc__ is not None
    line = next(line for line in errors.__doc__.splitlines() if f" {leaf.__name__} " in line)
    assert leaf.code in line
    assert (" yes " in line) == leaf.retryable


def test_every_published_code_is_in_use() -> None:
    assert {leaf.code for leaf in LEAVES} == CODES


def test_an_error_carries_its_details_and_when_to_come_back() -> None:
    details = {"limit": 10}
    error = RateLimited("Wait.", details=details, retry_after=30.5)
    details["limit"] = 0
    assert (str(error), error.details, error.retry_after) == ("Wait.", {"limit": 10}, 30.5)


def test_what_a_provider_lacks_is_named() -> None:
    error = Unsupported("rest", "labels")
    assert error.details == {"provider": "rest", "feature": "labels"}
    assert "get_capabilities" in error.message


def test_an_unavailable_provider_may_be_tried_again() -> None:
    assert ProviderUnavailable.retryable
    assert not errors.ProviderError.retryable


@pytest.mark.parametrize("leaf", LEAVES)
def test_each_error_has_a_reason_of_its_own_or_the_general_one_of_its_class(leaf: type[PostroomError]) -> None:
    error = leaf("rest", "labels") if leaf is Unsupported else leaf("Sorry.")  # type: ignore[call-arg]
    assert error.reason == leaf.general_reason
    assert leaf is Unsupported or leaf("Sorry.", reason="send_limit").reason == "send_limit"


def test_reasons_are_short_identifiers_and_each_is_in_use() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "errors.py")
    general = {leaf.general_reason for leaf in LEAVES}
    for reason in get_args(errors.Reason):
        assert re.fullmatch(r"[a-z]+(_[a-z0-9]+){0,4}", reason)
        assert reason in general or f'"{reason}"' in source, reason


CONTRACT_SENTENCES = (
    "Could not find Drafts folder. Available folders can be listed with list_folders.",
    "You can only update drafts. The email you provided is not in the drafts folder.",
    "Email with UID ",
)


@pytest.mark.parametrize("sentence", CONTRACT_SENTENCES)
def test_a_sentence_of_a_contract_stands_in_its_dialect_and_nowhere_else(sentence: str) -> None:
    said = [path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*.py") if sentence in path.read_text()]
    assert said
    assert all("dialects" in path.parts for path in said)
