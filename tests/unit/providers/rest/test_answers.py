"""Whatever the service answers: a clear error, nothing of a message in it, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.contract.mails import mail

from postroom.model.errors import (
    AuthRequired,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    Unsupported,
)
from postroom.model.query.tree import In, Query, Text
from postroom.providers.rest.provider import RestMailbox

READS: dict[str, tuple[str, Callable[[RestMailbox, str], Awaitable[Any]]]] = {
    "mailboxes.list": ("GET", lambda box, ref: box.folders()),
    "messages.list": ("GET", lambda box, ref: box.search(Query(In("inbox")), limit=10, offset=0)),
    "message.get": ("GET", lambda box, ref: box.fetch(ref)),
    "search": ("GET", lambda box, ref: box.search(Query(Text("word")), limit=10, offset=0)),
}
each_read = pytest.mark.parametrize("operation", READS)

BROKEN = {
    "no json": ("{broken CANARYBODY", "application/json"),
    "a number": ("17", "application/json"),
    "null": ("null", "application/json"),
    "nested": ("[" * 100_000, "application/json"),
    "a list of texts": ('["CANARYBODY"]', "application/json"),
    "no type": ('[{"id": "1"}]', "text/plain"),
    "an error inside": ('{"error": "CANARYBODY"}', "application/json"),
    "a web page": ("<!DOCTYPE html><html>log in CANARYBODY</html>", "text/html"),
    "empty": ("", "application/json"),
}


async def failed(box: RestMailbox, operation: str, ref: str) -> PostroomError:
    with pytest.raises(PostroomError) as caught:
        await READS[operation][1](box, ref)
    assert "CANARY" not in f"{caught.value.message} {caught.value.details}"
    return caught.value


@each_read
@pytest.mark.parametrize("kind", BROKEN)
async def test_what_is_not_an_answer_of_the_api_is_a_clear_error(
    api: Any, box: RestMailbox, one: str, operation: str, kind: str
) -> None:
    body, content_type = BROKEN[kind]
    api.answer_next("GET", operation, body, content_type=content_type, times=10)
    assert isinstance(await failed(box, operation, one), ProviderError)


@each_read
@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AuthRequired), (403, PermissionDenied), (418, ProviderError), (500, ProviderUnavailable),
     (503, ProviderUnavailable)],
)  # fmt: skip
async def test_a_status_becomes_its_error_and_the_words_of_the_service_are_not_shown(
    api: Any, box: RestMailbox, one: str, operation: str, status: int, kind: type[PostroomError]
) -> None:
    api.fail_next("GET", operation, status=status, message="CANARYBODY", times=10)
    assert type(await failed(box, operation, one)) is kind


@each_read
async def test_a_wait_that_the_service_asks_for_is_passed_on(
    api: Any, box: RestMailbox, one: str, operation: str
) -> None:
    api.fail_next("GET", operation, status=429, retry_after=120, times=10)
    error = await failed(box, operation, one)
    assert isinstance(error, RateLimited)
    assert error.retry_after == pytest.approx(120, abs=100)  # less by the time that passed


@each_read
@pytest.mark.parametrize("fault", ["cut_next", "truncate_next"])
async def test_a_connection_that_ends_in_the_middle_is_tried_again(
    api: Any, box: RestMailbox, one: str, operation: str, fault: str
) -> None:
    getattr(api, fault)("GET", operation)
    await READS[operation][1](box, one)
    assert api.pending_faults == 0


async def test_a_page_of_a_proxy_in_front_of_the_service_is_named_as_one(api: Any, box: RestMailbox, one: str) -> None:
    api.html_next("GET", "message.get", status=200, times=10)
    assert "web page" in (await failed(box, "message.get", one)).message


@pytest.mark.parametrize(
    "row",
    [
        {"id": "x1"},
        {"id": 17, "from": None, "to": "a@b.example, c@d.example", "date": 3, "flags": "\\Seen", "size": -1},
        {"id": "x1", "from": {"a": 1}, "to": [1, None], "date": "yesterday", "flags": None, "preview": []},
        {"id": "x1", "date": "0000-99-99T99:99:99Z", "size": 10**30, "subject": 5},
    ],
)
async def test_a_row_with_missing_or_wrong_fields_is_still_shown(
    api: Any, box: RestMailbox, row: dict[str, Any]
) -> None:
    api.answer_next("GET", "messages.list", json.dumps([row]))
    (shown,) = (await box.search(Query(In("inbox")), limit=10, offset=0)).items
    assert shown.ref == str(row["id"])


async def test_a_row_that_cannot_be_named_is_an_error_and_not_left_out(api: Any, box: RestMailbox) -> None:
    api.answer_next("GET", "messages.list", '[{"id": "x1"}, {"subject": "CANARYSUBJECT"}]')
    await failed(box, "messages.list", "")


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"headers": [{"name": "Message-ID", "value": "<a@b>"}, "x"], "attachments": "none", "cc": "a@b.example"},
        {"headers": {"Message-ID": ["<a@b>"], "Bad": {}}, "attachments": [1, {"filename": None}], "body_html": 5},
    ],
)
async def test_a_message_with_missing_or_wrong_fields_can_be_opened(
    api: Any, box: RestMailbox, found: dict[str, Any]
) -> None:
    api.answer_next("GET", "message.get", json.dumps(found), times=2)
    opened = await box.fetch("x1")
    assert (opened.envelope.ref, opened.body.text) == ("x1", "")


async def test_one_message_that_cannot_be_read_hides_no_other(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(3)]
    api.answer_next("GET", f"/api/message/{refs[1]}", "{broken")
    page = await box.search(Query(In("inbox")), limit=10, offset=0)
    assert [row.ref for row in page.items] == refs
    assert [bool(row.message_id) for row in page.items] == [True, False, True]


async def test_a_message_that_is_deleted_while_it_is_listed_hides_no_other(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(2)]
    api.fail_next("GET", f"/api/message/{refs[0]}", status=404)
    assert len((await box.search(Query(In("inbox")), limit=10, offset=0)).items) == 2


@pytest.mark.parametrize(
    ("file", "kind"),
    [({"filename": "a"}, Unsupported), ({"filename": "a", "content_base64": "?"}, ProviderError),
     ({"filename": "a", "content_base64": 5}, Unsupported)],
)  # fmt: skip
async def test_an_attachment_without_its_content_is_a_clear_error(
    api: Any, box: RestMailbox, file: dict[str, Any], kind: type[PostroomError]
) -> None:
    api.answer_next("GET", "message.get", json.dumps({"attachments": [file]}))
    with pytest.raises(kind):
        await box.fetch_part("x1", "1")


@pytest.mark.parametrize("part", ["0", "2", "-1", "", "x", "²", "9" * 5000])
async def test_an_attachment_that_is_not_there_is_not_found(api: Any, box: RestMailbox, part: str) -> None:
    api.answer_next("GET", "message.get", '{"attachments": [{"filename": "a", "content_base64": ""}]}')
    with pytest.raises(NotFound):
        await box.fetch_part("x1", part)


async def test_where_there_is_no_such_api_the_address_is_to_be_checked(api: Any, box: RestMailbox) -> None:
    api.fail_next("GET", "*", status=404, times=2)
    with pytest.raises(NotFound, match="Check base_url"):
        await box.connect()


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("a@b.example", [("a@b.example", "")]),
        ("Doe, Jane <jane@b.example>", [("jane@b.example", "Doe, Jane")]),
        ('"Doe, Jane" <jane@b.example>', [("jane@b.example", "Doe, Jane")]),
        ("田中太郎 <t@b.example>", [("t@b.example", "田中太郎")]),
        ("a@b.example, Bo <b@b.example>", [("a@b.example", ""), ("b@b.example", "Bo")]),
        ("boss@bank.example <eve@x.example>", [("eve@x.example", "boss@bank.example")]),
    ],
)
async def test_addresses_are_read_as_the_service_spells_them(
    api: Any, box: RestMailbox, text: str, people: list[tuple[str, str]]
) -> None:
    api.answer_next("GET", "messages.list", json.dumps([{"id": "x1", "from": text, "to": [text, "z@z.example"]}]))
    (row,) = (await box.search(Query(In("inbox")), limit=10, offset=0)).items
    assert (row.sender.email, row.sender.name) == people[0]
    assert [(one.email, one.name) for one in row.to] == [*people, ("z@z.example", "")]


@pytest.mark.parametrize("date", ["2024-11-18T10:00:00.123456789Z", "2024-11-18T12:00:00+02:00", "2024-11-18T10:00:00"])
async def test_dates_are_read_as_services_write_them(api: Any, box: RestMailbox, date: str) -> None:
    api.answer_next("GET", "messages.list", json.dumps([{"id": "x1", "date": date}]))
    (row,) = (await box.search(Query(In("inbox")), limit=10, offset=0)).items
    assert row.date == datetime(2024, 11, 18, 10, tzinfo=UTC)


@pytest.mark.parametrize("times", ["at first", "again"])
@pytest.mark.parametrize("status", [403, 500])
async def test_a_message_over_which_the_service_fails_is_listed_with_what_the_list_says(
    api: Any, me: Any, box: RestMailbox, status: int, times: str
) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(3)]
    api.fail_next("GET", f"/api/message/{refs[1]}", status=status, times=100)
    query = Query(In("inbox"))
    page = await box.search(query, limit=5, offset=0)
    if times == "again":  # then it is the only one that is not known
        page = await box.search(query, limit=5, offset=0)
    assert [(row.ref, row.subject) for row in page.items] == [(refs[n], f"Subject of m{n}") for n in range(3)]


async def test_a_service_that_opens_no_message_is_away(api: Any, me: Any, box: RestMailbox) -> None:
    me.store.add(mail("one"))
    await box.search(Query(In("inbox")), limit=5, offset=0)
    me.store.add(mail("two"))
    api.fail_next("GET", "message.get", status=500, times=100)
    with pytest.raises(ProviderUnavailable):
        await box.search(Query(In("inbox")), limit=5, offset=0)


@pytest.mark.parametrize("status", [403, 500])
async def test_one_that_was_moved_meanwhile_is_found_where_it_is_listed(
    api: Any, me: Any, box: RestMailbox, status: int
) -> None:
    ref = me.store.add(mail("moved"))
    await box.search(Query(In("inbox")), limit=5, offset=0)
    me.store.move(ref, next(one for one in me.store.mailboxes() if one.name == "Archive"))
    me.store.add(mail("another"))
    await box.search(Query(In("inbox")), limit=5, offset=0)
    api.fail_next("GET", f"/api/message/{ref}", status=status, times=100)
    (row,) = await box.envelopes([ref])
    assert row is not None
    assert (row.ref, row.folder) == (ref, "Archive")


async def test_one_that_is_refused_and_listed_nowhere_is_gone(api: Any, me: Any, box: RestMailbox) -> None:
    api.fail_next("GET", "/api/message/no-longer-mine", status=403, times=100)
    assert await box.envelopes(["no-longer-mine"]) == [None]


async def test_a_service_that_fails_over_many_is_not_searched_for_them(api: Any, me: Any, box: RestMailbox) -> None:
    api.fail_next("GET", "message.get", status=500, times=100)
    with pytest.raises(ProviderUnavailable):
        await box.envelopes([f"x{number}" for number in range(10)])


async def test_many_that_are_refused_are_looked_for_together(api: Any, me: Any, box: RestMailbox) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(20)]
    api.fail_next("GET", "message.get", status=403, times=1000)
    asked = [*refs, *(f"x{number}" for number in range(10))]
    rows = await box.envelopes(asked)
    assert [row and row.ref for row in rows] == [*refs, *[None] * 10]
    assert len([one for one in api.requests if one.method == "messages.list"]) <= 2 * len(me.store.mailboxes())


@pytest.mark.parametrize("count", [1, 20])
async def test_messages_of_which_every_one_is_refused_are_listed(
    api: Any, me: Any, box: RestMailbox, count: int
) -> None:
    refs = [me.store.add(mail(f"m{n}", days_ago=n)) for n in range(count)]
    api.fail_next("GET", "message.get", status=403, times=100)
    assert [row.ref for row in (await box.search(Query(In("inbox")), limit=50, offset=0)).items] == refs
    assert len((await box.search(Query(Text("subject")), limit=50, offset=0)).items) == count
    with pytest.raises(PermissionDenied):
        await box.fetch(refs[0])
