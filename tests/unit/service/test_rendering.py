"""What the event loop renders itself, and what a thread does in how many steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import anyio.to_thread
import pytest

from postroom.mime import guarded
from postroom.model.address import Address
from postroom.model.message import Body, Envelope, Message
from postroom.service.open_accounts import Account
from postroom.service.reading import rendering
from postroom.service.reading.rendering import Answer, Reading, render_one, render_thread

LETTER = Message(
    Envelope("1", "t", "INBOX", Address("ann@x.example", "Ann"), message_id="<1@x>"), Body(text="Dear Bob,\n\nsee you.")
)
REPLY = replace(LETTER.envelope, ref="2", message_id="<2@x>", in_reply_to="<1@x>")
EARLY, LATER = datetime(2026, 11, 2, tzinfo=UTC), datetime(2026, 11, 3, tzinfo=UTC)
QUOTE = "Yes.\n\nOn Monday Ann wrote:\n> Shall we all meet again tomorrow\n> at noon, or rather in the evening?\n"


class Readers:
    """A gateway that counts what is handed to its threads."""

    def __init__(self) -> None:
        self.steps = 0

    async def read(self, call: Callable[..., Any], *args: Any) -> Any:
        self.steps += 1
        return await anyio.to_thread.run_sync(call, *args)


@pytest.fixture
def readers() -> Any:
    return Readers()


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each rendering, whether the event loop's thread did it."""
    own, seen, render = threading.get_ident(), [], guarded.render

    def watched(*args: Any, **kwargs: Any) -> Any:
        seen.append(threading.get_ident() == own)
        return render(*args, **kwargs)

    monkeypatch.setattr(guarded, "render", watched)
    return seen


def account(**verbs: Any) -> Any:
    nothing = cast("Any", None)
    return Account(nothing, cast("Any", SimpleNamespace(**verbs)), nothing, nothing)


def saying(text: str, html: str = "") -> Message:
    return replace(LETTER, body=Body(text=text, html=html))


async def test_a_small_plain_letter_is_rendered_by_the_event_loop(readers: Any, loops: list[bool]) -> None:
    assert (await render_one(readers, account(), LETTER, Reading())).text == "Dear Bob,\n\nsee you."
    assert loops == [True]


@pytest.mark.parametrize("text", ["Grüße aus Łódź – bis später…", "Привет, до завтра", "Für 20 €"])
async def test_so_is_one_in_another_european_language(readers: Any, loops: list[bool], text: str) -> None:
    assert (await render_one(readers, account(), saying(text), Reading())).text == text
    assert loops == [True]


@pytest.mark.parametrize(
    "message",
    [
        saying("a", "<p>a</p>"),
        saying("", "<p>a</p>"),
        saying("a" * 8_200),
        saying("ä" * 5_000),
        saying("a:\n" * 201),
        saying("\ufdfa"),
        replace(LETTER, envelope=replace(LETTER.envelope, sender=Address("a@x.example", "a" * 8_200))),
        replace(LETTER, envelope=replace(LETTER.envelope, to=(Address("a@x.example", "\u2057"),))),
    ],
    ids=["both versions", "html", "long", "long and not ASCII", "many lines", "other letters", "long name", "odd name"],
)
async def test_whatever_may_take_long_is_rendered_in_a_thread(
    readers: Any, loops: list[bool], message: Message
) -> None:
    await render_one(readers, account(), message, Reading())
    assert loops == [False]


async def test_a_letter_and_what_it_answers_count_together(readers: Any, loops: list[bool]) -> None:
    long = saying("b" * 8_100)

    async def found(_ids: list[str], *, near: str) -> list[Envelope]:
        return [replace(long.envelope, date=EARLY)]

    async def fetch(_ref: str) -> Message:
        return long

    reply = Message(replace(REPLY, date=LATER), Body(text=QUOTE))
    await render_one(readers, account(mails_with_ids=found, fetch=fetch), reply, Reading())
    assert loops == [True, False, False]  # without the thread, then what is answered, then the reply again


async def test_nobody_is_asked_what_a_message_answers_that_names_no_other(readers: Any) -> None:
    async def asked(*_: Any, **__: Any) -> list[Envelope]:
        raise AssertionError

    shown = await render_one(readers, account(mails_with_ids=asked), saying(QUOTE), Reading())
    assert shown.text == QUOTE.strip()


async def test_a_short_thread_needs_no_other_thread_and_folds_what_was_said(readers: Any, loops: list[bool]) -> None:
    said = saying("Shall we all meet again tomorrow at noon, or rather in the evening?")
    shown = await render_thread(readers, [Answer(said), Answer(Message(REPLY, Body(text=QUOTE)), said)], Reading())
    assert [one.text for one in shown] == [said.body.text, "Yes."]
    assert loops == [True, True]


async def test_a_long_thread_takes_a_step_for_each_part_that_is_as_long_as_one_message_may_be(readers: Any) -> None:
    room = rendering._AT_ONCE
    sizes = [room // 2, room // 2, 10, room + 1, 10, 10]
    shown = await render_thread(readers, [Answer(saying("a" * size)) for size in sizes], Reading())
    assert [len(one.text) for one in shown] == sizes
    assert readers.steps == 4  # two halves; a few; one that is too long; the rest
