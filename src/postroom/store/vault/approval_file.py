"""An approval as a Markdown file with YAML front matter: readable in Obsidian, movable from a shell.

The front matter is read by a strict little grammar: one flat mapping of plain scalars (and one list for `to`).
Anchors, aliases, tags, nesting and duplicate keys are refused: what a person reads is what we read.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any, get_args

from postroom.model.characters import yaml_quoted
from postroom.model.errors import InvalidRequest
from postroom.store.sends.send_rows import SendKind

MAX_FILE_BYTES = 1024 * 1024
_ROOM_FOR_EDITORS = 4096  # what a person's editor may add: keys of its own, a time
_CHANGEABLE = frozenset({"status", "approved_at", "approval_id"})  # by a person, and what the fingerprint is found by
_FENCE = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?P<yaml>.*?\r?\n)---[ \t]*(?:\r?\n(?P<body>.*))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ApprovalFile:
    """What the file says. Empty string = the key is absent."""

    type: str
    status: str
    to: tuple[str, ...] = ()
    thread_id: str = ""
    subject: str = ""
    created: str = ""
    approved_at: str = ""
    expires: str = ""
    content_sha256: str = ""
    approval_id: str = ""
    action_type: str = ""
    body: str = ""

    @property
    def fingerprint(self) -> str:
        """Of every field but those that a person is meant to change: one changed byte voids the approval.

        Line ends may differ, as editors will have it. The approval_id is what the fingerprint is looked up by.
        """
        said = {name: value for name, value in asdict(self).items() if name not in _CHANGEABLE}
        said["body"] = self.body.replace("\r\n", "\n").strip()
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def render(file: ApprovalFile) -> bytes:
    """Front matter with every value quoted, so that no subject can become structure."""
    lines = ["---"]
    for key in _KEYS:
        value = getattr(file, key)
        if key == "to":
            lines += ["to:", *(f"  - {yaml_quoted(address, plain=True)}" for address in value)] if value else []
        elif value:
            lines.append(f"{key}: {value if key in ('type', 'status', 'action_type') else yaml_quoted(value)}")
    return ("\n".join([*lines, "---", ""]) + file.body).encode()


def refuse_endless(file: ApprovalFile) -> None:
    """A file that `parse` would not read, were every line end to become two bytes, is never written."""
    content = render(file)
    if len(content) + content.count(b"\n") + _ROOM_FOR_EDITORS > MAX_FILE_BYTES:
        raise InvalidRequest(
            "The message is too long for an approval file: with its text, its HTML source and its HTML as text, the "
            "file would exceed 1 MiB. Shorten the body, leave out body_html, or attach the text as a file.",
            details={"field": "body"},
        )


def parse(raw: bytes) -> ApprovalFile:
    """Read a file a person may have edited; InvalidRequest says what is wrong with it."""
    if len(raw) > MAX_FILE_BYTES:
        raise _bad("is larger than 1 MiB")
    found = _FENCE.match(raw)
    if found is None:
        raise _bad("has no front matter that begins and ends with ---")
    try:
        yaml, body = found["yaml"].decode("utf-8"), (found["body"] or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise _bad("is not UTF-8") from None
    values = _flat_mapping(yaml)
    unknown = sorted(set(values) - set(_KEYS))
    values = {key: value for key, value in values.items() if key in _KEYS}  # Obsidian adds tags, aliases, ...
    to = values.pop("to", ())
    if any(isinstance(value, tuple) for value in values.values()):
        raise _bad("has a list where a single value is required")
    file = ApprovalFile(**{"type": "", "status": "", **values}, to=(to,) if isinstance(to, str) else to, body=body)
    if file.type not in get_args(SendKind):
        extra = f" (keys not understood: {', '.join(unknown)[:80]})" if unknown else ""
        raise _bad(f"needs type: {', '.join(get_args(SendKind))}{extra}")
    return file


_KEYS = (
    "type",
    "status",
    "action_type",
    "approval_id",
    "to",
    "thread_id",
    "subject",
    "created",
    "approved_at",
    "expires",
    "content_sha256",
)


def _flat_mapping(text: str) -> dict[str, Any]:
    """The one mapping of the front matter, from YAML events rather than from a constructor that could be tricked."""
    import yaml

    reader = _FlatReader()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
            _refuse_cleverness(event)
            step = reader.steps.get(type(event).__name__)
            if step is not None:
                step(event)
    except yaml.YAMLError:
        raise _bad("has front matter that is not valid YAML") from None
    return reader.values


class _FlatReader:
    """Takes YAML events for ``key: scalar`` and ``key: [scalars]`` and refuses every other shape."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._has_begun = False
        self._key: str | None = None
        self._items: list[str] | None = None
        self.steps = {
            "ScalarEvent": self._scalar,
            "MappingStartEvent": self._mapping,
            "SequenceStartEvent": self._sequence,
            "SequenceEndEvent": self._sequence_end,
        }

    def _scalar(self, event: Any) -> None:
        if self._items is not None:
            self._items.append(event.value)
        elif self._key is not None:
            self.values[self._key], self._key = event.value, None
        elif not self._has_begun or event.value in self.values:
            raise _bad("has front matter that is not a mapping, or repeats a key")
        else:
            self._key = event.value

    def _mapping(self, _: Any) -> None:
        if self._has_begun:
            raise _bad("has a mapping inside its front matter")
        self._has_begun = True

    def _sequence(self, _: Any) -> None:
        if self._key is None or self._items is not None:
            raise _bad("has a list where none is allowed")
        self._items = []

    def _sequence_end(self, _: Any) -> None:
        self.values[str(self._key)] = tuple(self._items or ())
        self._key = self._items = None


def _refuse_cleverness(event: Any) -> None:
    if getattr(event, "anchor", None):  # an alias has the name of its anchor
        raise _bad("uses YAML anchors or aliases")
    if getattr(event, "tag", None):
        raise _bad("uses YAML tags")


def _bad(what: str) -> InvalidRequest:
    return InvalidRequest(f"The approval file {what}. It was not used.")
