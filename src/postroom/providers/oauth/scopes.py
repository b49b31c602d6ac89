"""The minimal scopes for the enabled tools.

One table per service and kind of account: toolset -> scopes. `always` is requested in every case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postroom.model.errors import InvalidRequest

_GMAIL = "https://www.googleapis.com/auth/gmail."
_OUTLOOK = "https://outlook.office.com/"
_FASTMAIL = "https://www.fastmail.com/dev/protocol-"
Table = Mapping[str, Sequence[str]]

SCOPES: Mapping[tuple[str, str], Table] = {
    # Google has one scope for IMAP and SMTP, and it is the full one.
    ("google", "imap"): {"always": ("https://mail.google.com/",)},
    ("google", "gmail"): {
        "read": (f"{_GMAIL}readonly",),
        "organise": (f"{_GMAIL}modify",),
        "drafts": (f"{_GMAIL}readonly", f"{_GMAIL}compose"),
        "send": (f"{_GMAIL}compose",),  # a message is sent as a draft, which gmail.send cannot create
        "rules": (f"{_GMAIL}modify", f"{_GMAIL}settings.basic"),  # to run rules here, and to put some on the server
        "vacation": (f"{_GMAIL}readonly", f"{_GMAIL}settings.basic"),
    },
    ("microsoft", "imap"): {
        "always": ("offline_access", f"{_OUTLOOK}IMAP.AccessAsUser.All"),
        "send": (f"{_OUTLOOK}SMTP.Send",),
    },
    ("microsoft", "graph"): {
        "always": ("offline_access", "User.Read"),
        "read": ("Mail.Read",),
        "organise": ("Mail.ReadWrite",),
        "drafts": ("Mail.ReadWrite",),
        "send": ("Mail.ReadWrite", "Mail.Send"),  # what is sent is a draft first
        "rules": ("Mail.ReadWrite", "MailboxSettings.ReadWrite"),
        "vacation": ("Mail.Read", "MailboxSettings.ReadWrite"),
    },
    ("fastmail", "imap"): {"always": (f"{_FASTMAIL}imap",), "send": (f"{_FASTMAIL}smtp",)},
    ("fastmail", "jmap"): {
        "always": ("urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"),
        "send": ("urn:ietf:params:jmap:submission",),
        "identities": ("urn:ietf:params:jmap:submission",),
        "vacation": ("urn:ietf:params:jmap:submission", "urn:ietf:params:jmap:vacationresponse"),
    },
}

# What the larger one allows anyway: asking for both would only lengthen the consent page.
_INCLUDES: Mapping[str, Sequence[str]] = {
    f"{_GMAIL}modify": (f"{_GMAIL}readonly", f"{_GMAIL}compose"),
    "Mail.ReadWrite": ("Mail.Read",),
}

# Toolsets that do with other tools what another one does.
RIGHT_OF_TOOLSET: Mapping[str, str] = {"folders": "organise", "subscriptions": "send", "calendar": "send"}


def scopes_for(service: str, kind: str, toolsets: Iterable[str]) -> tuple[str, ...]:
    """In the order of the table, each once."""
    table = SCOPES.get((service, kind))
    if table is None:
        raise InvalidRequest(f"{service} has no OAuth login for {kind} accounts.")
    wanted = dict.fromkeys(scope for part in ("always", *map(right_of, toolsets)) for scope in table.get(part, ()))
    included = {less for scope in wanted for less in _INCLUDES.get(scope, ())}
    return tuple(scope for scope in wanted if scope not in included)


def right_of(toolset: str) -> str:
    return RIGHT_OF_TOOLSET.get(toolset, toolset)
