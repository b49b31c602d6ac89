from __future__ import annotations

import pytest
from tests.unit.store.kit import a_send, brought_to

from postroom.store import Store
from postroom.store.sends.send_rows import NewSend, among
from postroom.store.sends.states import State


def test_what_is_not_said_of_a_new_send_is_nothing() -> None:
    send = NewSend("work", "send_email", "email_send", "sha", b"raw", "a@x.example", ("b@x.example",), "<1@x.example>")
    assert (send.thread_ref, send.draft_ref, send.idempotency_key, send.send_at) == ("", "", "", "")
    assert (send.subject, send.answers_ref, send.not_before, send.save_to_sent) == ("", "", None, True)
    assert (send.native, send.key_seconds) == (False, None)


def test_states_are_asked_for_in_one_order_whatever_order_they_are_named_in() -> None:
    assert among([State.STAGED, State.DONE]) == among({State.DONE, State.STAGED}) == '["done", "staged"]'


@pytest.mark.parametrize("chosen", [True, False])
def test_yes_and_no_are_read_back_as_such_and_not_as_numbers(store: Store, chosen: bool) -> None:
    send = brought_to(store, State.NEEDS_HUMAN, a_send(save_to_sent=chosen, native=chosen))
    assert send.save_to_sent is chosen
    assert send.native is chosen
    assert send.doubtful is True
    assert store.outbox.prepare(a_send()).doubtful is False
