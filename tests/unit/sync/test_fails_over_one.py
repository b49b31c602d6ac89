"""A server that fails over one message is there for the others: a mirror does not answer in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.mails import mail
from tests.unit.sync.cloud import Cloud, cloud_of

from postroom.model.errors import ProviderUnavailable
from postroom.model.query.tree import In, Query
from postroom.sync.answering.mirrored import MirrorLayer, mirrored

pytestmark = pytest.mark.anyio

COUNT = 60  # more than the first page
INBOX = Query(In("inbox"))


async def filled_to_first_page(graph: Cloud) -> None:
    """Of all that the server has, the mirror has one page, and nothing confirms that."""
    for number in range(COUNT):
        graph.side.peer.deliver(graph.side.user, mail(f"m{number}"))
    graph.before = lambda verb: graph.side.peer.cut_next("*", "*", times=1000) if graph.rows() else None
    with pytest.raises(ProviderUnavailable):
        await graph.sync()
    graph.before = lambda verb: None
    graph.side.peer.forget_faults()


@pytest.mark.parametrize("status", [500, 503])
async def test_one_message_over_which_the_server_fails_is_no_outage(tmp_path: Path, status: int) -> None:
    async with cloud_of("graph", tmp_path) as graph, graph.mailbox() as server:
        await filled_to_first_page(graph)
        layer = MirrorLayer(server, graph.mirror, graph.side.settings)
        mailbox = mirrored(server, layer, "graph")
        first = await mailbox.search(INBOX, limit=COUNT, offset=0)
        (lacking, *_) = [row.ref for row in first.items if row.ref not in graph.rows()]
        graph.side.peer.fail_next("GET", "*messages/*", status=status, times=3)
        with pytest.raises(ProviderUnavailable):
            await mailbox.fetch(lacking)
        graph.side.peer.forget_faults()
        assert not layer.outage.is_on
        page = await mailbox.search(INBOX, limit=COUNT, offset=0)
        assert (len(page.items), page.total, page.complete) == (COUNT, COUNT, True)


async def test_a_server_that_fails_over_everything_is_away(tmp_path: Path) -> None:
    async with cloud_of("graph", tmp_path) as graph, graph.mailbox() as server:
        await filled_to_first_page(graph)
        layer = MirrorLayer(server, graph.mirror, graph.side.settings)
        mailbox = mirrored(server, layer, "graph")
        graph.side.peer.fail_next("*", "*", status=503, times=1000)
        page = await mailbox.search(INBOX, limit=COUNT, offset=0)
        assert (0 < len(page.items) < COUNT, page.complete, layer.outage.is_on) == (True, False, True)
