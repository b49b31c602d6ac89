"""Which mail counts as the one that was answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from postroom.mime.quotes.earlier import Earlier
from postroom.mime.quotes.folding import context_of, fold_text
from postroom.model.address import Address
from postroom.model.errors import ProviderUnavailable
from postroom.model.message import Envelope
from postroom.service.open_accounts import Account
from postroom.service.reading.history import answered_ids, find_answered, nearest

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
REPLY = Envelope(
    "9",
    "t",
    "INBOX",
    Address("a@x.example"),
    date=NOON,
    message_id="<9@x>",
    in_reply_to="<8@x>",
    references=("<7@x>", "<8@x>"),
)


def earlier_mail(number: int, hours: int = 1) -> Envelope:
    return replace(REPLY, ref=str(number), message_id=f"<{number}@x>", date=NOON - timedelta(hours=hours))


def test_the_nearest_ancestor_that_is_there_is_taken() -> None:
    assert answered_ids(REPLY) == ["<8@x>", "<7@x>"]
    assert nearest(REPLY, [earlier_mail(7), earlier_mail(8)]) == earlier_mail(8)
    assert nearest(REPLY, [earlier_mail(7), earlier_mail(5)]) == earlier_mail(7)
    assert nearest(REPLY, [earlier_mail(5)]) is None


@pytest.mark.parametrize("hours", [0, -1])
def test_a_mail_that_is_not_older_is_not_what_was_answered(hours: int) -> None:
    assert nearest(REPLY, [earlier_mail(8, hours)]) is None
    assert nearest(REPLY, [replace(earlier_mail(8), date=None)]) is None


def test_a_mail_does_not_answer_itself() -> None:
    itself = replace(REPLY, in_reply_to="<9@x>", references=("<9@x>",))
    assert answered_ids(itself) == []


async def test_where_nobody_could_look_nothing_is_folded() -> None:
    class Failing:
        async def mails_with_ids(self, message_ids: list[str], *, near: str) -> list[Envelope]:
            raise ProviderUnavailable("The server is away.")

    for mailbox in (Failing(), object()):
        account = Account(cast("Any", None), cast("Any", mailbox), cast("Any", None), cast("Any", None))
        assert await find_answered(account, REPLY) is None
        answer = "Yes.\n\nOn Monday Bob <b@example.com> wrote:\n> When shall we all meet again?\n> At noon, typed here."
        assert fold_text(answer, context_of(REPLY, Earlier())).text == answer
