"""The default dialect on a REST mail API: what the API lacks is refused by name or done without."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.contract.mails import mail
from tests.flows.caller import Caller, text_of
from tests.peers.rest import RestPeer
from tests.peers.rest.service import PASSWORD

from postroom.doors.mcp.serve import server_for
from postroom.service.accounts import mirrors
from postroom.settings import build
from postroom.wiring import open_gateway

ME, YOU = "me@demo.example", "you@demo.example"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestPeer]:
    with RestPeer(tmp_path_factory.mktemp("rest")).run() as peer:
        for address in (ME, YOU):
            peer.add_user(address)
        yield peer


@pytest.fixture
async def call(api: RestPeer, tmp_path: Path) -> AsyncIterator[Caller]:
    account = {"name": "mine", "provider": "rest", "address": ME, "base_url": api.url, "password": PASSWORD}
    settings = build({"accounts": [account], "safety": {"gate": "confirm"}}, home=tmp_path)
    async with Client(server_for(settings)) as client:
        yield Caller(client)


def arrived(api: RestPeer, subject: bytes) -> bytes:
    with api.lock:
        (raw,) = [raw for raw in api.users[YOU].store.raw_mails("INBOX") if b"Subject: " + subject in raw]
    return raw


async def test_a_reply_is_sent_with_a_warning_and_its_original_is_marked(api: RestPeer, call: Caller) -> None:
    ref = api.users[ME].store.add(mail("asked", sender=f"You <{YOU}>", subject="Ladder?", text="How long?"))
    email_id = await call.email_id("subject:ladder in:inbox")
    sent = await call.ok("reply_email", email_id=email_id, body="Long.", confirm=True)
    assert sent["status"] == "sent"
    assert any("cannot mark a message as a reply" in warning for warning in sent["warnings"])
    assert b"Long." in arrived(api, b"Re: Ladder?")
    (row,) = [row for row in api.users[ME].store.page("INBOX", limit=50) if row["id"] == ref]
    assert "\\Answered" in row["flags"]


async def test_a_forward_quotes_the_text_and_takes_the_attachments_along(api: RestPeer, call: Caller) -> None:
    api.users[ME].store.add(mail("plan", subject="Blueprint", text="Here it is.", files=[("plan.pdf", b"%PDF-1")]))
    email_id = await call.email_id("subject:blueprint in:inbox")
    await call.ok("forward_email", email_id=email_id, to=YOU, comment="FYI", confirm=True)
    raw = arrived(api, b"Fwd: Blueprint")
    assert b"Here it is." in raw
    assert b'filename="plan.pdf"' in raw


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("create_draft", {"to": YOU, "subject": "x", "body": "y"}), ("list_drafts", {}),
     ("apply_label", {"email_id": "ID", "label": "todo"}), ("read_email", {"email_id": "ID", "body_format": "raw"})],
)  # fmt: skip
async def test_what_the_api_does_not_have_is_refused_by_name(
    api: RestPeer, call: Caller, tool: str, arguments: dict[str, Any]
) -> None:
    api.users[ME].store.add(mail(f"for-{tool}", subject=f"Topic{tool}"))
    email_id = await call.email_id(f"subject:Topic{tool}")
    given = {name: email_id if value == "ID" else value for name, value in arguments.items()}
    result = await call(tool, **given)
    shown = str(result.structured_content)
    assert "does not support" in shown
    assert "rest" in shown


async def test_a_folder_is_made_filled_and_undone(api: RestPeer, call: Caller) -> None:
    api.users[ME].store.add(mail("filed", subject="Filed away"))
    email_id = await call.email_id("subject:filed in:inbox")
    made = await call.ok("create_folder", name="Projects/Été 🎉")
    moved = await call.ok("move_email", email_id=email_id, to_mailbox="Projects/Été 🎉")
    assert (await call.ok("list_emails", mailbox="Projects/Été 🎉"))["results"][0]["email_id"] == email_id
    await call.ok("undo", operation_id=moved["operation_id"])
    await call.ok("undo", operation_id=made["operation_id"])
    names = [folder["name"] for folder in (await call.ok("list_folders"))["folders"]]
    assert "Projects/Été 🎉" not in names
    assert (await call.ok("search_emails", query="subject:filed"))["results"][0]["mailbox"] == "INBOX"


async def test_a_thread_is_put_together_from_the_ids_that_its_messages_name(api: RestPeer, call: Caller) -> None:
    store = api.users[ME].store
    store.add(mail("root", subject="Roof repair", days_ago=3))
    store.add(
        mail("mine", subject="Re: Roof repair", sender=ME, to=YOU, days_ago=2, answers=["root"]), "Sent", ("read",)
    )
    (row,) = (await call.ok("search_emails", query="subject:roof in:inbox"))["results"]
    thread = await call.ok("get_thread", thread_id=row["thread_id"])
    assert thread["total_count"] == 2


@pytest.mark.parametrize("others", [0, 2])
async def test_a_message_that_is_refused_keeps_none_of_its_thread_back_and_is_named(
    api: RestPeer, call: Caller, others: int
) -> None:
    name = f"Shed{others}"
    raws = [mail(f"{name}0", subject=name), mail(f"{name}r", subject=f"Re: {name}", answers=[f"{name}0"])]
    raws += [mail(f"{name}{n}", subject=f"Re: {name}", answers=[f"{name}0"]) for n in range(1, others + 1)]
    refs = [api.users[ME].store.add(raw) for raw in raws]
    email_id = await call.email_id(f"subject:{name} -subject:re in:inbox")
    api.fail_next("GET", f"/api/message/{refs[1]}", status=403, times=1000)
    thread = await call.ok("get_thread", thread_id=email_id)
    api.forget_faults()
    assert len(thread["emails"]) == 2 + others
    named = [one for one in thread["emails"] if any("does not return" in text for text in one["warnings"])]
    assert [one["untrusted"]["body"] for one in named] == [""]


RULE = """version: 1
name: tidy
conditions:
- {field: from, operator: contains, value: boss}
- {%s}
actions:
- {type: archive}
"""


@pytest.mark.parametrize(
    "condition",
    [
        "field: has_attachment, operator: equals, value: false",
        "field: cc, operator: contains, value: eve, not: true",
    ],
)
@pytest.mark.parametrize("mirror", ["off", "full"])
async def test_a_rule_leaves_out_what_is_not_given_out_and_says_so(
    api: RestPeer, tmp_path: Path, condition: str, mirror: str
) -> None:
    me = f"{condition[7:9]}.{mirror}@demo.example"
    boxes = api.add_user(me).store
    refused = [
        boxes.add(mail(f"n{number}", sender="Boss <boss@demo.example>", files=[("n.pdf", b"%PDF-1")]))
        for number in range(8)
    ]
    boxes.add(mail("plain", sender="Boss <boss@demo.example>", subject="Plain"))
    account = {"name": "mine", "provider": "rest", "address": me, "base_url": api.url, "password": PASSWORD}
    account["mirror"] = mirror
    settings = build({"accounts": [account], "server": {"toolsets": ["read", "organise", "rules"]}}, home=tmp_path)
    for ref in refused:
        api.fail_next("GET", f"/api/message/{ref}", status=403, times=1000)
    if mirror == "full":
        async with open_gateway(settings) as gateway:
            await mirrors.sync(gateway, settings.accounts)
    async with Client(server_for(settings)) as client:
        call = Caller(client)
        plan = await call.ok("create_rule", rule_yaml=RULE % condition)
        said = text_of(await call("create_rule", rule_yaml=RULE % condition))
    api.forget_faults()
    assert [row["subject"] for row in plan["plan"]["results"]] == ["Plain"]
    assert "does not return 8 of the candidates" in said
