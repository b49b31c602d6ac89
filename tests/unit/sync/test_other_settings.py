"""A server that runs since before the settings were changed, or one that was started since, while another process keeps
the mirror by its own: a mirror is judged by what it has, not by what the reader's settings say that it should have."""

from __future__ import annotations

import imaplib
import time
from typing import Any

import pytest
from tests.peers.accounts import letter
from tests.unit.sync.conftest import Mirrored
from tests.unit.sync.desk import Desk, desk

from postroom.model.query.tree import Query, Text

pytestmark = pytest.mark.anyio


async def opened(it: Desk, query: Query) -> tuple[list[str], bool]:
    page = await it.list(query)
    return sorted(row.subject for row in page.items), page.complete


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"mirror_leave_out": ("Archive",)}, (["new", "old"], False)),
        ({"mirror_days": 30}, (["archived", "new", "old"], True)),
        ({"mirror": "headers"}, (["archived", "new", "old"], True)),
    ],
    ids=["folders left out", "recent mail", "headers"],
)
async def test_a_reader_with_other_settings_calls_nothing_complete_that_is_not(
    mirrored: Mirrored, kept: dict[str, Any], expected: tuple[list[str], bool]
) -> None:
    with mirrored.client() as client:
        long_ago = imaplib.Time2Internaldate(time.time() - 90 * 86_400)
        client.append("INBOX", "", long_ago, letter("old", text="An elephant."))
        client.append("INBOX", "", None, letter("new", text="An elephant."))
        client.append("Archive", "", long_ago, letter("archived", text="An elephant."))
    mirrored.changes = kept
    await mirrored.sync()
    mirrored.changes = {}
    async with desk(mirrored) as it:
        assert await opened(it, Query(Text("elephant"))) == expected
        assert await opened(it, Query()) == expected
