"""What became of a send, in the contract's words: a preview, an answer without addresses, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from mcp_types import CallToolResult

from postroom.doors.mcp.dialects.graph.preview import PreviewShape, preview_lines, preview_shape
from postroom.doors.mcp.dialects.graph.refusals import refused
from postroom.doors.mcp.dialects.postroom.results import answer
from postroom.doors.mcp.failures import advice_within

if TYPE_CHECKING:
    from postroom.service.sending.order import Order
    from postroom.service.views import SendView

_DUPLICATE = (
    "Mögliches Duplikat: Eine E-Mail mit denselben Empfängern, demselben Betreff und demselben Anfang wurde in den "
    "letzten 2 Minuten gesendet."
)
# What the gate finds, by its codes, without addresses: the preview names everyone anyway.
_FINDINGS = {
    "duplicate": _DUPLICATE,
    "new_recipient": "Mindestens ein Empfänger wurde noch nie angeschrieben.",
    "unreachable": "Mindestens ein Empfänger ist für dieses Postfach nicht erreichbar.",
    "external_forward": "Eine empfangene E-Mail würde die eigene Domain verlassen.",
    "many_recipients": "Die E-Mail geht an mehr als 20 Empfänger.",
}
_WHAT = {"send_email": "E-Mail", "reply_email": "Antwort", "forward_email": "Weiterleitung"}
_NOT_SENT_YET = (
    "Es wurde noch nichts gesendet. Zum Senden denselben Aufruf mit confirm: true wiederholen, sobald der Benutzer "
    "zugestimmt hat."
)
_NOT_AGAIN = "Nicht erneut senden."
_UNCLEAR = f"Es ist nicht bekannt, ob der Anbieter die E-Mail angenommen hat; das wird geprüft. {_NOT_AGAIN}"
_APPROVAL = (
    "Es wurde noch nichts gesendet: Eine Person muss die E-Mail außerhalb dieses Gesprächs freigeben. Danach wird sie "
    f"automatisch gesendet. {_NOT_AGAIN}"
)
_STATES = {
    "held": f"Die E-Mail liegt im Postausgang und wird automatisch gesendet. {_NOT_AGAIN}",
    "scheduled": f"Die E-Mail liegt im Postausgang und wird automatisch gesendet. {_NOT_AGAIN}",
    "needs_approval": _APPROVAL,
    "unknown": _UNCLEAR,
    "needs_human": f"Die E-Mail liegt im Postausgang, bis eine Person darüber entscheidet. {_NOT_AGAIN}",
    "cancelled": "Der Versand wurde abgebrochen.",
}


class Sent(TypedDict):
    status: Literal[
        "preview",
        "sent",
        "already_executed",
        "needs_approval",
        "held",
        "scheduled",
        "unknown",
        "needs_human",
        "cancelled",
        "dev_mode",
    ]
    message: str
    timestamp: NotRequired[str]
    recipientCount: NotRequired[int]
    refusedCount: NotRequired[int]
    warnings: NotRequired[list[str]]
    preview: NotRequired[PreviewShape]
    approvalId: NotRequired[str]


def worded(view: SendView, order: Order | None) -> CallToolResult:
    tool = order.tool if order is not None else view.tool
    if view.status == "preview" and view.preview is not None:
        return _preview(view, tool, is_repeat=order is not None and order.wishes.confirm)
    error = refused(view, len(order.raw) if order is not None else 0)
    if error is not None:
        raise error
    if view.status in ("sent", "already_executed"):
        return _sent(view, tool)
    structured: dict[str, Any] = {"status": view.status, "message": _STATES.get(view.status, view.message)}
    if view.approval is not None:
        structured["approvalId"] = view.approval.approval_id
    return _answer(structured, _on_the_way(view))


def _preview(view: SendView, tool: str, *, is_repeat: bool) -> CallToolResult:
    """Not an error. A stricter gate may answer a confirmed call with a preview: then its own words say why."""
    assert view.preview is not None
    message = advice_within(view.message) if is_repeat else _NOT_SENT_YET
    structured = {"status": "preview", "message": message, "preview": preview_shape(view.preview, tool)}
    return _answer(structured, _findings(view, tool), preview_lines(view.preview, tool))


def _sent(view: SendView, tool: str) -> CallToolResult:
    """When and to how many; never to whom."""
    count = len(view.accepted)
    message = f"{_WHAT[tool]} an {count} Empfänger gesendet: vom Anbieter angenommen am {view.at}."
    if view.status == "already_executed":
        message = f"Bereits ausgeführt. {message}"
    structured: dict[str, Any] = {
        "status": view.status,
        "message": message,
        "timestamp": view.at,
        "recipientCount": count,
    }
    if view.refused:
        structured["refusedCount"] = len(view.refused)
        structured["message"] += f" {len(view.refused)} Empfänger wurden abgelehnt."
    duplicate = [_DUPLICATE] if _DUPLICATE in _findings(view, tool) else []
    return _answer(structured, [*duplicate, *_on_the_way(view)])


def _answer(structured: dict[str, Any], warnings: list[str], above: list[str] | None = None) -> CallToolResult:
    if warnings:
        structured["warnings"] = warnings
    lines = [*(above or []), structured["message"], *(f"Warnung: {warning}" for warning in warnings)]
    return answer(structured, "\n".join(lines))


def _findings(view: SendView, tool: str) -> list[str]:
    """The duplicate in the contract's sense is one of send_email alone."""
    wanted = [code for code in view.findings if code != "duplicate" or tool == "send_email"]
    return [_FINDINGS.get(code, view.findings[code]) for code in wanted]


def _on_the_way(view: SendView) -> list[str]:
    """Warnings about what happened, not about whom it goes to."""
    return [warning for warning in view.warnings if warning not in view.findings.values()]
