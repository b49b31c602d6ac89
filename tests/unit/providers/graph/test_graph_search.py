"""What is asked of Graph: never a combination that it rejects, and never more than is needed."""

from __future__ import annotations

import pytest
from tests.contract.mails import NOW, mail
from tests.peers.graph import FakeGraph
from tests.peers.graph.mailbox import Mailbox

from postroom.model.errors import InvalidRequest, ProviderError
from postroom.model.query.text import parse_query
from postroom.model.query.tree import Correspondent, In, Query
from postroom.providers.graph.provider import GraphMailbox
from postroom.providers.graph.search import searching

QUERIES = [
    "in:inbox",
    "in:inbox is:unread",
    "in:inbox -is:unread has:attachment after:2026-01-01 before:2026-12-31",
    "is:starred label:red",
    "parcel",
    "parcel is:unread",
    "parcel OR is:starred",
    "-parcel",
    "(parcel OR from:ada) -has:attachment newer_than:7d",
    "from:ada to:me cc:you subject:plan",
    "filename:plan larger:1K smaller:5M",
    "is:answered",
    "in:sent -in:inbox parcel",
    "in:anywhere parcel",
    "subject:(o'brien \"d'accord\")",
    'label:"it\'s" is:read',
]


@pytest.mark.parametrize("text", QUERIES)
async def test_no_query_is_sent_in_a_form_that_is_rejected(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, text: str
) -> None:
    graph.deliver(alice, mail("one", subject="Parcel", text="A parcel for O'Brien."))
    graph.forget()
    await mailbox.search(parse_query(text, now=NOW), limit=10, offset=0)
    assert {recorded.status for recorded in graph.requests} == {200}
    for recorded in graph.requests:
        names = {name for name, _ in recorded.params}
        assert not ("$search" in names and names & {"$filter", "$orderby", "$skip"})


async def test_a_listing_is_one_request_with_its_count(graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox) -> None:
    for number in range(3):
        graph.deliver(alice, mail(f"m{number}", days_ago=number))
    await mailbox.folders()
    graph.forget()
    page = await mailbox.search(Query(In("inbox")), limit=2, offset=1)
    assert (len(page.items), page.total, page.has_more) == (2, 3, False)
    assert [recorded.operation for recorded in graph.requests] == ["messages.list"]


async def test_words_in_one_folder_are_searched_for_once(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    graph.deliver(alice, mail("one", text="parcel"))
    await mailbox.folders()
    graph.forget()
    page = await mailbox.search(parse_query("in:inbox parcel", now=NOW), limit=5, offset=0)
    assert (len(page.items), graph.count("messages.list")) == (1, 1)


@pytest.mark.parametrize("text", ["parcel (parcel OR is:starred)", "parcel -(is:starred parcel)"])
async def test_a_word_that_is_named_twice_is_found(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, text: str
) -> None:
    graph.deliver(alice, mail("one", text="parcel"))
    graph.deliver(alice, mail("other", text="letter"))
    assert len((await mailbox.search(parse_query(text, now=NOW), limit=5, offset=0)).items) == 1


async def test_a_next_page_on_another_host_is_refused_and_gets_no_token(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    await mailbox.folders()
    graph.answer_next(
        "GET", "messages.list", '{"value": [], "@odata.nextLink": "https://evil.example/v1.0/me/messages"}'
    )
    with pytest.raises(ProviderError, match="another host"):
        await mailbox.search(parse_query("is:answered", now=NOW), limit=10, offset=0)


async def test_pages_that_lead_to_each_other_end(graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox) -> None:
    await mailbox.folders()
    link = f"{graph.base_url}/me/messages?$skip=1"
    for _ in range(2):
        graph.answer_next("GET", "messages.list", f'{{"value": [], "@odata.nextLink": "{link}"}}')
    with pytest.raises(ProviderError, match="loop"):
        await mailbox.search(parse_query("is:answered", now=NOW), limit=10, offset=0)


async def test_a_list_in_more_pages_than_expected_is_followed_whole(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_LARGE_PAGE", 2)
    for number in range(7):
        graph.deliver(alice, mail(f"m{number}", text="parcel", days_ago=number))
    page = await mailbox.search(parse_query("parcel", now=NOW), limit=50, offset=0)
    assert len(page.items) == 7


async def test_what_only_we_can_decide_is_bounded_and_says_how_to_narrow(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "_MOST_CHECKED", 3)
    monkeypatch.setattr(searching, "_LARGE_PAGE", 2)
    for number in range(6):
        graph.deliver(alice, mail(f"m{number}", days_ago=number))
    with pytest.raises(InvalidRequest, match="Narrow"):
        await mailbox.search(parse_query("is:answered", now=NOW), limit=10, offset=0)


@pytest.mark.parametrize("value", ["***", '"', "x OR from:ada", "a) OR (b", "\\", "from:"])
async def test_text_in_a_condition_never_becomes_an_operator(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox, value: str
) -> None:
    graph.deliver(alice, mail("one", sender="Ada <ada@friends.example>"))
    page = await mailbox.search(Query(Correspondent("from", value)), limit=10, offset=0)
    assert page.items == ()


async def test_a_quote_in_a_message_id_or_a_thread_stays_text(
    graph: FakeGraph, alice: Mailbox, mailbox: GraphMailbox
) -> None:
    graph.deliver(alice, mail("it's"))
    assert len(await mailbox.mails_with_ids(["<it's@seed.example>"], near="")) == 1
    assert await mailbox.mails_with_ids(["x' or isRead eq false or subject eq '"], near="") == []
