"""The server as a client starts it: a process whose stdout speaks JSON-RPC and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.flows.served import Served

from postroom.settings import Settings

CANARY = "zyxcanary"
CONFIG = """
[[accounts]]
name = "alex"
provider = "local"
address = "alex@demo.example"
path = "alex.db"
"""


@pytest.fixture
def served(filled: Settings) -> Iterator[Served]:
    served = Served(filled.home, CONFIG)
    yield served
    served.end()


def test_a_session_over_stdio_lists_and_calls(served: Served) -> None:
    tools = served.ask("tools/list")["result"]["tools"]

    assert "list_emails" in {tool["name"] for tool in tools}
    assert served.call("list_emails", limit=2)["structuredContent"]["total_count"] == 25


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{not json", -32700),
        (b"\xff\xfe", -32700),
        (b"[1, 2]", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":7}', -32600),
        (b'{"id":7,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":0.4,"method":"ping"}', -32600),  # by Math.random()
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_does_not_end_the_session(
    served: Served, line: bytes, code: int
) -> None:
    served.say(line)
    answer = served.hear()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert set(answer["error"]) == {"code", "message"}
    assert served.ask("tools/list")["result"]["tools"]


def test_empty_lines_are_passed_over(served: Served) -> None:
    for line in (b"", b"  ", b"\r"):
        served.say(line)
    served.say({"jsonrpc": "2.0", "id": "next", "method": "ping"})
    assert served.hear() == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_every_call_is_one_log_line_and_none_of_its_words_get_in(filled: Settings) -> None:
    served = Served(filled.home, CONFIG)
    served.call("search_emails", query=CANARY)
    served.call("create_draft", to=f"{CANARY}@example.com", subject=CANARY, body=CANARY)
    served.call("read_email", email_id=CANARY)
    served.call(CANARY, **{CANARY: CANARY})
    served.call("list_emails", limit=CANARY)
    served.ask(CANARY, value=CANARY)

    logged = served.end()

    calls = [(line["tool"], line["status"]) for line in logged if line["event"] == "tool_call"]
    assert calls == [
        ("search_emails", "ok"),
        ("create_draft", "ok"),
        ("read_email", "error"),
        ("unknown", "error"),
        ("list_emails", "error"),
    ]
    assert CANARY not in str(logged)
