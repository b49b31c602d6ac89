"""Every failure has a stable code, and says so."""

from __future__ import annotations

import pytest

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
