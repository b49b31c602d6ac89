"""The methods of the API that are here: verb, path, price and the scopes of which one is needed.

Prices are those of Google's table of quota units; scopes those of the discovery document (the tests compare them).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

FULL = "https://mail.google.com/"
_PREFIX = "https://www.googleapis.com/auth/gmail."

METADATA, READONLY, MODIFY, COMPOSE, SEND, LABELS, INSERT, SETTINGS, SHARING = (
    _PREFIX + name
    for name in (
        *("metadata", "readonly", "modify", "compose", "send", "labels", "insert"),
        *("settings.basic", "settings.sharing"),
    )
)

SEND_LIMIT = 36_700_160  # bytes of a message that is sent or drafted
INSERT_LIMIT = 157_286_400

_WRITE = ("full", "modify")
_READ = ("full", "modify", "readonly")
_META = (*_READ, "metadata")
_DRAFT = ("full", "compose", "modify")
_LABEL = ("full", "labels", "modify")
_READ_SETTINGS = (*_READ, "settings.basic")

_TABLE: tuple[tuple[str, str, str, int, tuple[str, ...]], ...] = (
    ("getProfile", "GET", "profile", 1, (*_META, "compose")),
    ("messages.list", "GET", "messages", 5, _META),
    ("messages.get", "GET", "messages/{id}", 5, _META),
    ("messages.send", "POST", "messages/send", 100, (*_DRAFT, "send")),
    ("messages.insert", "POST", "messages", 25, (*_WRITE, "insert")),
    ("messages.import", "POST", "messages/import", 25, (*_WRITE, "insert")),
    ("messages.modify", "POST", "messages/{id}/modify", 5, _WRITE),
    ("messages.batchModify", "POST", "messages/batchModify", 50, _WRITE),
    ("messages.batchDelete", "POST", "messages/batchDelete", 50, ("full",)),
    ("messages.trash", "POST", "messages/{id}/trash", 5, _WRITE),
    ("messages.untrash", "POST", "messages/{id}/untrash", 5, _WRITE),
    ("messages.delete", "DELETE", "messages/{id}", 10, ("full",)),
    ("messages.attachments.get", "GET", "messages/{messageId}/attachments/{id}", 5, _READ),
    ("threads.list", "GET", "threads", 10, _META),
    ("threads.get", "GET", "threads/{id}", 10, _META),
    ("threads.modify", "POST", "threads/{id}/modify", 10, _WRITE),
    ("threads.trash", "POST", "threads/{id}/trash", 10, _WRITE),
    ("threads.untrash", "POST", "threads/{id}/untrash", 10, _WRITE),
    ("threads.delete", "DELETE", "threads/{id}", 20, ("full",)),
    ("drafts.list", "GET", "drafts", 5, (*_READ, "compose")),
    ("drafts.get", "GET", "drafts/{id}", 5, (*_READ, "compose")),
    ("drafts.create", "POST", "drafts", 10, _DRAFT),
    ("drafts.update", "PUT", "drafts/{id}", 15, _DRAFT),
    ("drafts.send", "POST", "drafts/send", 100, _DRAFT),
    ("drafts.delete", "DELETE", "drafts/{id}", 10, _DRAFT),
    ("labels.list", "GET", "labels", 1, (*_META, "labels")),
    ("labels.get", "GET", "labels/{id}", 1, (*_META, "labels")),
    ("labels.create", "POST", "labels", 5, _LABEL),
    ("labels.update", "PUT", "labels/{id}", 5, _LABEL),
    ("labels.patch", "PATCH", "labels/{id}", 5, _LABEL),
    ("labels.delete", "DELETE", "labels/{id}", 5, _LABEL),
    ("history.list", "GET", "history", 2, _META),
    ("settings.sendAs.list", "GET", "settings/sendAs", 1, _READ_SETTINGS),
    ("settings.sendAs.get", "GET", "settings/sendAs/{sendAsEmail}", 1, _READ_SETTINGS),
    ("settings.sendAs.create", "POST", "settings/sendAs", 100, ("settings.sharing",)),
    ("settings.sendAs.update", "PUT", "settings/sendAs/{sendAsEmail}", 100, ("settings.basic", "settings.sharing")),
    ("settings.sendAs.patch", "PATCH", "settings/sendAs/{sendAsEmail}", 100, ("settings.basic", "settings.sharing")),
    ("settings.sendAs.delete", "DELETE", "settings/sendAs/{sendAsEmail}", 5, ("settings.sharing",)),
    ("settings.filters.list", "GET", "settings/filters", 1, _READ_SETTINGS),
    ("settings.filters.get", "GET", "settings/filters/{id}", 1, _READ_SETTINGS),
    ("settings.filters.create", "POST", "settings/filters", 5, ("settings.basic",)),
    ("settings.filters.delete", "DELETE", "settings/filters/{id}", 5, ("settings.basic",)),
    ("settings.getVacation", "GET", "settings/vacation", 1, _READ_SETTINGS),
    ("settings.updateVacation", "PUT", "settings/vacation", 5, ("settings.basic",)),
)

_LIMITS = {
    **dict.fromkeys(("messages.send", "drafts.create", "drafts.update", "drafts.send"), SEND_LIMIT),
    **dict.fromkeys(("messages.insert", "messages.import"), INSERT_LIMIT),
}


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    verb: str
    path: str  # below /gmail/v1/users/{userId}/
    units: int
    scopes: frozenset[str]
    upload_limit: int | None

    def match(self, below: str) -> dict[str, str] | None:
        """The parts of a path that stand in braces, percent-decoded."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, below)
        return None if found is None else {name: unquote(part) for name, part in found.groupdict().items()}


def _scope(name: str) -> str:
    return FULL if name == "full" else _PREFIX + name


METHODS = {
    name: Method(name, verb, path, units, frozenset(map(_scope, scopes)), _LIMITS.get(name))
    for name, verb, path, units, scopes in _TABLE
}


def find(verb: str, below: str) -> tuple[Method, dict[str, str]] | None:
    """Fixed paths (``messages/send``) go before those with an id in their place."""
    for method in sorted(METHODS.values(), key=lambda method: "{" in method.path):
        if method.verb == verb and (parts := method.match(below)) is not None:
            return method, parts
    return None


def is_path(below: str) -> bool:
    return any(method.match(below) is not None for method in METHODS.values())
