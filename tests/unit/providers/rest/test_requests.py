"""What is asked of the service: encoded, no more than needed, and in its own words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.mails import NOW, mail, message_id

from postroom.model.errors import Conflict, InvalidRequest, NotFound
from postroom.model.query.text import parse_query
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.querying import judging
from postroom.providers.rest import search as searching
from postroom.providers.rest.provider import UNKNOWN, RestMailbox
from postroom.settings import RestAccount

HARD = "Ä/b ?c#d%2F&e=f+g🎉"


async def listed(box: RestMailbox, folder: str = "inbox", limit: int = 20) -> Any:
    return await box.search(Query(In(folder)), limit=limit, offset=0)


async def test_names_ids_and_words_are_encoded(api: Any, me: Any, box: RestMailbox) -> None:
    me.store.create(HARD)
    ref = me.store.add(mail("one", subject="a&b=c#d%2F+e"))
    await box.folders()
    (result,) = await box.move([ref], HARD)
    assert result.ok
    assert [row.ref for row in (await listed(box, HARD)).items] == [ref]
    page = await box.search(parse_query('"a&b=c#d%2F+e"', now=NOW), limit=5, offset=0)
    assert [row.ref for row in page.items] == [ref]
    with pytest.raises(NotFound):
        await box.fetch(HARD)
    assert all("?" not in request.path and " " not in request.path for request in api.requests)


@pytest.mark.parametrize("ref", ["", ".", "..", "../mailboxes", "\udcff", "m1/../../mailboxes", "send"])
async def test_an_id_never_leads_to_another_path(api: Any, box: RestMailbox, ref: str) -> None:
    with pytest.raises(NotFound):
        await box.fetch(ref)
    assert {request.operation for request in api.requests} <= {"message.get"}


async def test_a_first_listing_opens_each_message_once_and_the_next_opens_none(
    api: Any, me: Any, box: RestMailbox
) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(5)]
    await listed(box)
    assert (api.count("messages.list"), api.count("message.get")) == (1, 5)
    api.forget()
    await box.set_flags(refs[:1], add=["read"])
    assert not (await listed(box)).items[0].unread
    assert (api.count("messages.list"), api.count("message.get")) == (1, 0)


async def test_a_page_with_more_behind_it_takes_one_request(api: Any, me: Any, box: RestMailbox) -> None:
    for number in range(3):
        me.store.add(mail(f"m{number}", days_ago=number))
    page = await listed(box, limit=2)
    assert (len(page.items), page.has_more, page.total) == (2, True, None)
    assert api.count("messages.list") == 1


async def test_a_page_that_is_exactly_full_asks_whether_there_is_more(api: Any, me: Any, box: RestMailbox) -> None:
    for number in range(2):
        me.store.add(mail(f"m{number}", days_ago=number))
    page = await listed(box, limit=2)
    assert (len(page.items), page.has_more, page.total) == (2, False, 2)
    assert api.count("messages.list") == 2


async def test_a_page_as_long_as_the_service_allows_asks_whether_there_is_more(
    api: Any, me: Any, box: RestMailbox
) -> None:
    for number in range(101):
        me.store.add(mail(f"m{number}", days_ago=number))
    page = await listed(box, limit=100)
    assert (len(page.items), page.has_more, page.total) == (100, True, None)


async def test_flags_of_listed_messages_take_one_request(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(5)]
    await listed(box)
    api.forget()
    assert all(await box.envelopes(refs))
    assert [request.operation for request in api.requests] == ["messages.list"]


async def test_a_message_nobody_listed_is_found_by_a_word_of_its_subject(api: Any, me: Any, box: RestMailbox) -> None:
    me.store.add(mail("other"), "Archive")
    ref = me.store.add(mail("one", subject="Harbour"), "Archive", ("starred",))
    (row,) = await box.envelopes([ref])
    assert row is not None
    assert (row.folder, row.starred) == ("Archive", True)
    assert api.count("messages.list") == 0


async def test_a_message_without_a_word_in_its_subject_is_found_by_listing(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one", subject="🎉"), "Archive")
    (row,) = await box.envelopes([ref])
    assert row is not None
    assert row.folder == "Archive"


async def test_a_message_that_another_program_moved_is_shown_where_it_is_now(
    api: Any, me: Any, box: RestMailbox
) -> None:
    ref = me.store.add(mail("one"))
    await listed(box)
    me.store.move(ref, me.store.mailbox("Archive"))
    assert (await box.fetch(ref)).envelope.folder == "Archive"


async def test_an_id_that_a_move_changed_is_the_new_one(api: Any, me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("one"))
    api.answer_next("POST", "message.move", '{"id": "m999"}')
    (result,) = await box.move([ref], "Archive")
    assert result.new_ref == "m999"


@pytest.mark.parametrize("body", ["", "{}", "null", "[]"])
async def test_a_move_that_is_answered_without_an_id_keeps_it(api: Any, me: Any, box: RestMailbox, body: str) -> None:
    ref = me.store.add(mail("one"))
    api.answer_next("POST", "message.move", body, after_effect=True)
    (result,) = await box.move([ref], "Archive")
    assert (result.ok, result.new_ref) == (True, "")


@pytest.mark.parametrize(
    "body",
    ["<!DOCTYPE html><html>log in</html>", '{"success": false}', '{"ok": false}', '{"status": "failed"}',
     '{"errors": ["disk full"]}', '{"id": "m'],
)  # fmt: skip
async def test_a_change_is_not_claimed_where_the_success_says_otherwise(
    api: Any, me: Any, box: RestMailbox, body: str
) -> None:
    ref = me.store.add(mail("one"))
    api.answer_next("PATCH", "message.flags", body)
    api.answer_next("POST", "message.move", body)
    (flagged,) = await box.set_flags([ref], add=["starred"])
    (moved,) = await box.move([ref], "Archive")
    for result in (flagged, moved):
        assert result.error is not None
        assert "may or may not have happened" in result.error.message


async def test_a_change_whose_answer_is_lost_is_not_repeated_and_said_to_be_unclear(
    api: Any, me: Any, box: RestMailbox
) -> None:
    first, second = me.store.add(mail("first")), me.store.add(mail("second"))
    api.cut_next("POST", f"/api/message/{first}/move", after_effect=True)
    results = await box.move([first, second], "Archive")
    assert [result.ok for result in results] == [False, True]
    assert results[0].error is not None
    assert "may or may not have happened" in results[0].error.message
    assert api.count("message.move") == 2


async def test_a_search_that_would_open_too_many_messages_asks_to_be_narrowed(
    me: Any, box: RestMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "READ_WHOLE", 2)
    for number in range(3):
        me.store.add(mail(f"m{number}"))
    with pytest.raises(InvalidRequest, match="Narrow the search"):
        await box.search(parse_query("has:attachment", now=NOW), limit=5, offset=0)
    assert judging.READ_WHOLE == 500


async def test_more_hits_than_one_request_returns_are_asked_for(
    api: Any, me: Any, box: RestMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching.wire, "PAGE", 2)
    for number in range(5):
        me.store.add(mail(f"m{number}", text="harbour", days_ago=number))
    page = await box.search(parse_query("harbour in:inbox", now=NOW), limit=2, offset=0)
    assert (len(page.items), page.total, page.has_more) == (2, 5, True)


async def test_a_part_of_a_word_that_the_service_takes_for_a_hit_is_none(me: Any, box: RestMailbox) -> None:
    me.store.add(mail("parent", text="My parents are well."))
    wanted = me.store.add(mail("rent", text="The rent is due."))
    page = await box.search(parse_query("rent", now=NOW), limit=5, offset=0)
    assert [row.ref for row in page.items] == [wanted]


async def test_a_folder_that_is_not_empty_is_never_given_to_the_service_to_delete(
    api: Any, me: Any, box: RestMailbox
) -> None:
    me.store.create("Full")
    me.store.add(mail("one"), "Full")
    with pytest.raises(Conflict):
        await box.delete_folder("Full")
    assert api.count("mailboxes.delete") == 0


@pytest.mark.parametrize(
    ("claims", "address"),
    [('{"email": "me@demo.example"}', "me@demo.example"), ('{"sub": "me@demo.example"}', "me@demo.example"),
     ('{"sub": "17"}', UNKNOWN.email), ("[]", UNKNOWN.email), ("{broken", UNKNOWN.email)],
)  # fmt: skip
async def test_without_an_address_the_claims_of_the_token_say_whose_it_is(
    api: Any, me: Any, tmp_path: Any, claims: str, address: str
) -> None:
    import base64

    token = f"e30.{base64.urlsafe_b64encode(claims.encode()).decode().rstrip('=')}.x"
    me.tokens.add(token)
    account = RestAccount(name="mine", base_url=f"{api.url}/api", auth_token=token)
    box = RestMailbox(account, ProviderContext(tmp_path, (account,)))
    await box.connect()
    (identity,) = await box.identities()
    assert identity.address.email == address
    await box.close()


async def test_the_ids_that_a_message_refers_to_come_from_its_headers(me: Any, box: RestMailbox) -> None:
    ref = me.store.add(mail("reply", answers=["root", "middle"]))
    row = (await box.fetch(ref)).envelope
    assert (row.message_id, row.in_reply_to) == (message_id("reply"), message_id("middle"))
    assert row.references == (message_id("root"), message_id("middle"))


async def test_a_search_covers_a_folder_that_another_program_has_just_made(me: Any, box: RestMailbox) -> None:
    await listed(box)
    ref = me.store.add(mail("new", text="harbour"), "New folder")
    page = await box.search(parse_query("harbour", now=NOW), limit=5, offset=0)
    assert [row.ref for row in page.items] == [ref]
    assert [row.ref for row in (await listed(box, "New folder")).items] == [ref]
