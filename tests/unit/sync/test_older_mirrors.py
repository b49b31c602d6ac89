"""A mirror that an earlier Postroom filled goes on working."""

from __future__ import annotations

from pathlib import Path

from postroom.index import folders, state, writing
from postroom.index.entry import Entry, texts_of
from postroom.index.records import record_of
from postroom.index.search import search
from postroom.model.address import Address
from postroom.model.folder import Role
from postroom.model.message import Envelope
from postroom.model.query.tree import Query, Subject
from postroom.sync.file import spool
from postroom.sync.file.contents import raw_of
from postroom.sync.file.mirror import Mirror
from postroom.sync.file.schema import SCHEMA
from postroom.sync.following import packing
from postroom.sync.tables import changing, identity
from postroom.sync.tables.changing import Arrival


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


def test_what_an_earlier_version_left_spooled_is_packed_and_stays_what_it_was(tmp_path: Path) -> None:
    """Its words were compressed, and it was known who it is, before it was packed."""
    mirror, raw = Mirror(tmp_path / "work.db"), b"Subject: Ships\r\n\r\namber green\r\n"
    (place,) = spool.append(mirror.spool, [raw])
    texts = texts_of("Ships", "amber green", ())
    envelope = Envelope("INBOX|1|1", "", "INBOX", sender=Address("ada@x.example"), subject="Ships")
    with mirror.transaction() as connection:
        folders.add_folder(connection, "INBOX", role=Role.INBOX)
        record = record_of(Entry(envelope, texts=texts))
        spooled = spool.sealed(place, raw)
        changing.add(connection, [Arrival(record, identity.of_all_bytes(raw), 1, 1, spooled=spooled)], 0.0)
        connection.execute("ALTER TABLE carried DROP COLUMN resets")
        connection.execute("PRAGMA user_version = 6")
    mirror.close()

    again = Mirror(tmp_path / "work.db")
    with again.transaction() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA.version,)
        while packing.pack_some(connection, again.spool, 0.0):
            pass
        assert raw_of(connection, "INBOX|1|1") == raw
        assert [one.identity for one in identity.describe(connection, ["INBOX|1|1"])] == [identity.of_all_bytes(raw)]
        assert connection.execute("SELECT body FROM mail_text").fetchone() == (texts.packed_body,)
        changing.remove(connection, ["INBOX|1|1"], 0.0)
        assert connection.execute("SELECT count(*) FROM words WHERE words MATCH 'amber'").fetchone() == (0,)
    again.close()
