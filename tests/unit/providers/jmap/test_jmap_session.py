"""Where the server says everything is, what it offers, and to whom the login is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.peers.jmap import ACCOUNT, FakeJmap

from postroom.model.errors import AuthRequired, PermissionDenied, PostroomError, ProviderError, RateLimited
from postroom.providers.jmap.provider import JmapMailbox
from postroom.providers.jmap.session import read_session, well_known
from postroom.settings import JmapAccount

Open = Callable[[JmapAccount], JmapMailbox]
MAIL = "urn:ietf:params:jmap:mail"


def document(**changes: Any) -> dict[str, Any]:
    return {**FakeJmap().session(), **changes}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("https://mail.example.com", "https://mail.example.com/.well-known/jmap"),
        ("https://mail.example.com/", "https://mail.example.com/.well-known/jmap"),
        ("https://api.example.com/jmap/session", "https://api.example.com/jmap/session"),
    ],
)
def test_a_bare_host_is_asked_at_the_well_known_place(given: str, asked: str) -> None:
    assert well_known(given) == asked


def test_relative_addresses_belong_to_the_session_and_ids_are_quoted() -> None:
    session = read_session(document(), "https://mail.example.com/jmap/session")
    assert session.api_url == "https://mail.example.com/api/"
    assert session.upload_to() == "https://mail.example.com/upload/u1%40example.test/"
    assert session.download_of("a/b?c") == (
        "https://mail.example.com/download/u1%40example.test/a%2Fb%3Fc/message?type=application%2Foctet-stream"
    )


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        document(accounts=[]),
        document(apiUrl=None),
        document(uploadUrl=7),
        {key: value for key, value in document().items() if key != "downloadUrl"},
    ],
)
def test_what_is_no_session_names_the_setting_to_check(broken: Any) -> None:
    with pytest.raises(ProviderError, match="session_url"):
        read_session(broken, "https://mail.example.com/")


@pytest.mark.parametrize(
    "accounts",
    [
        {},
        {ACCOUNT: None},
        {ACCOUNT: {"accountCapabilities": None}},  # Cyrus, before the mailbox was opened for the first time
        {ACCOUNT: {"accountCapabilities": {"urn:ietf:params:jmap:contacts": {}}}},
        {"a": {"accountCapabilities": {MAIL: {}}}, "b": {"accountCapabilities": {MAIL: {}}}},
    ],
)
def test_a_login_without_one_mailbox_of_its_own_says_so(accounts: dict[str, Any]) -> None:
    with pytest.raises(PermissionDenied, match="no mailbox"):
        read_session(document(accounts=accounts, primaryAccounts={}), "https://mail.example.com/")


@pytest.mark.parametrize("told", [None, "many", -1, 0, True, 1.5])
def test_a_limit_that_is_none_counts_as_the_smallest_usual_one(told: Any) -> None:
    core = {"urn:ietf:params:jmap:core": {"maxObjectsInGet": told}}
    assert read_session(document(capabilities=core), "https://x.example/").limits["maxObjectsInGet"] == 500


@pytest.mark.parametrize("name", ["apiUrl", "uploadUrl", "eventSourceUrl"])
async def test_a_session_that_leads_to_another_host_is_refused_and_that_host_hears_nothing(
    server: FakeJmap, account: JmapAccount, open_box: Open, name: str
) -> None:
    with FakeJmap().run() as other:
        server.changes[name] = f"{other.url}/api/"
        with pytest.raises(ProviderError, match="another host"):
            await open_box(account).connect()
        assert other.requests == []


async def test_a_redirect_to_another_host_is_not_followed(
    server: FakeJmap, account: JmapAccount, open_box: Open
) -> None:
    with FakeJmap().run() as other:
        server.session_place = f"{other.url}/session"
        with pytest.raises(ProviderError, match="another host"):
            await open_box(account).connect()
        assert other.requests == []


async def test_downloads_may_have_a_host_of_their_own(server: FakeJmap, account: JmapAccount, open_box: Open) -> None:
    with FakeJmap().run() as other:
        server.changes["downloadUrl"] = f"{other.url}/download/{{accountId}}/{{blobId}}/{{name}}?type={{type}}"
        blob = other.state.add_blob(b"Subject: one\r\n\r\nHello.")
        assert await open_box(account).client.download(blob) == b"Subject: one\r\n\r\nHello."


async def test_the_session_is_read_again_when_a_response_says_that_it_changed(
    server: FakeJmap, mailbox: JmapMailbox
) -> None:
    server.forget()
    server.session_state = "s2"
    for _ in range(3):
        await mailbox.folders()
    assert [request.path for request in server.requests].count("/session") == 1


@pytest.mark.parametrize(
    ("status", "retry_after", "kind"),
    [(401, None, AuthRequired), (403, None, PermissionDenied), (429, 3600, RateLimited)],
)
async def test_a_refusal_says_what_it_is_and_repeats_no_word_of_the_server(
    server: FakeJmap,
    account: JmapAccount,
    open_box: Open,
    status: int,
    retry_after: int | None,
    kind: type[PostroomError],
) -> None:
    server.fail_next("GET", "/.well-known/jmap", status=status, retry_after=retry_after, times=9)
    with pytest.raises(kind) as caught:
        await open_box(account).connect()
    assert "Sir" not in caught.value.message


async def test_too_many_requests_at_once_are_asked_again_later(server: FakeJmap, mailbox: JmapMailbox) -> None:
    server.answer_next(
        "POST",
        "Mailbox/get",
        '{"type": "urn:ietf:params:jmap:error:limit", "limit": "maxConcurrentRequests", "status": 400}',
        status=400,
        content_type="application/problem+json",
    )
    assert len(await mailbox.folders()) == 6
