"""What a change of several emails says, and whether it offers to undo it."""

from __future__ import annotations

import pytest
from tests.flows.caller import text_of

from postroom.doors.mcp.dialects.postroom import results
from postroom.service.views import ErrorView, ItemView, WriteView

DONE = ItemView("m1", True)
GONE = ItemView("m2", False, error=ErrorView("NOT_FOUND", "It is gone."))
UNCLEAR = ItemView("m3", False, error=ErrorView("PROVIDER_ERROR", "It may or may not have happened."))


@pytest.mark.parametrize(
    ("items", "is_offered"),
    [((DONE,), True), ((DONE, GONE), True), ((UNCLEAR,), True), ((GONE, UNCLEAR), True), ((GONE,), False), ((), False)],
)
def test_an_undo_is_offered_where_something_may_have_changed(items: tuple[ItemView, ...], is_offered: bool) -> None:
    succeeded = sum(item.ok for item in items)
    result = results.written(WriteView("o1", items, succeeded, len(items) - succeeded), "marked read")
    assert ("Undo with operation_id o1." in text_of(result)) == is_offered
    assert result.structured_content is not None
    assert result.structured_content["operation_id"] == ("o1" if is_offered else "")
