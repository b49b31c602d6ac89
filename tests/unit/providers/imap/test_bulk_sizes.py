from __future__ import annotations

import pytest

from postroom.model.changes import Marks
from postroom.providers.imap.sync.bulk import Measured, received


@pytest.mark.parametrize(
    ("length", "size", "is_whole"),
    [(19, 19, True), (19, 0, True), (19, 5_000, True), (20, 20, True), (20, 21, False), (20, 0, False), (0, 0, False)],
)
def test_as_many_bytes_as_were_asked_for_are_the_message_only_if_the_server_says_so(
    length: int, size: int, is_whole: bool
) -> None:
    """A size of 0 is none, and some servers only estimate it."""
    mail = received(Measured(1, size, None, "", Marks()), {"BODY[]": b"x" * length}, "INBOX|1|1", "INBOX", 20)
    assert mail.is_whole == is_whole
