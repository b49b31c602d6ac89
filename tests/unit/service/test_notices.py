"""What everyone hears who asks for anything."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from postroom.model.errors import ProviderUnavailable
from postroom.service.notices import notices
from postroom.store.sends.pauses import Pause


def gateway_with(call: Any, outages: dict[str, float] | None = None) -> Any:
    def shown_time(wall: float, timespec: str) -> str:
        return datetime.fromtimestamp(wall, UTC).isoformat(timespec=timespec)

    return SimpleNamespace(
        store=SimpleNamespace(pauses=SimpleNamespace(all=call)),
        accounts=SimpleNamespace(may_see=lambda account: account != "private", outages=lambda: outages or {}),
        shown_time=shown_time,
    )


def test_each_paused_account_is_named_with_since_when_and_why_and_what_to_do() -> None:
    paused = [Pause(name, "The login was refused.", 1_800_000_059.0, 1, 0.0) for name in ("home", "private", "work")]
    assert notices(gateway_with(lambda **_: paused)) == tuple(
        f"Account {name} has been unable to send since 2027-01-15T08:00+00:00; its messages wait in the outbox. "
        "Tell the user; `postroom doctor` checks the login and resumes sending. The login was refused."
        for name in ("home", "work")
    )


def test_where_nothing_is_paused_there_is_nothing_to_say() -> None:
    assert notices(gateway_with(lambda **_: ())) == ()


def test_a_state_file_that_cannot_be_read_keeps_no_answer_back() -> None:
    def locked(*, waits: bool) -> Any:
        assert not waits
        raise ProviderUnavailable("locked")

    assert notices(gateway_with(locked)) == ()


def test_an_account_whose_server_is_out_of_reach_is_named_with_since_when_and_what_that_means() -> None:
    (said,) = notices(gateway_with(lambda **_: (), {"work": 1_800_000_059.0}))
    assert "account work has been out of reach since 2027-01-15T08:00+00:00" in said
    assert "nothing can be changed or sent" in said
