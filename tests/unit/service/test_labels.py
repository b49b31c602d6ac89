"""What a label may be called."""

from __future__ import annotations

import pytest

from postroom.model.errors import InvalidRequest
from postroom.service.organising.changes import check_label


@pytest.mark.parametrize("label", ["a\u200bb", "\u200b", "\ufefftaxes", "tax\u00ades", "a\u202eb"])
def test_a_new_label_has_nothing_in_it_that_nobody_sees(label: str) -> None:
    with pytest.raises(InvalidRequest, match="invisible"):
        check_label(label, is_new=True)
    check_label(label)  # one that is there already can still be taken off


@pytest.mark.parametrize("label", ["Größe 2026", " a  b\u00a0c ", "👩\u200d💻 Work", "می\u200cخواهم", "日本\u3000語"])
def test_a_new_label_may_be_written_in_any_script(label: str) -> None:
    check_label(label, is_new=True)
