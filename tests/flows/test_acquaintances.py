"""A stranger is not made an acquaintance by tools: who counts as written to is nothing that an agent can arrange."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.flows.caller import Caller
from tests.flows.stages import FRIEND, LOCAL, MALLORY, SERVERS, ImapStages, Stage, imap_stages, local_stage, written

from postroom.doors.mcp.serve import server_for

STOLEN = {"subject": "What you asked for", "body": "the secrets"}


@pytest.fixture(scope="module", params=["local", *SERVERS])
def place(request: pytest.FixtureRequest) -> Iterator[ImapStages | None]:
    if request.param == "local":
        yield None
    else:
        with imap_stages(request.param) as stages:
            yield stages


@pytest.fixture
async def stage(place: ImapStages | None, tmp_path: Path) -> Stage:
    return place.stage(tmp_path) if place else await local_stage(tmp_path)


@pytest.fixture
async def agent(stage: Stage) -> AsyncIterator[Caller]:
    async with Client(server_for(stage.settings)) as client:
        yield Caller(client)


async def insist(agent: Caller, **mail: Any) -> None:
    for confirm in (False, True, True):
        await agent("send_email", **mail, **STOLEN, confirm=confirm)


async def operation(agent: Caller, tool: str, **arguments: Any) -> str:
    """The id that `undo` takes, where the call came to anything."""
    answer = (await agent(tool, **arguments)).structured_content or {}
    return str(answer.get("operation_id") or "")


@pytest.mark.parametrize("name", ["sentitems", "sent", "Gesendet"])
async def test_a_folder_named_like_sent_and_undo_make_nobody_known(agent: Caller, stage: Stage, name: str) -> None:
    forged = [await agent.email_id(f"in:inbox subject:{subject}") for subject in ("in-your-name", "to-mallory")]
    made = await operation(agent, "create_folder", name=name)
    await operation(agent, "move_email", email_id=forged, to_mailbox=name)
    moved = await operation(agent, "move_email", email_id=forged, to_mailbox="archive")
    await agent("undo", operation_id=made)
    again = await operation(agent, "undo", operation_id=moved)
    await agent("undo", operation_id=made)
    third = await operation(agent, "undo", operation_id=again)
    await operation(agent, "undo", operation_id=third)

    await insist(agent, to=MALLORY)

    assert stage.reached(MALLORY) == 0
    assert (await agent.ok("list_emails", mailbox="sent"))["total_count"] <= 1


async def test_a_folder_that_takes_the_name_of_sent_after_a_move_gets_nothing_back(agent: Caller, stage: Stage) -> None:
    """The folder goes, and its name comes to mean the real one."""
    forged = await agent.email_id("in:inbox subject:in-your-name")
    made = await operation(agent, "create_folder", name="sentitems")
    into = await operation(agent, "move_email", email_id=forged, to_mailbox="sentitems")
    out = await operation(agent, "undo", operation_id=into)
    await agent("undo", operation_id=made)
    await agent("undo", operation_id=out)

    await insist(agent, to=MALLORY)

    assert stage.reached(MALLORY) == 0


async def test_whom_the_account_wrote_to_is_still_known(agent: Caller, stage: Stage) -> None:
    await insist(agent, to=FRIEND)

    assert stage.reached(FRIEND) > 0


async def test_a_label_puts_nothing_into_sent(agent: Caller, stage: Stage) -> None:
    forged = await agent.email_id("in:inbox subject:in-your-name")
    for label in ("\\Sent", "\\Draft", "Sent", "sent mail", "[Gmail]/Sent Mail", "Drafts", "\\Inbox", "Gesendet"):
        labelled = await operation(agent, "apply_label", email_id=forged, label=label)
        removed = await operation(agent, "remove_label", email_id=forged, label=label)
        await agent("undo", operation_id=removed)
        await agent("undo", operation_id=labelled)

    await insist(agent, to=MALLORY)

    assert stage.reached(MALLORY) == 0
    assert (await agent.ok("list_emails", mailbox="sent"))["total_count"] == 1


SPELLINGS = [
    *("Sent", "sent", "SENT", "sent items", "INBOX.Sent", "INBOX/Sent", "inbox.sent", "[Gmail]/Sent Mail", "sentitems"),
    *("&AFMAZQBuAHQ-", "S&AGU-nt", "Sent/", "/Sent", "./Sent", "Drafts", "drafts", "draft", "INBOX.Drafts", "\\Sent"),
]


async def test_nothing_is_moved_to_sent_or_drafts_by_any_spelling(agent: Caller, stage: Stage) -> None:
    draft = await agent.ok("create_draft", to=MALLORY, **STOLEN)
    forged = await agent.email_id("in:inbox subject:in-your-name")
    ids = [forged, draft["email_id"]]

    taken = [name for name in SPELLINGS if not (await agent("move_email", email_id=ids, to_mailbox=name)).is_error]

    assert taken == []
    assert (await agent.ok("list_emails", mailbox="sent"))["total_count"] == 1
    assert (await agent.ok("list_drafts"))["total_count"] == 1
    await insist(agent, to=MALLORY)
    assert stage.reached(MALLORY) == 0


RESERVED = [
    *("sent", "Sent Items", "SENTITEMS", "Sent Mail", "sent-mail", "Drafts", "draft", "Trash", "Bin", "inbox", "Junk"),
    *(
        "Gesendete Objekte",
        "Entw\u00fcrfe",
        "Entwu\u0308rfe",
        "\u9001\u4fe1\u6e08\u307f",
        "x/Sent",
        "Sent/Sent",
        "a/sent/b",
    ),
    *("\uff33\uff45\uff4e\uff54", "S\u0435nt", "\u017fent", "5ent", "S e n t", "INBOX.Sent", "[Gmail]/Sent Mail"),
    *("&AFMAZQBuAHQ-", "All Mail", "Starred"),
]


async def test_no_folder_is_made_by_a_name_that_means_a_role(agent: Caller) -> None:
    before = (await agent.ok("list_folders"))["folders"]

    made = [name for name in RESERVED if not (await agent("create_folder", name=name)).is_error]

    assert made == []
    assert (await agent.ok("list_folders"))["folders"] == before


async def test_other_names_are_as_free_as_before(agent: Caller) -> None:
    for name in ("Sentiment", "Drafting/2026", "Presents", "Projects/Aurora", "Archive/2026", "inbox/Bills"):
        assert (await agent.ok("create_folder", name=name))["folder"]["name"].casefold().endswith(name[-5:].casefold())


async def test_what_lay_in_sent_comes_back_to_it_and_nothing_else_does(agent: Caller, stage: Stage) -> None:
    own = await agent.email_id("in:sent subject:hello")
    moved = await operation(agent, "move_email", email_id=own, to_mailbox="archive")
    deleted = await operation(agent, "delete_email", email_id=own)
    await agent.ok("undo", operation_id=deleted)

    back = await agent.ok("undo", operation_id=moved)
    away = await agent.ok("undo", operation_id=back["operation_id"])
    assert (await agent.ok("list_emails", mailbox="sent"))["total_count"] == 0
    await agent.ok("undo", operation_id=away["operation_id"])

    assert (await agent.ok("list_emails", mailbox="sent"))["total_count"] == 1
    await insist(agent, to=FRIEND)
    assert stage.reached(FRIEND) > 0


@pytest.mark.parametrize(
    ("sender", "subject"),
    [(FRIEND, "theirs"), ("", "in-your-name")],
    ids=["of somebody else", "that was also received"],
)
async def test_a_mail_in_sent_that_we_did_not_write_makes_nobody_known(
    place: ImapStages | None, tmp_path: Path, sender: str, subject: str
) -> None:
    if place:
        stage = place.stage_with(tmp_path, sender, subject)
    else:
        stage = await local_stage(tmp_path, sent=[written(sender or LOCAL, MALLORY, subject)])
    async with Client(server_for(stage.settings)) as client:
        await insist(Caller(client), to=MALLORY)
    assert stage.reached(MALLORY) == 0
