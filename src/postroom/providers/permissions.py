"""What logins without OAuth must allow, and which right each method of a provider uses. Rights are named as toolsets.

What logins with OAuth must allow is in `oauth.scopes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from postroom.providers.oauth.scopes import Table

Right = Literal["read", "organise", "drafts", "send", "rules", "identities", "vacation"]
RIGHTS: tuple[Right, ...] = get_args(Right)

# Without OAuth. A provider with OAuth logins only has no row here.
LOGINS: Mapping[str, Table] = {
    "local": {"always": ("its file",)},
    "imap": {"always": ("IMAP",), "send": ("SMTP",), "vacation": ("SMTP", "ManageSieve")},
    "rest": {"always": ("the API",)},
}

# Of the methods that providers offer beyond reading; those not named here only read.
RIGHT_OF: Mapping[str, Right] = {
    "set_flags": "organise",
    "move": "organise",
    "put_into": "organise",
    "apply_label": "organise",
    "remove_label": "organise",
    "forget_label": "organise",
    "create_folder": "organise",
    "delete_folder": "organise",
    "rename_folder": "organise",
    "create_draft": "drafts",
    "update_draft": "drafts",
    "delete_draft": "drafts",
    "submit": "send",
    "stage": "send",
    "discard_staged": "send",
    "reconcile": "send",
    "check_login": "send",
    "find_staged": "send",
    "staged": "send",
    "recipients_of": "send",
    "list_rules": "rules",
    "check_rules": "rules",
    "put_rules": "rules",
    "activate_rules": "rules",
    "create_alias": "identities",
    "vacation": "vacation",
    "check_vacation": "vacation",
    "stop_vacation": "vacation",
}
