"""What a row of the outbox means, in words and in the status a caller understands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postroom.mime.visible import visible_email
from postroom.model.ids import Kind
from postroom.model.unsubscribing import LOCAL_PART
from postroom.safety.judge import Finding
from postroom.service.gateway import Gateway
from postroom.service.views import ErrorView, SendView
from postroom.store import Send, State

# For the model, so without a command that it could run: deciding is a person's act.
_DECIDE = "a person must look at the outbox, outside this conversation, and decide what to do with it."
_UNCLEAR = "It is not known whether the provider accepted it. Do not send it again: " + _DECIDE
_STOPPED = "It was not sent and will not be sent automatically: {reason} Do not send it again: " + _DECIDE
_FINDING_OUT = "The provider's response was lost; Postroom is checking whether it was sent. Do not send it again."
_WORDS = {
    State.DONE: ("sent", "Accepted by the provider for {recipients}."),
    State.ACCEPTED: ("sent", "Accepted by the provider for {recipients}."),
    State.REJECTED: ("rejected", "The provider refused it; nothing was sent. {reason}"),
    State.CANCELLED: ("cancelled", "It was cancelled; nothing was sent. {reason}"),
    State.EXPIRED: ("rejected", "Nobody approved it in time; nothing was sent."),
    State.RETRYABLE: ("held", "The provider has not accepted it yet; Postroom retries automatically. {reason}"),
    State.UNKNOWN: ("unknown", _FINDING_OUT),
    State.RECONCILING: ("unknown", _FINDING_OUT),
    State.NEEDS_HUMAN: ("needs_human", _STOPPED),
    State.DROPPED: ("unknown", "A person dropped it: it may have been sent, and it will not be sent again."),
    State.AWAITING_APPROVAL: ("needs_approval", "Nothing was sent yet: a person must approve it first."),
}
# A request to a list's server is no message, and a server that refused it was asked all the same.
_OF_REQUESTS = {
    State.DONE: ("sent", "The list's server accepted the request to unsubscribe; no email was sent."),
    State.ACCEPTED: ("sent", "The list's server accepted the request to unsubscribe; no email was sent."),
    State.REJECTED: ("rejected", "The request to unsubscribe was not accepted. {reason}"),
    State.RETRYABLE: ("held", "The request to unsubscribe will be made again automatically. {reason}"),
    State.UNKNOWN: ("unknown", "The list's server did not answer the request to unsubscribe. Do not make it again."),
    State.NEEDS_HUMAN: (
        "needs_human",
        "The request to unsubscribe was not accepted and will not be made again automatically: {reason} Do not make it "
        "again: " + _DECIDE,
    ),
}
_OF_REQUESTS[State.RECONCILING] = _OF_REQUESTS[State.UNKNOWN]
_OF_VACATIONS = {
    State.DONE: ("sent", "The vacation reply is on; no email was sent yet."),
    State.ACCEPTED: ("sent", "The vacation reply is on; no email was sent yet."),
    State.REJECTED: ("rejected", "The provider refused the vacation reply; nothing was changed. {reason}"),
}
_OF_KIND = {"unsubscribe": _OF_REQUESTS, "vacation": _OF_VACATIONS}
_REQUEST_UNCLEAR = (
    "unknown",
    "It is not known whether the list's server received the request to unsubscribe. Do not make it again: " + _DECIDE,
)
_IN_HAND = ("held", "It is in the outbox and will be sent automatically. Call cancel_send to stop it before. {reason}")
_REFUSED = ("rejected", "The person who was asked refused it; nothing was sent. Ask them what to change.")
_SAID_SENT = ("sent", "A person confirmed that it was sent.")
# What may have been sent is never reported as not sent.
_IN_DOUBT = {
    State.NEEDS_HUMAN: ("unknown", _UNCLEAR),
    State.RETRYABLE: (
        "unknown",
        "Postroom retries automatically, as a person decided; an earlier attempt may have been sent. {reason}",
    ),
    State.CANCELLED: ("unknown", "It was stopped. It is not known whether an earlier attempt was sent."),
}
_IN_PART = {
    State.NEEDS_HUMAN: ("unknown", "The provider accepted it for {recipients} and not for the others. {reason} "
                        "Do not send it again: " + _DECIDE),
    State.CANCELLED: ("rejected", "It was stopped, but the provider had already accepted it for {recipients}."),
    State.DROPPED: ("rejected", "A person dropped it, but the provider had already accepted it for {recipients}."),
}  # fmt: skip


async def receipt(
    gateway: Gateway, send: Send, warnings: tuple[str, ...] = (), *, findings: Sequence[Finding] = ()
) -> SendView:
    outcome: dict[str, Any] = send.outcome or {}
    status, words = _said(send, outcome)
    if send.state is State.HELD:
        status = "scheduled" if send.send_at else "held"
        words = f"It will be sent at {_when(gateway, send.not_before)}. Call cancel_send {send.send_id} to stop it."
    recipients = counted_recipients(len(outcome.get("accepted", ())))
    told = words.format(recipients=recipients, reason=outcome.get("reason", ""), send_id=send.send_id)
    return SendView(
        status=status,
        account=send.account,
        tool=send.tool,
        message=told.strip(),
        send_id=send.send_id,
        message_id=send.message_id,
        thread_id=await _thread_id(gateway, send, outcome),
        accepted=tuple(outcome.get("accepted", ())),
        refused=dict(outcome.get("refused", {})),
        warnings=(*warnings, *(finding.message for finding in findings), *outcome.get("warnings", ())),
        message_ref=outcome.get("message_ref", ""),
        thread_ref=outcome.get("thread_ref") or send.thread_ref,
        at=gateway.shown_time(send.updated_at),
        findings=by_code(findings),
        error=_error(gateway, send, outcome),
    )


def by_code(findings: Sequence[Finding]) -> dict[str, str]:
    return {finding.code: finding.message for finding in findings}


def _error(gateway: Gateway, send: Send, outcome: dict[str, Any]) -> ErrorView | None:
    """The provider's last refusal, and when the next attempt is made, if there is to be one."""
    kept = outcome.get("error")
    if kept is None or send.state not in (State.REJECTED, State.RETRYABLE):
        return None
    wait = max(send.wake_at - gateway.store.clock.wall(), 0) if send.state is State.RETRYABLE else None
    return ErrorView(kept["code"], outcome.get("reason", ""), dict(kept["details"]), wait)


