"""An everyday story, step by step. A dialect goes through those whose verbs it has, in this order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from .adapter import Refused
from .desk import INVOICE, LADDER, QUESTION

DRAFT = {"subject": "Plan for Monday", "body": "Bring the ladder."}


@dataclass(frozen=True)
class Step:
    """`verb` is what an adapter must have for it, `needs` what the provider must have; without, it is refused."""

    run: Callable[[Any], Awaitable[None]]
    verb: str
    shown: str
    needs: str = ""


async def lists(dialect: Any) -> None:
    found = await dialect.list()
    assert set(found) == {LADDER, INVOICE}
    dialect.desk.ids.update(found)


async def searches(dialect: Any) -> None:
    """What is found has the id that the list shows."""
    found = await dialect.search("ladder")
    assert set(found) == {LADDER}
    assert dialect.desk.ids.setdefault(LADDER, found[LADDER]) == found[LADDER]


async def reads(dialect: Any) -> None:
    assert QUESTION in await dialect.read(dialect.desk.ids[LADDER])
    assert (await dialect.desk.within("inbox"))[LADDER].unread


async def reads_original(dialect: Any) -> None:
    assert "Message-ID: <ladder@seed.example>" in await dialect.read_original(dialect.desk.ids[LADDER])


async def does_not_know(dialect: Any) -> None:
    """An id that was never shown opens nothing and answers nothing, even with the person's yes."""
    calls = {"read": (), "reply": ("Fine.",)}
    for verb, content in calls.items():
        if hasattr(dialect, verb):
            if verb == "reply":
                dialect.approve(verb, dialect.unknown_id)
            with pytest.raises(Refused, match=dialect.unknown):
                await getattr(dialect, verb)(dialect.unknown_id, *content)
    if hasattr(dialect, "list"):
        with pytest.raises(Refused, match=dialect.no_folder):
            await dialect.list("Nowhere")
    assert await dialect.desk.arrived() == []


async def drafts(dialect: Any) -> None:
    dialect.desk.ids["draft"] = await dialect.draft(dialect.desk.you, **DRAFT)
    assert set(await dialect.desk.within("drafts")) == {DRAFT["subject"]}


async def drafts_reply(dialect: Any) -> None:
    await dialect.draft_reply(dialect.desk.ids[LADDER], "Four metres.")
    assert set(await dialect.desk.within("drafts")) == {DRAFT["subject"], f"Re: {LADDER}"}


async def updates_draft(dialect: Any) -> None:
    await dialect.update_draft(
        dialect.desk.ids.get("draft", dialect.desk.ids[LADDER]), dialect.desk.you, "Tuesday", "Later."
    )
    assert set(await dialect.desk.within("drafts")) == {"Tuesday", f"Re: {LADDER}"}
    assert await dialect.desk.arrived() == []


async def replies(dialect: Any) -> None:
    message = await _leaves_once(dialect, "reply", dialect.desk.ids[LADDER], "It is four metres long.")
    assert message["Subject"].casefold() == f"re: {LADDER}".casefold()
    if dialect.desk.account.capabilities.has_threading:
        assert "<ladder@seed.example>" in message["In-Reply-To"]
    assert (await dialect.desk.within("inbox"))[LADDER].answered


async def sends(dialect: Any) -> None:
    message = await _leaves_once(dialect, "send", dialect.desk.you, "Shopping", "Nails and a hammer.")
    assert message["Subject"] == "Shopping"
    assert "Shopping" in await dialect.desk.within("sent")


async def sends_to_nobody(dialect: Any) -> None:
    """Where the provider itself refuses a recipient, the caller hears that nothing was sent."""
    nobody, before = dialect.desk.account.refused_address, len(await dialect.desk.arrived())
    if nobody:
        dialect.approve("send", nobody)
        with pytest.raises(Refused, match=r"nothing was sent|nichts gesendet"):
            await dialect.send(nobody, "Anybody there?", "Hello?")
    assert len(await dialect.desk.arrived()) == before


async def forwards(dialect: Any) -> None:
    message = await _leaves_once(dialect, "forward", dialect.desk.ids[INVOICE], dialect.desk.you, "Is this one yours?")
    assert INVOICE in message["Subject"]


