"""What a row of the outbox means, in words and in the status a caller understands."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from postroom.model.ids import Kind
from postroom.service.house import House
from postroom.service.views import SendView
from postroom.store import Send, State

_ASK_A_PERSON = (
    "It is not known whether the provider took it. Do not send it again: a person must look, and decide with "
    "`postroom outbox resolve sent|resend|drop {send_id}`."
)
_WORDS = {
    State.DONE: ("sent", "Accepted by the provider for {count} recipient(s)."),
    State.ACCEPTED: ("sent", "Accepted by the provider for {count} recipient(s)."),
    State.REJECTED: ("rejected", "The provider refused it; nothing was sent. {reason}"),
    State.CANCELLED: ("rejected", "It was cancelled; nothing was sent. {reason}"),
    State.EXPIRED: ("rejected", "Nobody approved it in time; nothing was sent."),
    State.RETRYABLE: ("held", "The provider did not take it yet; Postroom tries again by itself. {reason}"),
    State.UNKNOWN: ("unknown", "The provider's answer was lost; Postroom is finding out. Do not send it again."),
    State.RECONCILING: ("unknown", "The provider's answer was lost; Postroom is finding out. Do not send it again."),
    State.NEEDS_HUMAN: (
        "unknown",
        _ASK_A_PERSON,
    ),
    State.AWAITING_APPROVAL: ("needs_approval", "Nothing was sent yet: a person must approve it first."),
}
_STOPPED_HALF_WAY = ("rejected", "It was stopped, but the provider had taken it for {count} recipient(s) before.")
_IN_HAND = ("held", "It is in the outbox and leaves by itself; `cancel_send` stops it while it has not left.")


async def receipt(house: House, send: Send, warnings: tuple[str, ...] = ()) -> SendView:
    outcome: dict[str, Any] = send.outcome or {}
    status, words = _WORDS.get(send.state, _IN_HAND)
    if send.state is State.CANCELLED and outcome.get("accepted"):
        status, words = _STOPPED_HALF_WAY
    if send.state is State.HELD:
        status = "scheduled" if _is_scheduled(send, house.settings.safety.hold_seconds) else "held"
        words = f"It leaves at {_when(send.not_before)}; cancel_send {send.send_id} stops it."
    told = words.format(count=len(outcome.get("accepted", ())), reason=outcome.get("reason", ""), send_id=send.send_id)
    return SendView(
        status=status,
        account=send.account,
        message=told.strip(),
        send_id=send.send_id,
        message_id=send.message_id,
        thread_id=await _thread_id(house, send, outcome),
        accepted=tuple(outcome.get("accepted", ())),
        refused=dict(outcome.get("refused", {})),
        warnings=(*warnings, *outcome.get("warnings", ())),
    )


async def already(house: House, send: Send) -> SendView:
    """The answer to a repeated call: the first one's result, marked."""
    view = await receipt(house, send)
    if view.status != "sent":
        return view
    return replace(view, status="already_executed", message=f"Already executed, not sent again. {view.message}")


async def _thread_id(house: House, send: Send, outcome: dict[str, Any]) -> str:
    ref = outcome.get("thread_ref") or send.thread_ref
    return (await house.stored(house.store.handles.issue, Kind.THREAD, send.account, [ref]))[0] if ref else ""


def _is_scheduled(send: Send, hold_seconds: float) -> bool:
    """A schedule lies further off than the undo window."""
    return (send.not_before or 0) - send.created_at > hold_seconds


def _when(wall: float | None) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds") if wall else ""
