"""The operations of the API that are here: verb, path, the scopes of which one is needed, the status of success.

Paths are those below ``/me`` or ``/users/{id}``; those of messages also hold below ``mailFolders/{id}``. Scopes are
those of Microsoft's permissions reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

BASIC, READ, WRITE, SEND = "Mail.ReadBasic", "Mail.Read", "Mail.ReadWrite", "Mail.Send"
READ_SETTINGS, WRITE_SETTINGS = "MailboxSettings.Read", "MailboxSettings.ReadWrite"
USER = "User.Read"
ALL = frozenset({WRITE, SEND, WRITE_SETTINGS, USER})

_LISTED = (BASIC, READ, WRITE)
_OPENED = (READ, WRITE)

_TABLE: tuple[tuple[str, str, str, tuple[str, ...], int], ...] = (
    ("user.get", "GET", "", (USER,), 200),
    ("messages.list", "GET", "messages", _LISTED, 200),
    ("messages.create", "POST", "messages", (WRITE,), 201),
    ("messages.count", "GET", "messages/$count", _LISTED, 200),
    ("messages.delta", "GET", "messages/delta", _LISTED, 200),
    ("messages.get", "GET", "messages/{id}", _LISTED, 200),
    ("messages.update", "PATCH", "messages/{id}", (WRITE,), 200),
    ("messages.delete", "DELETE", "messages/{id}", (WRITE,), 204),
    ("messages.content", "GET", "messages/{id}/$value", _OPENED, 200),
    ("messages.move", "POST", "messages/{id}/move", (WRITE,), 201),
    ("messages.copy", "POST", "messages/{id}/copy", (WRITE,), 201),
    ("messages.permanentDelete", "POST", "messages/{id}/permanentDelete", (WRITE,), 204),
    ("messages.createReply", "POST", "messages/{id}/createReply", (WRITE,), 201),
    ("messages.createReplyAll", "POST", "messages/{id}/createReplyAll", (WRITE,), 201),
    ("messages.createForward", "POST", "messages/{id}/createForward", (WRITE,), 201),
    ("messages.reply", "POST", "messages/{id}/reply", (SEND,), 202),
    ("messages.replyAll", "POST", "messages/{id}/replyAll", (SEND,), 202),
    ("messages.forward", "POST", "messages/{id}/forward", (SEND,), 202),
    ("messages.send", "POST", "messages/{id}/send", (SEND,), 202),
    ("attachments.list", "GET", "messages/{id}/attachments", _OPENED, 200),
    ("attachments.create", "POST", "messages/{id}/attachments", (WRITE,), 201),
    ("attachments.upload", "POST", "messages/{id}/attachments/createUploadSession", (WRITE,), 201),
    ("attachments.get", "GET", "messages/{id}/attachments/{attachment}", _OPENED, 200),
    ("attachments.content", "GET", "messages/{id}/attachments/{attachment}/$value", _OPENED, 200),
    ("attachments.delete", "DELETE", "messages/{id}/attachments/{attachment}", (WRITE,), 204),
    ("folders.list", "GET", "mailFolders", _LISTED, 200),
    ("folders.create", "POST", "mailFolders", (WRITE,), 201),
    ("folders.get", "GET", "mailFolders/{folder}", _LISTED, 200),
    ("folders.update", "PATCH", "mailFolders/{folder}", (WRITE,), 200),
    ("folders.delete", "DELETE", "mailFolders/{folder}", (WRITE,), 204),
    ("folders.permanentDelete", "POST", "mailFolders/{folder}/permanentDelete", (WRITE,), 204),
    ("folders.children", "GET", "mailFolders/{folder}/childFolders", _LISTED, 200),
    ("folders.createChild", "POST", "mailFolders/{folder}/childFolders", (WRITE,), 201),
    ("rules.list", "GET", "mailFolders/{folder}/messageRules", (READ_SETTINGS, WRITE_SETTINGS), 200),
    ("rules.create", "POST", "mailFolders/{folder}/messageRules", (WRITE_SETTINGS,), 201),
    ("rules.get", "GET", "mailFolders/{folder}/messageRules/{rule}", (READ_SETTINGS, WRITE_SETTINGS), 200),
    ("rules.update", "PATCH", "mailFolders/{folder}/messageRules/{rule}", (WRITE_SETTINGS,), 200),
    ("rules.delete", "DELETE", "mailFolders/{folder}/messageRules/{rule}", (WRITE_SETTINGS,), 204),
    ("categories.list", "GET", "outlook/masterCategories", (READ_SETTINGS, WRITE_SETTINGS), 200),
    ("categories.create", "POST", "outlook/masterCategories", (WRITE_SETTINGS,), 201),
    ("categories.delete", "DELETE", "outlook/masterCategories/{category}", (WRITE_SETTINGS,), 204),
    ("mailboxSettings.get", "GET", "mailboxSettings", (READ_SETTINGS, WRITE_SETTINGS), 200),
    ("mailboxSettings.update", "PATCH", "mailboxSettings", (WRITE_SETTINGS,), 200),
    ("sendMail", "POST", "sendMail", (SEND,), 202),
)
_OF_MESSAGES = re.compile(
    r"mailFolders/(?P<folder>[^/]+)(?:/childFolders/(?P<child>[^/]+))*/(?P<rest>messages(?:/.*)?)\Z"
)
_CHILD = re.compile(r"mailFolders/[^/]+/childFolders/(?P<child>[^/]+)")
_IN_SPEC = {"id": "message-id", "attachment": "attachment-id", "folder": "mailFolder-id", "rule": "messageRule-id"}
_ACTIONS = re.compile(r"/(move|copy|permanentDelete|create\w+|reply|replyAll|forward|send)\Z|^sendMail\Z")


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    verb: str
    path: str
    scopes: frozenset[str]
    success: int

    def match(self, below: str) -> dict[str, str] | None:
        """The parts of a path that stand in braces, percent-decoded."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, below)
        return None if found is None else {name: unquote(part) for name, part in found.groupdict().items()}

    @property
    def spec_path(self) -> str:
        """As the OpenAPI document writes it."""
        path = re.sub(r"{(\w+)}", lambda part: f"{{{_IN_SPEC.get(part[1], 'outlookCategory-id')}}}", self.path)
        if self.name.endswith(".delta"):
            path = path.replace("/delta", "/microsoft.graph.delta()")
        path = _ACTIONS.sub(
            lambda action: action[0].replace(action[1] or "sendMail", f"microsoft.graph.{action[1] or 'sendMail'}"),
            path,
        )
        return f"/users/{{user-id}}/{path}".rstrip("/")


OPERATIONS = {row[0]: Operation(row[0], row[1], row[2], frozenset(row[3]), row[4]) for row in _TABLE}


def find(verb: str, below: str) -> tuple[Operation, dict[str, str]] | None:
    """Fixed paths (``messages/delta``) go before those with an id in their place."""
    below = below.replace("microsoft.graph.", "").replace("delta()", "delta")
    parts: dict[str, str] = {}
    if inside := _OF_MESSAGES.match(below):
        parts["in_folder"] = unquote(inside["child"] or inside["folder"])
        below = inside["rest"]
    while child := _CHILD.match(below):
        below = f"mailFolders/{child['child']}" + below[child.end() :]
    for operation in sorted(OPERATIONS.values(), key=lambda one: one.path.count("{")):
        if operation.verb == verb and (found := operation.match(below)) is not None:
            return operation, {**parts, **found}
    return None
