from __future__ import annotations

from pathlib import Path

from postroom.store.sends.submissions import Submissions


def test_the_last_attempt_of_a_send_is_known_to_whoever_opens_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.db.submissions"
    assert Submissions(path).last("s23456789ab") == 0
    for attempt in (1, 2, 10):
        Submissions(path).note("s23456789ab", attempt)
    Submissions(path).note("s23456789ac", 3)
    assert (Submissions(path).last("s23456789ab"), Submissions(path).last("s23456789ac")) == (10, 3)
    assert Submissions(path).last("s23456789a") == 0


def test_an_entry_that_was_cut_short_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "state.db.submissions"
    for cut in (b"\n", b"\ns2345", b"\ns23456789ab", b"\ns23456789ab ", b"\ns23456789ab 9"):
        path.write_bytes(cut)
        Submissions(path).note("s23456789ad", 1)
        assert Submissions(path).last("s23456789ad") == 1
