"""What is remembered saves requests, and never outlives what the service says now."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.contract.mails import NOW, mail

from postroom.model.errors import NotFound
from postroom.model.query.text import parse_query
from postroom.model.query.tree import In, Query
from postroom.providers.rest import details
from postroom.providers.rest.provider import RestMailbox


async def listed(box: RestMailbox, folder: str = "inbox") -> Any:
    return await box.search(Query(In(folder)), limit=100, offset=0)


async def found(box: RestMailbox, words: str) -> list[str]:
    return [row.ref for row in (await box.search(parse_query(words, now=NOW), limit=20, offset=0)).items]


def asked(api: Any) -> list[str]:
    return [request.operation for request in api.requests]


async def test_a_search_among_listed_messages_opens_none_of_them(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", text="At the harbour.", days_ago=n)) for n in range(1, 4)]
    await listed(box)
    api.forget()
    assert await found(box, "harbour") == refs
    assert set(asked(api)) == {"mailboxes.list", "search"}
    assert await found(box, "harb") == []  # part of a word, which the service takes for a hit
    assert api.count("message.get") == 0


async def test_what_a_search_has_opened_the_next_one_knows(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", text="At the harbour, by night."))
    assert await found(box, "harbour in:inbox") == [ref]
    assert api.count("message.get") == 1
    assert await found(box, "night in:inbox") == [ref]
    assert api.count("message.get") == 1


async def test_a_known_text_shows_no_message_that_the_service_no_longer_finds(
    api: Any, me: Any, box: RestMailbox
) -> None:
    gone, moved, kept = (me.store.add(mail(key, text="At the harbour.")) for key in ("gone", "moved", "kept"))
    assert set(await found(box, "harbour in:inbox")) == {gone, moved, kept}
    me.store.move(gone, me.store.mailbox("Trash"))
    me.store.move(moved, me.store.mailbox("Archive"))
    me.store.flag(kept, ["\\Flagged"], [])
    page = await box.search(parse_query("harbour", now=NOW), limit=20, offset=0)
    assert {row.ref: (row.folder, row.starred) for row in page.items} == {
        moved: ("Archive", False),
        kept: ("INBOX", True),
    }


async def test_hidden_words_of_a_known_text_are_not_found(api: Any, me: Any, box: RestMailbox) -> None:
    me.store.add(mail("one", html="<p hidden>harbour</p><p>Lunch on Friday?</p>"))
    await listed(box)
    assert await found(box, "harbour") == []
    assert len(await found(box, "lunch")) == 1


async def test_the_text_of_a_draft_is_read_each_time(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", text="At the harbour."), "Drafts")
    assert await found(box, "harbour in:drafts") == [ref]
    assert await found(box, "harbour in:drafts") == [ref]
    assert api.count("message.get") == 2


async def test_a_message_that_seems_to_have_changed_is_read_again(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", text="At the harbour."))
    await listed(box)
    (row,) = me.store.page("INBOX", limit=1)
    api.answer_next("GET", "search", json.dumps([row | {"size": row["size"] + 1}]))
    assert await found(box, "harbour in:inbox") == [ref]
    assert api.count("message.get") == 2


async def test_texts_are_kept_within_a_limit_and_the_oldest_go_first(
    api: Any, me: Any, box: RestMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "KEPT_TEXT", 60)
    for word in ("harbour", "lighthouse", "ferry"):
        me.store.add(mail(word, text=f"It is about the {word}."))
        await found(box, f"{word} in:inbox")
    api.forget()
    await found(box, "lighthouse in:inbox")
    await found(box, "ferry in:inbox")
    assert api.count("message.get") == 0
    await found(box, "harbour in:inbox")
    assert api.count("message.get") == 1


async def test_a_listed_message_is_looked_for_among_a_few_rows(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(1, 61)]
    await listed(box)
    api.forget()
    assert (await box.fetch(refs[40])).envelope.folder == "INBOX"
    assert asked(api) == ["message.get", "messages.list"]
    params = dict(api.requests[-1].params)
    assert (int(params["offset"]), int(params["limit"])) == (30, 21)


async def test_one_that_others_pushed_further_is_found_on_the_page(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", days_ago=9))
    await listed(box)
    for number in range(30):
        me.store.add(mail(f"m{number}", days_ago=1))
    me.store.flag(ref, ["\\Flagged"], [])
    for expected in (["messages.list", "messages.list"], ["messages.list"]):  # from then on its place is known
        api.forget()
        (row,) = await box.envelopes([ref])
        assert row is not None
        assert row.starred
        assert asked(api) == expected


async def test_one_that_left_its_listing_is_searched_for_once(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", subject="Harbour"))
    await listed(box)
    me.store.move(ref, me.store.mailbox("Archive"))
    assert (await box.fetch(ref)).envelope.folder == "Archive"
    api.forget()
    assert (await box.fetch(ref)).envelope.folder == "Archive"
    assert asked(api) == ["message.get", "search"]


async def test_many_that_were_moved_are_looked_for_where_they_went(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(1, 151)]
    await box.move(refs, "Archive")
    api.forget()
    assert {row.folder for row in await box.envelopes(refs) if row} == {"Archive"}
    assert (api.count("messages.list"), api.count("search")) == (2, 0)


async def test_the_content_alone_takes_one_request(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", text="At the harbour.", cc="cleo@friends.example", files=[("plan.pdf", b"%PDF")]))
    content = await box.fetch_content(ref)
    assert asked(api) == ["message.get"]
    whole = await box.fetch(ref)
    assert (content.body, content.attachments, content.headers) == (whole.body, whole.attachments, whole.headers)
    shown, known = content.envelope, whole.envelope
    assert (shown.ref, shown.sender, shown.to, shown.cc) == (ref, known.sender, known.to, known.cc)
    assert (shown.subject, shown.date, shown.message_id) == (known.subject, known.date, known.message_id)


async def test_the_content_of_a_message_that_is_gone_is_gone_however_often_it_was_read(
    api: Any, me: Any, box: RestMailbox
) -> None:
    ref = me.store.add(mail("one"))
    await listed(box)
    await box.fetch_content(ref)
    api.fail_next("GET", "message.get", status=404)
    with pytest.raises(NotFound):
        await box.fetch_content(ref)
