"""That the fake holds requests and answers against Microsoft's description: each operation is given a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.peers.gmail.caller import written
from tests.peers.graph import FakeGraph, door
from tests.peers.graph.caller import Caller, quoted, refusal
from tests.peers.graph.handlers import HANDLERS
from tests.peers.graph.mailbox import Mailbox
from tests.peers.graph.operations import OPERATIONS, Operation
from tests.peers.graph.spec import load

ELSEWHERE = {"user.get", "attachments.content"}  # in other documents of Graph than the one about mail
DESCRIBED = [one for one in OPERATIONS.values() if one.name not in ELSEWHERE]
WRITING = [one for one in DESCRIBED if one.verb in ("POST", "PATCH")]
BARE = {"messages.content", "messages.count"}  # whose answer is no JSON

pytestmark = pytest.mark.skipif(load() is None, reason="Microsoft's OpenAPI document of Graph is not beside the code")
named = pytest.mark.parametrize("operation", DESCRIBED, ids=lambda one: one.name)
writing = pytest.mark.parametrize("operation", WRITING, ids=lambda one: one.name)


@pytest.fixture
def graph() -> FakeGraph:
    return FakeGraph()


@pytest.fixture
def alice(graph: FakeGraph) -> Mailbox:
    return graph.user("alice@contoso.example")


def path_of(operation: Operation, graph: FakeGraph, alice: Mailbox) -> str:
    """With things that are there in the place of its braces."""
    stored = graph.deliver(alice, written("Text", From="bob@x.example", To=alice.address, Subject="One"))
    ids = {"id": stored.immutable_id, "attachment": "A" * 40, "folder": "inbox", "rule": "A" * 40, "category": "x"}
    path = operation.path.format(**{name: quoted(value) for name, value in ids.items()})
    return f"mailFolders/inbox/{path}" if operation.name == "messages.delta" else path


@pytest.fixture
def caller(graph: FakeGraph, alice: Mailbox) -> Iterator[Caller]:
    with graph.run(), Caller(graph, alice) as caller:
        yield caller


@named
def test_a_parameter_that_the_description_does_not_have_is_refused(
    graph: FakeGraph, alice: Mailbox, caller: Caller, operation: Operation
) -> None:
    body = {} if operation in WRITING else None
    answer = caller.ask(operation.verb, path_of(operation, graph, alice), body, nonsense="1")
    assert refusal(answer) == (400, "RequestBodyRead")
    assert "$nonsense" in answer.text


@writing
@pytest.mark.parametrize("place", ["/me", "/users", "batch"])
def test_a_body_with_a_property_that_the_description_does_not_have_is_refused(
    graph: FakeGraph, alice: Mailbox, caller: Caller, operation: Operation, place: str
) -> None:
    path, wrong = path_of(operation, graph, alice), {"nonsense": 7}
    if place == "batch":
        inner = {"id": "1", "method": operation.verb, "url": f"/me/{path}", "body": wrong}
        headers = {"headers": {"content-type": "application/json"}}
        answer = caller.http.post("/v1.0/$batch", json={"requests": [{**inner, **headers}]})
        (found,) = answer.json()["responses"]
        assert (found["status"], found["body"]["error"]["code"]) == (400, "RequestBodyRead")
        return
    user = "me" if place == "/me" else f"users/{quoted(alice.address)}"
    answer = caller.http.request(operation.verb, f"/v1.0/{user}/{path}", json=wrong)
    assert refusal(answer) == (400, "RequestBodyRead")


@pytest.mark.parametrize("operation", [one for one in DESCRIBED if one.name not in BARE], ids=lambda one: one.name)
def test_an_answer_that_the_description_does_not_have_fails_the_test(
    graph: FakeGraph, alice: Mailbox, operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(_call: Any) -> dict[str, Any]:
        return {"nonsense": 7}

    monkeypatch.setitem(door.HANDLERS, operation.name, wrong)
    path = path_of(operation, graph, alice)
    with pytest.raises(AssertionError, match="does not allow"), graph.run(), Caller(graph, alice) as caller:
        assert caller.ask(operation.verb, path, {} if operation in WRITING else None).status_code >= 500


@pytest.mark.parametrize("fields", ["nonsense", "subject,nonsense", "Subject;id"])
@pytest.mark.parametrize("path", ["messages", "messages/{id}", "mailFolders", "mailFolders/inbox"])
def test_a_property_that_there_is_not_cannot_be_selected(
    graph: FakeGraph, alice: Mailbox, caller: Caller, path: str, fields: str
) -> None:
    there = path_of(OPERATIONS["messages.get"], graph, alice)
    answer = caller.ask("GET", path.replace("messages/{id}", there), select=fields)
    assert refusal(answer)[0] == 400


def test_every_operation_has_a_handler() -> None:
    assert set(HANDLERS) == set(OPERATIONS)