async def marks(dialect: Any) -> None:
    for flag, is_on in (("starred", True), ("unstarred", False)):
        await dialect.mark(dialect.desk.ids[INVOICE], flag)
        assert (await dialect.desk.within("inbox"))[INVOICE].starred is is_on


async def labels(dialect: Any) -> None:
    await dialect.label(dialect.desk.ids[INVOICE], "taxes")
    assert "taxes" in (await dialect.desk.within("inbox"))[INVOICE].labels


async def moves(dialect: Any) -> None:
    """The id that the move leaves opens the message where it is now, and the list there shows the same."""
    moved = await dialect.move(dialect.desk.ids[INVOICE], "Archive")
    assert INVOICE not in await dialect.desk.within("inbox")
    assert (await dialect.list("Archive"))[INVOICE] == moved
    assert "Please pay." in await dialect.read(moved)


async def deletes(dialect: Any) -> None:
    await dialect.delete(dialect.desk.ids[LADDER])
    assert LADDER not in await dialect.desk.within("inbox")
    assert LADDER in await dialect.desk.within("trash")


async def threads(dialect: Any) -> None:
    assert LADDER in await dialect.thread(dialect.desk.ids[LADDER])


async def plans(dialect: Any) -> None:
    """A plan changes nothing."""
    rule = (
        "version: 1\nname: roofs\nconditions:\n- {field: subject, operator: matches, value: 'Ladder*'}\n"
        "- {field: folder, operator: equals, value: inbox}\nactions:\n- {type: star}\n"
    )
    assert await dialect.plan(rule) == [LADDER]
    assert not (await dialect.desk.within("inbox"))[LADDER].starred


async def knows_itself(dialect: Any) -> None:
    """What a provider says of itself is what its account can do."""
    able, told = dialect.desk.account.capabilities, await dialect.capabilities()
    names = {"graph": "outlook", "jmap": "fastmail"}
    assert told["provider"] == names.get(able.provider, able.provider)
    assert told["has_threading"] == able.has_threading
    assert told["has_server_side_rules"] == able.has_server_side_rules
    assert told["max_attachment_size_mb"] == min(able.max_attachment_size_mb or 25, 25)
    assert told["rate_limits"] == {"requests_per_second": able.requests_per_second, "burst": able.burst}
    assert (await dialect.identities())[0].casefold() == dialect.desk.account.address.casefold()


async def makes_alias(dialect: Any) -> None:
    made = await dialect.alias("sales.team@demo.example")
    assert made in await dialect.identities()


async def _leaves_once(dialect: Any, verb: str, target: Any, *content: str) -> Any:
    """Nothing leaves before the person has said yes, and one message afterwards."""
    act, before = getattr(dialect, verb), len(await dialect.desk.arrived())
    dialect.desk.person.agrees = False
    with suppress(Refused):  # some dialects report it as a failed call, some as a preview
        await act(target, *content)
    assert len(await dialect.desk.arrived()) == before
    dialect.approve(verb, target)
    await act(target, *content)
    message = await dialect.desk.arrived_once(content[-1])
    assert len(await dialect.desk.arrived()) == before + 1
    return message


STEPS = (
    Step(lists, "list", "list"),
    Step(searches, "search", "search"),
    Step(reads, "read", "read"),
    Step(reads_original, "read_original", "read the original", "has_raw"),
    Step(threads, "thread", "open a thread"),
    Step(does_not_know, "unknown_id", ""),
    Step(drafts, "draft", "draft", "can_draft"),
    Step(drafts_reply, "draft_reply", "draft a reply", "can_draft"),
    Step(updates_draft, "update_draft", "update a draft", "can_draft"),
    Step(replies, "reply", "reply", "can_send"),
    Step(sends, "send", "send", "can_send"),
    Step(sends_to_nobody, "send", "", "can_send"),
    Step(forwards, "forward", "forward", "can_send"),
    Step(marks, "mark", "mark"),
    Step(labels, "label", "label", "can_label"),
    Step(moves, "move", "move"),
    Step(deletes, "delete", "delete"),
    Step(plans, "plan", "plan a rule"),
    Step(knows_itself, "capabilities", "identities and capabilities"),
    Step(makes_alias, "alias", "create an alias", "can_create_alias"),
)
