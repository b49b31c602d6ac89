from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def test_a_send_that_was_stopped_is_known_apart_from_its_attempts(tmp_path: Path) -> None:
    submissions = Submissions(tmp_path / "state.db.submissions")
    submissions.note("s23456789ab", 2)
    assert not submissions.is_stopped("s23456789ab")
    submissions.note_stopped("s23456789ab")
    assert (submissions.is_stopped("s23456789ab"), submissions.last("s23456789ab")) == (True, 2)
    assert not submissions.is_stopped("s23456789ac")
    submissions.resume("s23456789ab")
    assert not submissions.is_stopped("s23456789ab")
    submissions.note_stopped("s23456789ab")
    assert submissions.is_stopped("s23456789ab")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_what_root_makes_belongs_to_the_owner_of_the_state_file(tmp_path: Path) -> None:
    """Like what SQLite makes there: otherwise one command of root's would keep the user's server from sending."""
    (tmp_path / "state.db").touch()
    os.chown(tmp_path / "state.db", 1234, 1235)
    Submissions(tmp_path / "state.db.submissions").note("s23456789ab", 1)
    made = (tmp_path / "state.db.submissions").stat()
    assert (made.st_uid, made.st_gid) == (1234, 1235)
