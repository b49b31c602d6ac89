from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.model.errors import NotFound
from postroom.providers.imap.mail.refs import MailRef, by_folder, read_ref, uids_of


@given(st.text(min_size=1), st.integers(0, 2**32), st.integers(1, 2**32))
def test_any_folder_name_survives_the_way_into_a_ref_and_back(folder: str, validity: int, uid: int) -> None:
    ref = MailRef(folder, validity, uid)
    assert read_ref(str(ref)) == ref


@pytest.mark.parametrize("text", ["", "INBOX", "INBOX|1", "|1|2", "INBOX|a|2", "INBOX|1|-2", "INBOX|1|٢"])
def test_what_is_no_ref_is_not_found(text: str) -> None:
    with pytest.raises(NotFound):
        read_ref(text)


def test_refs_are_grouped_by_folder_each_once_and_strangers_left_out() -> None:
    groups = by_folder(["INBOX|1|2", "nonsense", "Sent|1|3", "INBOX|1|2"])
    assert groups == {"INBOX": [MailRef("INBOX", 1, 2)], "Sent": [MailRef("Sent", 1, 3)]}


def test_uids_of_an_earlier_validity_mean_nothing() -> None:
    assert uids_of([MailRef("INBOX", 1, 7), MailRef("INBOX", 2, 7)], 2) == [7]