def shown_recipients(send: Send) -> tuple[str, ...]:
    """As a person is shown them; of a request to a list's server, the host."""
    shown = map(visible_email, send.recipients)
    if send.kind == "unsubscribe":
        return tuple(one.removeprefix(f"{LOCAL_PART}@") for one in shown)
    return tuple(shown)


def counted_recipients(count: int) -> str:
    return "1 recipient" if count == 1 else f"{count} recipients"


def _said(send: Send, outcome: dict[str, Any]) -> tuple[str, str]:
    """Status and message; a person's decision, or a possible earlier delivery, takes precedence over the state."""
    if outcome.get("decided") == "sent" and not outcome.get("accepted"):
        return _SAID_SENT
    if outcome.get("decided") == "refused":
        return _REFUSED
    if send.kind == "unsubscribe" and send.state is State.NEEDS_HUMAN and send.doubtful:
        return _REQUEST_UNCLEAR
    if outcome.get("accepted") and send.state in _IN_PART:
        return _IN_PART[send.state]
    if send.doubtful and send.state in _IN_DOUBT:
        return _IN_DOUBT[send.state]
    words = {**_WORDS, **_OF_KIND.get(send.kind, {})}
    return words.get(send.state, _IN_HAND)


async def already(gateway: Gateway, send: Send) -> SendView:
    """The result of a repeated call: that of the first one, marked."""
    view = await receipt(gateway, send)
    if view.status != "sent":
        return view
    return replace(view, status="already_executed", message=f"Already executed, not sent again. {view.message}")


async def _thread_id(gateway: Gateway, send: Send, outcome: dict[str, Any]) -> str:
    ref = outcome.get("thread_ref") or send.thread_ref
    return (await gateway.ids.show(gateway, send.account, {Kind.THREAD: [ref]}))[0][0] if ref else ""


def _when(gateway: Gateway, wall: float | None) -> str:
    return gateway.shown_time(wall) if wall else ""
