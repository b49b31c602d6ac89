"""Every verb of the provider seam, sorted by what calling it may change. An architecture test keeps this complete."""

from __future__ import annotations

# Asking twice is the same as asking once: these may be retried.
READING = frozenset(
    {
        "connect",
        "folders",
        "search",
        "envelopes",
        "fetch",
        "fetch_many",
        "fetch_raw",
        "fetch_part",
        "thread",
        "changed_since",
        "list_rules",
        "check_rules",
        "identities",
        "list_drafts",
        "find_draft",
        "labels",
        "reconcile",
        "check_login",
        "unreachable",
        "uid_of",
        "mail_with_uid",
        "mails_with_ids",
        "find_staged",
        "staged",
        "recipients_of",
    }
)

# These change a mailbox or leave the house: refused in read-only mode, never repeated on their own.
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
        "create_folder",
        "delete_folder",
        "create_alias",
        "put_rules",
        "activate_rules",
        "submit",
        "stage",
        "discard_staged",
    }
)

# Not calls with an answer: passed through as they are.
PLAIN = frozenset({"close", "changes", "native_kinds", "shared_mailbox"})
