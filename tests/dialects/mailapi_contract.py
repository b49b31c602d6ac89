"""The tools as the contract of the dialect `mailapi` lists them, word for word."""

from __future__ import annotations

from typing import Any


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


TOOLS: dict[str, dict[str, Any]] = {
    "list_emails": {
        "description": "List emails from a specific mailbox. Returns a summary of recent emails with sender, subject, "
        "date, and preview.",
        "properties": {
            "mailbox": _text("Mailbox name (INBOX, Sent, Drafts, Trash, or custom folder)", default="INBOX"),
            "limit": {
                "type": "integer",
                "description": "Maximum number of emails to return (1-100)",
                "default": 20,
                "minimum": 1,
                "maximum": 100,
            },
            "unread_only": {
                "type": "boolean",
                "description": "If true, only return unread emails",
                "default": False,
            },
        },
        "required": [],
    },
    "read_email": {
        "description": "Read the full content of a specific email by its ID. Returns the complete email body.",
        "properties": {"email_id": _text("The unique ID of the email to read")},
        "required": ["email_id"],
    },
    "send_email": {
        "description": "Send a new email. IMPORTANT: Always confirm with the user before sending.",
        "properties": {
            "to": _texts("Recipient email addresses"),
            "subject": _text("Email subject line"),
            "body": _text("Email body (plain text)"),
            "cc": _texts("CC recipients (optional)"),
            "bcc": _texts("BCC recipients (optional)"),
        },
        "required": ["to", "subject", "body"],
    },
    "search_emails": {
        "description": "Search emails by keywords. Searches in subject, sender, and body.",
        "properties": {
            "query": _text("Search query (keywords)"),
            "mailbox": _text("Mailbox to search in (optional, searches all if not specified)"),
            "limit": {"type": "integer", "description": "Maximum results to return", "default": 20},
        },
        "required": ["query"],
    },
    "delete_email": {
        "description": "Delete an email by moving it to Trash. IMPORTANT: Confirm with user before deleting.",
        "properties": {"email_id": _text("ID of the email to delete")},
        "required": ["email_id"],
    },
    "move_email": {
        "description": "Move an email to a different mailbox/folder.",
        "properties": {
            "email_id": _text("ID of the email to move"),
            "to_mailbox": _text("Destination mailbox name (e.g., 'Archive', 'Work')"),
        },
        "required": ["email_id", "to_mailbox"],
    },
    "mark_email": {
        "description": "Mark an email with flags (read, starred, etc.).",
        "properties": {
            "email_id": _text("ID of the email to mark"),
            "flag": _text("Flag to set", enum=["read", "unread", "starred", "unstarred"]),
        },
        "required": ["email_id", "flag"],
    },
}

# What its roadmap names for later, as additions that no client of the seven has to know.
MORE_ARGUMENTS = {
    "send_email": {"attachments", "template", "variables"},
    "search_emails": {
        "from_address", "to_address", "subject", "after", "before", "unread_only", "has_attachment",
    },
}  # fmt: skip
MORE_TOOLS = {
    "list_attachments", "get_attachment", "delete_emails", "move_emails", "mark_emails",
    "list_templates", "save_template", "render_template",
}  # fmt: skip
