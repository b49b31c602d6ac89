"""Every method of the provider interface, sorted by what calling it may change. An architecture test checks it."""

from __future__ import annotations

# Asking twice is the same as asking once: these may be retried.
READING = frozenset(
    {
        "connect",
        "folders",
        "search",
        "search_rest",
        "envelopes",
        "fetch",
        "fetch_content",
        "fetch_many",
        "fetch_raw",
        "fetch_part",
        "thread",
        "changed_since",
        "folder_states",
        "newest",
        "folder_changes",
        "identify",
        "evidence",
        "list_rules",
        "check_rules",
        "vacation",
        "check_vacation",
        "identities",
        "list_drafts",
        "find_draft",
        "draft_refs",
        "labels",
        "reconcile",
        "check_login",
        "unreachable",
        "uid_of",
        "mail_with_uid",
        "mails_with_ids",
        "folder_mark",
        "came_since",
        "find_staged",
        "staged",
        "recipients_of",
    }
)

# These change a mailbox or send: refused in read-only mode, never repeated automatically.
WRITING = frozenset(
    {
        "set_flags",
        "move",
        "put_into",
        "create_draft",
        "update_draft",
        "delete_draft",
        "apply_label",
        "remove_label",
        "forget_label",
        "create_folder",
        "delete_folder",
        "rename_folder",
        "create_alias",
        "put_rules",
        "activate_rules",
        "stop_vacation",
        "submit",
        "stage",
        "discard_staged",
    }
)

# Not calls that return a result: passed through as they are.
PLAIN = frozenset(
    {
        "close",
        "changes",
        "announced",
        "greeting",
        "bulk",
        "explains",
        "naming",
        "ref_of",
        "ref_after_rename",
        "native_kinds",
        "shared_mailbox",
    }
)
