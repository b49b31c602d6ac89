"""What a second client does on a real server is in the mirror after a run."""

from __future__ import annotations

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored

from postroom.index.search import search
from postroom.model.query.tree import Query, Text

pytestmark = pytest.mark.anyio


async def test_everything_is_found_after_the_first_run(mirrored: Mirrored) -> None:
    with mirrored.client() as client:
        for number in range(120):
            client.append("INBOX", "", None, letter(f"m{number}", text=f"The word{number}x is here."))
        client.append("Archive", "(\\Seen \\Flagged Blue)", None, letter("old", text="An elephant."))

    await mirrored.sync()

    rows = mirrored.rows()
    assert len(rows) == 121
    with mirrored.mirror.snapshot() as connection:
        page = search(connection, Query(Text("elephant")), limit=5, offset=0)
    (found,) = page.items
    assert (found.folder, found.unread, found.starred, found.labels) == ("Archive", False, True, ("Blue",))
    status = mirrored.mirror.status()
    assert status.complete
    assert status.messages == 121
    assert status.as_of is not None
