"""The tools as the contract of the dialect `intentmail` lists them: description, parameters, which are required,
defaults, limits."""

from __future__ import annotations

from typing import Any

TEXT, NUMBER, SWITCH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT}

TOOLS: dict[str, dict[str, Any]] = {
    "search_messages": {
        "description": "Search messages across all mailboxes with filters",
        "properties": {
            "query": TEXT,
            "labels": TEXTS,
            "from": TEXT,
            "to": TEXT,
            "has_attachment": SWITCH,
            "after_date": TEXT,
            "before_date": TEXT,
            "limit": {**NUMBER, "default": 50, "maximum": 100},
            "offset": {**NUMBER, "default": 0},
        },
        "required": ["query"],
    },
    "get_message": {
        "description": "Fetch full message with headers/body/attachments",
        "properties": {"message_id": TEXT, "include_attachments": {**SWITCH, "default": False}},
        "required": ["message_id"],
    },
    "get_thread": {
        "description": "Fetch conversation thread with all messages",
        "properties": {"thread_id": TEXT, "limit": {**NUMBER, "default": 50}},
        "required": ["thread_id"],
    },
    "apply_label": {
        "description": "Add label to message(s)",
        "properties": {"message_ids": TEXTS, "label": TEXT},
        "required": ["message_ids", "label"],
    },
    "move_message": {
        "description": "Move message to folder/label",
        "properties": {"message_id": TEXT, "destination": TEXT},
        "required": ["message_id", "destination"],
    },
    "create_rule": {
        "description": "Define automation rule (YAML format)",
        "properties": {"rule_yaml": TEXT, "dry_run": {**SWITCH, "default": True}},
        "required": ["rule_yaml"],
    },
    "run_rule_plan": {
        "description": "Dry-run a rule without executing",
        "properties": {"rule_id": TEXT},
        "required": ["rule_id"],
    },
    "send_message": {
        "description": "Send email with optional attachments",
        "properties": {
            "to": TEXTS,
            "subject": TEXT,
            "body_text": TEXT,
            "body_html": TEXT,
            "cc": TEXTS,
            "bcc": TEXTS,
            "in_reply_to": TEXT,
            "attachments": {"type": "array"},
        },
        "required": ["to", "subject"],
    },
    "list_identities": {"description": "List sender identities/aliases", "properties": {}, "required": []},
    "create_alias": {
        "description": "Create new email alias",
        "properties": {"email": TEXT, "name": TEXT, "signature": TEXT},
        "required": ["email"],
    },
    "get_capabilities": {
        "description": "Report provider-specific capabilities",
        "properties": {},
        "required": [],
    },
}
PAGE = {"results", "total_count", "limit", "offset", "has_more"}
CODES = {
    "INVALID_REQUEST",
    "NOT_FOUND",
    "PERMISSION_DENIED",
    "RATE_LIMIT_EXCEEDED",
    "PROVIDER_ERROR",
    "INTERNAL_ERROR",
}
