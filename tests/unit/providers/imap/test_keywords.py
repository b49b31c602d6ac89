from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from postroom.model.errors import InvalidRequest
from postroom.providers.keywords import keyword_of, label_of, labels_of

_ATOM = re.compile(r'[^\x00-\x20\x7f-\U0010ffff(){%*"\\\]]+\Z')

labels = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=30)


@given(labels)
def test_every_label_comes_back_from_its_keyword(label: str) -> None:
    try:
        keyword = keyword_of(label)
    except InvalidRequest:
        assume(False)
    assert _ATOM.match(keyword)
    assert label_of(keyword) == label


@pytest.mark.parametrize("label", ["todo", "Work", "2026", "a.b-c_d", "ZIP+4"])
def test_plain_labels_are_their_own_keywords(label: str) -> None:
    assert keyword_of(label) == label


@pytest.mark.parametrize(
    "label", ["請求書類一覧", "Büro & Söhne", "to do", "50%", "(a)", "$Forwarded", "xn--x", "Junk", "=20"]
)
def test_other_labels_are_spelled_and_fit_into_a_keyword(label: str) -> None:
    keyword = keyword_of(label)
    assert keyword != label
    assert len(keyword) <= 50
    assert label_of(keyword) == label


def test_a_label_that_no_server_would_keep_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        keyword_of("very " * 20)
    with pytest.raises(InvalidRequest):
        keyword_of("")


def test_notes_of_programs_are_no_labels() -> None:
    assert labels_of(["$Forwarded", "$MDNSent", "NonJunk", "\\Seen", "$label1", "todo"]) == ("$label1", "todo")
