"""The send toolset as a client meets it, in both protocol eras, with and without a person in front of the client."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import ElicitResult, InputRequiredResult
from tests.flows.caller import Caller
from tests.flows.conftest import ERAS

from postroom.doors.mcp.server import build_server
from postroom.service.gateway import Gateway
from postroom.service.reading import search
from postroom.service.sending import send
from postroom.service.sending.approval import approvals
from postroom.service.sending.order import Wishes
from postroom.service.writing import draft
from postroom.settings import build
from postroom.wiring import open_gateway

MAIL = {"to": "sam@demo.example", "subject": "Lunch?", "body": "Shall we say noon?"}
YES = ElicitResult(action="accept", content={"send": True})
NO = [
    ElicitResult(action="accept", content={"send": False}),
    ElicitResult(action="decline"),
    ElicitResult(action="cancel"),
]
# The form came back, but nobody said yes or no in it.
NO_ANSWER = {
    "no content": ElicitResult(action="accept"),
    "null content": ElicitResult(action="accept", content=None),
    "empty content": ElicitResult(action="accept", content={}),
    "another field": ElicitResult(action="accept", content={"ok": True}),
    "null as the answer": ElicitResult(action="accept", content={"send": None}),
    "words as the answer": ElicitResult(action="accept", content={"send": "certainly"}),
    "a list as the answer": ElicitResult(action="accept", content={"send": ["true"]}),
    "a number as the answer": ElicitResult(action="accept", content={"send": 1}),
    "true in quotes": ElicitResult(action="accept", content={"send": "true"}),
}


@dataclass
class Desk:
    """A client at a gateway of its own, and a look behind the counter."""

    client: Client
    gateway: Gateway
    asked: list[str] = field(default_factory=list)
    meanwhile: list[Callable[[], Awaitable[Any]]] = field(default_factory=list)  # done while the person thinks

    @property
    def call(self) -> Caller:
        return Caller(self.client)

    async def arrived(self) -> list[str]:
        return [row.subject for row in (await search.list_emails(self.gateway, account="sam")).results]

    async def send(self, **more: Any) -> dict[str, Any]:
        return await self.call.ok("send_email", **{**MAIL, **more})

    def tokens_used(self) -> int:
        return self.gateway.store.rate.status("alex").used


Sit = Callable[..., Any]


@pytest.fixture
async def sit(tmp_path: Path) -> AsyncIterator[Sit]:
    """Sit down: `answer` is what the person says to every question; without it the client cannot ask."""
    files = tmp_path / "attach"
    files.mkdir()
    (files / "plan.txt").write_text("the plan")
    accounts = [
        {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}
        for name in ("alex", "sam")
    ]
    async with AsyncExitStack() as stack:

        async def down(era: str = "2026-07-28", answer: ElicitResult | None = None, **safety: Any) -> Desk:
            safety = {"attachment_dirs": [str(files)], **safety}
            settings = build({"accounts": accounts, "safety": safety}, home=tmp_path)
            rigs: list[Gateway] = []

            @asynccontextmanager
            async def opened() -> AsyncIterator[Gateway]:
                async with open_gateway(settings) as gateway:
                    rigs.append(gateway)
                    yield gateway

            asked: list[str] = []
            meanwhile: list[Callable[[], Awaitable[Any]]] = []

            async def person(_: Any, question: Any) -> ElicitResult:
                asked.append(question.message)
                while meanwhile:
                    await meanwhile.pop()()
                assert answer is not None
                return answer

            callback = {} if answer is None else {"elicitation_callback": person}
            client = await stack.enter_async_context(Client(build_server(opened, settings), mode=era, **callback))
            return Desk(client, rigs[0], asked, meanwhile)

        yield down


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", [None, YES], ids=["cannot ask", "can ask"])
async def test_a_preview_is_no_error_and_confirm_sends(sit, era, answer):
    desk = await sit(era, answer, gate="preview")
    preview = await desk.send()
    assert preview["status"] == "preview"
    assert preview["preview"]["to"] == ["sam@demo.example"]
    assert await desk.arrived() == []
    sent = await desk.send(confirm=True)
    assert (sent["status"], sent["accepted"]) == ("sent", ["sam@demo.example"])
    assert await desk.arrived() == ["Lunch?"]
    assert desk.asked == []


async def test_an_answer_names_a_sent_mail_by_handles_and_never_by_the_providers_own_ids(sit):
    desk = await sit(gate="confirm")
    sent = await desk.send(confirm=True)
    assert sent["thread_id"].startswith("t")
    assert not {"message_ref", "thread_ref"} & sent.keys()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("gate", ["elicit", "auto"])
async def test_the_person_is_asked_and_a_yes_sends(sit, era, gate):
    desk = await sit(era, YES, gate=gate)
    assert (await desk.send())["status"] == "preview"
    assert desk.asked == []
    assert (await desk.send(confirm=True))["status"] == "sent"
    (question,) = desk.asked
    for shown in ("sam@demo.example", "Lunch?", "Shall we say noon?"):
        assert shown in question
    assert await desk.arrived() == ["Lunch?"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", NO, ids=["unticked", "declined", "dismissed"])
async def test_whatever_is_not_a_yes_is_a_no_and_leaves_nothing_behind(sit, era, answer):
    desk = await sit(era, answer, gate="elicit")
    error = await desk.call.error("send_email", **MAIL, confirm=True)
    assert error["code"] == "PERMISSION_DENIED"
    assert len(desk.asked) == 1
    assert await desk.arrived() == []
    assert (await desk.call.ok("list_outbox", include_finished=False))["total_count"] == 0
    assert desk.tokens_used() == 0


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", NO_ANSWER)
async def test_a_form_that_comes_back_without_an_answer_is_no_answer(sit, era, answer):
    desk = await sit(era, NO_ANSWER[answer], gate="elicit")
    error = await desk.call.error("send_email", **MAIL, confirm=True)
    assert error["code"] == "PERMISSION_DENIED"
    assert "without an answer" in error["message"]
    assert error["details"] == {"by_person": False}
    assert len(desk.asked) == 1
    assert await desk.arrived() == []
    assert (await desk.call.ok("list_outbox"))["total_count"] == 0
    assert desk.tokens_used() == 0


async def test_a_client_that_answers_the_question_with_an_error_is_told_that_nothing_was_sent(sit):
    desk = await sit("legacy", YES, gate="elicit")

    async def breaks() -> None:
        raise MCPError(-32603, "no window to show it in")

    desk.meanwhile.append(breaks)
    error = await desk.call.error("send_email", **MAIL, confirm=True)
    assert "without an answer" in error["message"]
    assert await desk.arrived() == []
    assert (await desk.call.ok("list_outbox"))["total_count"] == 0


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("gate", ["elicit", "auto", "approval"])
async def test_where_nobody_can_be_asked_a_person_approves_and_the_mail_leaves_by_itself(sit, era, gate):
    desk = await sit(era, gate=gate)
    asked = await desk.send(confirm=True)
    assert asked["status"] == "needs_approval"
    assert (await desk.send(confirm=True))["send_id"] == asked["send_id"]
    assert await desk.arrived() == []
    await approvals.approve(desk.gateway, asked["approval"]["approval_id"], who="ada", how="test")
    assert await desk.arrived() == ["Lunch?"]
    assert (await desk.send(confirm=True))["status"] == "already_executed"
    assert await desk.arrived() == ["Lunch?"]


@pytest.mark.parametrize("era", ERAS)
async def test_asking_for_approval_is_possible_where_the_gate_would_not(sit, era):
    desk = await sit(era, YES, gate="confirm")
    assert (await desk.send(confirm=True, require_approval=True))["status"] == "needs_approval"
    assert (desk.asked, await desk.arrived()) == ([], [])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("was_asked_before", [False, True])
async def test_a_draft_changed_while_the_person_is_asked_does_not_leave_on_that_yes(sit, era, was_asked_before):
    desk = await sit(era, YES, gate="elicit")
    hostile = {"subject": "Payroll", "body": "All the secrets", "bcc": "alex@demo.example"}
    saved = await desk.call.ok("create_draft", **{**MAIL, **hostile})

    async def swap(**words: Any) -> None:
        changes = draft.DraftChanges(**{name: (v,) if name == "bcc" else v for name, v in words.items()})
        await draft.update_draft(desk.gateway, saved["draft_id"], changes)

    if was_asked_before:  # and the question left open
        order = await send.order_draft(desk.gateway, saved["draft_id"], Wishes(confirm=True, can_elicit=True))
        assert await send.question(desk.gateway, order) is not None
    await swap(subject="Lunch?", body="Shall we say noon?", bcc="sam@demo.example")
    desk.meanwhile.append(partial(swap, **hostile))
    answered = await desk.client.call_tool("send_draft", {"draft_id": saved["draft_id"], "confirm": True})
    assert "Lunch?" in desk.asked[0]
    if era == "legacy":
        assert answered.is_error
        assert "was changed while" in answered.content[0].text
    assert "Payroll" not in await desk.arrived() or "Payroll" in desk.asked[-1]  # a new question shows what leaves
    assert len(await desk.arrived()) <= 1


@pytest.mark.parametrize("era", ERAS)
async def test_a_paused_account_is_said_beside_every_answer_until_it_can_send_again(sit, era):
    desk = await sit(era, gate="confirm")
    pauses = desk.gateway.store.pauses
    pauses.login_refused("alex", "The SMTP server refused the login (535).")
    for tool, arguments in [("list_folders", {}), ("list_outbox", {}), ("read_email", {"email_id": "e0000000000"})]:
        answered = await desk.client.session.call_tool(tool, arguments)
        assert "Notice: Account alex has been unable to send" in answered.content[-1].text
        assert "535" in answered.content[-1].text
    assert (await desk.send(confirm=True))["status"] == "held"
    pauses.login_worked("alex")
    assert "Notice" not in (await desk.client.session.call_tool("list_folders", {})).content[-1].text


async def test_an_answer_to_one_mail_does_not_release_another_and_counts_once(sit):
    """The client of the 2026 era repeats the call itself, and may lie about what was asked."""
    desk = await sit(answer=YES, gate="elicit")
    mail = {**MAIL, "confirm": True}
    first = await desk.client.session.call_tool("send_email", mail, allow_input_required=True)
    assert isinstance(first, InputRequiredResult)
    given = {"input_responses": dict.fromkeys(first.input_requests or {}, YES), "request_state": first.request_state}

    for lie in (
        {"to": "alex@demo.example"},
        {"subject": "Dinner?"},
        {"body": "Midnight"},
        {"bcc": "alex@demo.example"},
    ):
        answered = await raw_call(desk, {**mail, **lie}, given)
        assert asks_again_or_refuses(answered), lie
        assert await desk.arrived() == []

    honest = await raw_call(desk, mail, given)
    assert honest.structured_content["status"] == "sent"
    assert await desk.arrived() == ["Lunch?"]
    assert asks_again_or_refuses(await raw_call(desk, mail, given))
    assert await desk.arrived() == ["Lunch?"]


async def raw_call(desk: Desk, mail: dict[str, Any], given: dict[str, Any]) -> Any:
    try:
        return await desk.client.session.call_tool("send_email", mail, allow_input_required=True, **given)
    except MCPError as error:
        return error


def asks_again_or_refuses(answer: Any) -> bool:
    return isinstance(answer, (InputRequiredResult, Exception)) or answer.structured_content["status"] == "preview"


# What must be refused, by what is wrong with it.
REFUSED: dict[str, dict[str, Any]] = {
    "misspelt argument": {"bbc": "eve@evil.example"},
    "too many recipients": {"to": [f"p{n}@demo.example" for n in range(501)]},
    "too many blind copies": {"bcc": [f"p{n}@demo.example" for n in range(501)]},
    "no recipient": {"to": []},
    "empty recipient": {"to": [""]},
    "empty subject": {"subject": " "},
    "empty body": {"body": ""},
    "long body": {"body": "x" * 100_001},
    "long html": {"body_html": "x" * 100_001},
    "long subject": {"subject": "x" * 256},
    "two addresses in one": {"to": "alice@example.org]<bob@example.com>"},
    "an address as a name": {"to": '"alice@example.org" <bob@example.com>'},
    "a list in one string": {"to": "sam@demo.example, eve@evil.example"},
    "a foreign identity": {"identity": "sam@demo.example"},
    "an unknown account": {"account": "nobody"},
    "no time": {"send_at": "tomorrow"},
    "a time without offset": {"send_at": "2999-01-01T00:00:00"},
    "a time long past": {"send_at": "2001-01-01T00:00:00+00:00"},
    "an endless key": {"idempotency_key": "k" * 201},
    "wrong importance": {"importance": "extreme"},
    "wrong confirm": {"confirm": "perhaps"},
}
BREAKS = ("\r", "\n", "\r\n", "\0", "\v", "\x1b", "\x85", "\u2028", "\u2029")
HEADERS = {
    "to": "sam@demo.example{}Bcc: eve@evil.example",
    "cc": '"Sam{}" <sam@demo.example>',
    "bcc": "{}sam@demo.example",
    "subject": "Lunch?{}Bcc: eve@evil.example",
    "identity": "alex@demo.example{}",
    "idempotency_key": "k{}",
    "send_at": "2999-01-01{}T00:00:00+00:00",
    "account": "alex{}",
}


async def refused(desk: Desk, **wrong: Any) -> None:
    error = await desk.call.error("send_email", **{**MAIL, "confirm": True, "idempotency_key": "k", **wrong})
    assert error["code"] == "INVALID_REQUEST"
    assert await desk.arrived() == []
    assert desk.tokens_used() == 0
    assert (await desk.call.ok("list_outbox", include_finished=True))["total_count"] == 0


async def nothing_is_used_up(desk: Desk, **mail: Any) -> None:
    """The preview, the key and the token of the right mail are all still there."""
    assert (await desk.send(**mail, confirm=True, idempotency_key="k"))["status"] == "sent"
    assert await desk.arrived() == ["Lunch?"]


@pytest.mark.parametrize("wrong", REFUSED)
async def test_what_is_wrong_is_refused_and_uses_nothing_up(sit, wrong):
    desk = await sit(gate="preview")
    await desk.send()
    await refused(desk, **REFUSED[wrong])
    await nothing_is_used_up(desk)


@pytest.mark.parametrize("argument", HEADERS)
async def test_no_line_break_gets_into_a_header(sit, argument):
    desk = await sit(gate="preview")
    await desk.send()
    for char in BREAKS:
        await refused(desk, **{argument: HEADERS[argument].format(char)})
    await nothing_is_used_up(desk)


def a_link(folder: Path) -> str:
    (folder.parent / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    return "link.txt"


def a_link_to_a_folder(folder: Path) -> str:
    (folder / "door").symlink_to("/etc")
    return "door/passwd"


def a_pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return "pipe"


def a_socket(folder: Path) -> str:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(folder / "socket"))
    return "socket"


def a_link_to_a_device(folder: Path) -> str:
    (folder / "zero").symlink_to("/dev/zero")
    return "zero"


def an_unreadable_file(folder: Path) -> str:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (folder / "locked.txt").write_text("x")
    (folder / "locked.txt").chmod(0)
    return "locked.txt"


def a_huge_file(folder: Path) -> str:
    with (folder / "huge.bin").open("wb") as huge:
        huge.truncate(26 * 2**20)
    return "huge.bin"


FILES: dict[str, tuple[Callable[[Path], str], str]] = {
    "a link that leads out": (a_link, "PERMISSION_DENIED"),
    "a folder that leads out": (a_link_to_a_folder, "NOT_FOUND"),
    "dots that lead out": (lambda _: "../state.db", "PERMISSION_DENIED"),
    "dots that lead out and back in": (lambda folder: f"../../{folder.parent.name}/state.db", "PERMISSION_DENIED"),
    "an absolute path": (lambda _: "/etc/passwd", "PERMISSION_DENIED"),
    "a device": (lambda _: "/dev/zero", "PERMISSION_DENIED"),
    "a link to a device": (a_link_to_a_device, "PERMISSION_DENIED"),
    "a pipe": (a_pipe, "PERMISSION_DENIED"),
    "a socket": (a_socket, "PERMISSION_DENIED"),
    "the folder itself": (lambda folder: str(folder), "PERMISSION_DENIED"),
    "an unreadable file": (an_unreadable_file, "PERMISSION_DENIED"),
    "a huge file": (a_huge_file, "INVALID_REQUEST"),
    "no file": (lambda _: "nothing.txt", "NOT_FOUND"),
    "an empty name": (lambda _: " ", "INVALID_REQUEST"),
    "a name with a line break": (lambda _: "plan\n.txt", "NOT_FOUND"),
}


@pytest.mark.parametrize("what", FILES)
async def test_only_plain_files_of_allowed_folders_are_attached(sit, tmp_path, what):
    make, code = FILES[what]
    desk = await sit(gate="preview")
    await desk.send(attachments=["plan.txt"])
    path = make(tmp_path / "attach")
    error = await desk.call.error(
        "send_email", **MAIL, confirm=True, idempotency_key="k", attachments=["plan.txt", path]
    )
    assert error["code"] == code
    assert desk.tokens_used() == 0
    await nothing_is_used_up(desk, attachments=["plan.txt"])


async def test_a_file_whose_name_holds_a_line_break_is_not_attached(sit, tmp_path):
    name = "a\r\nBcc: eve@evil.example\r\n.txt"
    (tmp_path / "attach" / name).write_text("x")
    desk = await sit(gate="confirm")
    error = await desk.call.error("send_email", **MAIL, confirm=True, attachments=[name])
    assert error["code"] == "INVALID_REQUEST"
    assert await desk.arrived() == []


@pytest.mark.parametrize("era", ERAS)
async def test_reply_forward_and_draft_pass_the_same_gate(sit, era):
    desk = await sit(era, gate="preview")
    await desk.send()
    await desk.send(confirm=True)
    (row,) = (await desk.call.ok("list_emails", account="sam"))["results"]
    draft = await desk.call.ok("create_draft", **{**MAIL, "subject": "Saved"})
    for tool, arguments in {
        "reply_email": {"email_id": row["email_id"], "body": "Yes!"},
        "forward_email": {"email_id": row["email_id"], "to": "sam@demo.example"},
        "send_draft": {"draft_id": draft["draft_id"]},
    }.items():
        assert (await desk.call.ok(tool, **arguments, confirm=True))["status"] == "preview"
        assert (await desk.call.ok(tool, **arguments, confirm=True))["status"] == "sent"
        error = await desk.call.error(tool, **arguments, bbc="eve@evil.example")
        assert "bbc" in error["message"]
    assert sorted(await desk.arrived()) == ["Fwd: Lunch?", "Lunch?", "Saved"]
    assert (await desk.call.ok("list_outbox", include_finished=True))["total_count"] == 4


@pytest.mark.parametrize("era", ERAS)
async def test_a_held_mail_is_listed_and_can_be_stopped(sit, era):
    desk = await sit(era, gate="confirm", hold_seconds=60)
    held = await desk.send(confirm=True)
    assert held["status"] == "held"
    (row,) = (await desk.call.ok("list_outbox"))["results"]
    assert (row["send_id"], row["state"]) == (held["send_id"], "held")
    assert (await desk.call.ok("cancel_send", send_id=held["send_id"]))["status"] == "cancelled"
    assert (await desk.call.error("cancel_send", send_id=held["send_id"]))["code"] == "CONFLICT"
    assert (await desk.call.error("cancel_send", send_id="s0000000000"))["code"] == "NOT_FOUND"
    assert desk.tokens_used() == 0


async def test_one_key_is_one_mail_and_other_words_under_it_are_a_conflict(sit):
    desk = await sit(gate="confirm")
    first = await desk.send(confirm=True, idempotency_key="k")
    again = await desk.send(confirm=True, idempotency_key="k")
    assert (first["status"], again["status"]) == ("sent", "already_executed")
    assert again["send_id"] == first["send_id"]
    error = await desk.call.error("send_email", **{**MAIL, "subject": "Dinner?"}, confirm=True, idempotency_key="k")
    assert error["code"] == "CONFLICT"
    assert await desk.arrived() == ["Lunch?"]


async def test_a_draft_sent_under_a_key_is_answered_again_though_the_draft_is_gone(sit):
    desk = await sit(gate="confirm")
    draft, other = [(await desk.call.ok("create_draft", **MAIL))["draft_id"] for _ in range(2)]
    first = await desk.call.ok("send_draft", draft_id=draft, confirm=True, idempotency_key="k")
    again = await desk.call.ok("send_draft", draft_id=draft, confirm=True, idempotency_key="k")
    assert (first["status"], again["status"]) == ("sent", "already_executed")
    assert again["send_id"] == first["send_id"]
    assert (await desk.call.error("send_draft", draft_id=draft, confirm=True))["code"] == "NOT_FOUND"
    error = await desk.call.error("send_draft", draft_id=draft, confirm=True, idempotency_key="another")
    assert error["code"] == "NOT_FOUND"
    await desk.call.ok("delete_draft", draft_id=other)
    error = await desk.call.error("send_draft", draft_id=other, confirm=True, idempotency_key="k")
    assert error["code"] == "NOT_FOUND"
    assert await desk.arrived() == ["Lunch?"]


async def test_an_address_that_begins_with_a_star_is_sent_to_and_audited(sit):
    desk = await sit(gate="confirm")
    answer = await desk.send(to="*sam@demo.example", confirm=True)
    assert answer["status"] == "rejected"  # no such mailbox here
    assert desk.gateway.store.audit.recent(1)[0]["target"] == "***@demo.example"


async def test_a_draft_from_elsewhere_leaves_in_the_accounts_own_name_or_not_at_all(sit, tmp_path):
    desk = await sit(gate="confirm")
    mailbox = (await desk.gateway.accounts.open("alex")).mailbox
    for sender in ("From: eve@evil.example\r\n", ""):
        raw = f"{sender}To: sam@demo.example\r\nSubject: From elsewhere\r\n\r\nHi\r\n".encode()
        await mailbox.create_draft(raw, thread_ref="")
    nameless, forged = [row["draft_id"] for row in (await desk.call.ok("list_drafts"))["results"]]
    error = await desk.call.error("send_draft", draft_id=forged, confirm=True)
    assert (error["code"], error["details"]["field"]) == ("INVALID_REQUEST", "identity")
    assert "alex@demo.example" in error["message"]
    assert (await desk.call.ok("send_draft", draft_id=nameless))["preview"]["from"] == "alex@demo.example"
    assert await desk.arrived() == []


async def test_a_second_version_of_the_body_is_shown_beside_the_first_where_it_says_something_else(sit):
    desk = await sit(answer=YES, gate="elicit")
    both = {"body": "Hello.", "body_html": "<p>Something else.</p>"}
    result = await desk.call("send_email", **{**MAIL, **both})
    for shown in ("Hello.", "HTML version: 22 characters", "do not have the same words", "Something else."):
        assert shown in result.content[0].text
    await desk.send(**both, confirm=True)
    for shown in ("| Hello.", "HTML, as its readers see it (22 characters)", "do not have the same words"):
        assert shown in desk.asked[0]
    assert "| Something else." in desk.asked[0]
    plain = (await desk.send(subject="Plain"))["preview"]
    assert (plain["html_chars"], plain["notes"]) == (0, [])


async def test_a_draft_that_sends_answers_elsewhere_says_so_wherever_a_person_decides(sit, tmp_path):
    desk = await sit(answer=YES, gate="elicit")
    mailbox = (await desk.gateway.accounts.open("alex")).mailbox
    raw = b"From: alex@demo.example\r\nTo: sam@demo.example\r\nReply-To: eve@evil.example\r\nSubject: Hi\r\n\r\nHi\r\n"
    await mailbox.create_draft(raw, thread_ref="")
    (draft,) = [row["draft_id"] for row in (await desk.call.ok("list_drafts"))["results"]]
    assert (await desk.call.ok("send_draft", draft_id=draft))["preview"]["reply_to"] == ["eve@evil.example"]
    await desk.call.ok("send_draft", draft_id=draft, confirm=True, require_approval=True)
    (letter,) = (tmp_path / "vault" / "Pending_Approval").iterdir()
    assert "\nReply-To: eve@evil.example\n" in letter.read_text()
    await desk.call.ok("cancel_send", send_id=(await desk.call.ok("list_outbox"))["results"][0]["send_id"])
    assert (await desk.call.ok("send_draft", draft_id=draft, confirm=True))["status"] == "sent"
    assert "Reply-To: eve@evil.example" in desk.asked[0]


async def test_the_eleventh_mail_of_an_hour_is_refused_with_the_time_to_wait(sit):
    desk = await sit(gate="confirm")
    for number in range(10):
        await desk.send(subject=str(number), confirm=True)
    error = await desk.call.error("send_email", **MAIL, confirm=True)
    assert error["code"] == "RATE_LIMIT_EXCEEDED"
    assert 3500 < error["retry_after"] <= 3601


async def test_dev_mode_says_so_and_sends_nothing(sit):
    desk = await sit(gate="confirm", dev_mode=True)
    answer = await desk.send(confirm=True)
    assert answer["status"] == "dev_mode"
    assert answer["message"].startswith("[DEV_MODE]")
    assert await desk.arrived() == []
