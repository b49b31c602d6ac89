"""What the tools return, by the names of the contract. Dates are ISO 8601 with an offset."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Summary = TypedDict(
    "Summary",
    {
        "message_id": str,
        "thread_id": str,
        "folder": str,
        "from": str,
        "to": list[str],
        "subject": str,
        "date": str,
        "snippet": str,
        "labels": list[str],
        "is_read": bool,
        "is_starred": bool,
        "has_attachments": bool,
        "size": int,
    },
)


class Attachment(TypedDict):
    attachment_id: str
    filename: str
    content_type: str
    size: int
    is_inline: bool
    content_base64: NotRequired[str]
    path: NotRequired[str]


class Message(Summary):
    cc: list[str]
    bcc: list[str]
    reply_to: list[str]
    headers: NotRequired[dict[str, str]]
    body_text: str
    body_html: NotRequired[str]
    is_truncated: bool
    attachments: list[Attachment]
    warnings: list[str]


class Page(TypedDict):
    total_count: int
    limit: int
    offset: int
    has_more: bool


class MessageList(Page):
    results: list[Summary]
    total_count_is_minimum: NotRequired[bool]
    filters_not_applied: NotRequired[list[str]]
    notices: NotRequired[list[str]]


class MessagePage(Page):
    results: list[Message]


class Thread(TypedDict):
    thread_id: str
    subject: str
    messages: MessagePage


class ActionItem(TypedDict):
    message_id: str
    success: bool
    new_message_id: NotRequired[str]
    error: NotRequired[dict[str, Any]]


class ActionResult(TypedDict):
    success: bool
    action: str
    succeeded: int
    failed: int
    results: list[ActionItem]


class Rule(TypedDict):
    rule_id: str
    name: str
    enabled: bool
    schedule: str
    conditions: list[str]
    actions: list[str]
    safety: dict[str, Any]
    rule_yaml: str
    created: str
    notices: list[str]


PlannedMessage = TypedDict(
    "PlannedMessage",
    {"message_id": str, "folder": str, "from": str, "subject": str, "date": str, "actions": list[str]},
)


class PlannedPage(Page):
    results: list[PlannedMessage]
    total_count_is_minimum: NotRequired[bool]


class DryRunPlan(TypedDict):
    plan_id: str
    rule_id: str
    name: str
    expires: str
    action_count: int
    examined: int
    messages: PlannedPage
    notices: list[str]


class SentMessage(TypedDict):
    status: Literal[
        "sent",
        "already_executed",
        "preview",
        "needs_approval",
        "held",
        "scheduled",
        "unknown",
        "needs_human",
        "cancelled",
        "dev_mode",
    ]
    message: str
    message_id: NotRequired[str]
    thread_id: NotRequired[str]
    date: NotRequired[str]
    accepted: NotRequired[list[str]]
    refused: NotRequired[dict[str, str]]
    warnings: NotRequired[list[str]]


class Identity(TypedDict):
    email: str
    name: str
    is_default: bool
    signature: str


class Identities(Page):
    results: list[Identity]


class RateLimits(TypedDict):
    requests_per_second: float | None
    burst: int | None


class Capabilities(TypedDict):
    provider: str
    has_threading: bool
    has_server_side_rules: bool
    max_attachment_size_mb: int
    rate_limits: RateLimits
