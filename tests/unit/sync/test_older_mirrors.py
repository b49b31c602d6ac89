"""A mirror that an earlier Postroom filled goes on working."""

from __future__ import annotations

from pathlib import Path

from postroom.index import folders, state, writing
from postroom.index.entry import Entry
from postroom.index.search import search
from postroom.model.address import Address
from postroom.model.folder import Role
from postroom.model.message import Envelope
from postroom.model.query.tree import Query, Subject
from postroom.sync.file.mirror import Mirror


def test_subjects_from_before_their_words_were_marked_are_found(tmp_path: Path) -> None:
    mirror = Mirror(tmp_path / "work.db")
    with mirror.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        envelope = Envelope("1", "", "INBOX", sender=Address("ada@x.example"), subject="The amber ship")
        writing.add(connection, [Entry(envelope, "amber green")])
        (key,) = connection.execute("SELECT id FROM mail").fetchone()
        state.exchange(connection, [key], drop=state.marked("The amber ship"))
        for later in ("refusal", "refused_at"):
            connection.execute(f"ALTER TABLE mirrored_folder DROP COLUMN {later}")
        connection.execute("ALTER TABLE carried DROP COLUMN resets")
        connection.execute("PRAGMA user_version = 3")
    mirror.close()

    again = Mirror(tmp_path / "work.db")
    with again.snapshot() as connection:
        assert search(connection, Query(Subject("Amber ship")), limit=5, offset=0).total == 1
        assert search(connection, Query(Subject("green")), limit=5, offset=0).total == 0
    assert again.status().refusals == ""
    again.close()
