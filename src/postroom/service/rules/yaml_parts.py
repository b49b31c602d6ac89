"""YAML that somebody else wrote, as parts that know their line and name. Bounded; no anchors, aliases or tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from postroom.mime.clean import clean_line
from postroom.model.errors import InvalidRequest

MAX_CHARS, MAX_DEPTH, MAX_PARTS = 16_384, 6, 1_000
_WHOLE = re.compile(r"[-+]?[0-9]{1,15}\Z", re.ASCII)
_DECIMAL = re.compile(r"[-+]?[0-9]{1,15}\.[0-9]{1,9}\Z", re.ASCII)
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


@dataclass(frozen=True, slots=True)
class Part:
    """One value of the document. `path` is where it stands, like ``conditions[0].operator``."""

    node: Any
    path: str

    def refused(self, what: str) -> InvalidRequest:
        return refused(what, self.node.start_mark.line + 1, self.path)

    def entries(self, allowed: Sequence[str], required: Collection[str] = ()) -> dict[str, Part]:
        if self.node.id != "mapping":
            raise self.refused(f"must be a mapping with the keys {_some(allowed)}")
        found: dict[str, Part] = {}
        for key_node, value in self.node.value:
            part = Part(key_node, self._below(str(key_node.value)[:40] if key_node.id == "scalar" else "?"))
            key = part.text() if key_node.id == "scalar" else ""
            if key not in allowed:
                raise part.refused(f"is not a key of a rule. Allowed here: {_some(allowed)}")
            if key in found:
                raise part.refused("stands here twice. Keep one")
            found[key] = Part(value, part.path)
        for key in required:
            if key not in found:
                raise Part(self.node, self._below(key)).refused("is missing")
        return found

    def items(self, most: int) -> list[Part]:
        if self.node.id != "sequence" or not self.node.value:
            raise self.refused("must be a list with at least one entry")
        if len(self.node.value) > most:
            raise self.refused(f"has {len(self.node.value)} entries; {most} are allowed")
        return [Part(node, f"{self.path}[{place}]") for place, node in enumerate(self.node.value)]

    @property
    def is_list(self) -> bool:
        return bool(self.node.id == "sequence")

    @property
    def is_mapping(self) -> bool:
        return bool(self.node.id == "mapping")

    def text(self, most: int = 200) -> str:
        """A single line, as it stands: ``2026`` and ``yes`` are texts where a text is wanted."""
        value = self._scalar("a text").strip()
        if not value or len(value) > most or not value.isprintable():
            raise self.refused(f"must be 1 to {most} characters on one line, without control characters")
        return value

    def choice(self, options: Sequence[str]) -> str:
        value = self._scalar("one of " + _some(options))
        if value not in options:
            raise self.refused(f"must be one of {_some(options)}")
        return value

    def switch(self) -> bool:
        value = self._scalar("true or false").lower()
        if value not in _YES + _NO:
            raise self.refused("must be true or false")
        return value in _YES

    def whole(self, least: int, most: int) -> int:
        value = self._scalar("a number")
        if not _WHOLE.match(value) or not least <= int(value) <= most:
            raise self.refused(f"must be a whole number from {least} to {most}")
        return int(value)

    def number(self, most: int) -> str:
        """A number that is not negative, as text."""
        value = self._scalar("a number")
        if not (_WHOLE.match(value) or _DECIMAL.match(value)) or not 0 <= float(value) <= most:
            raise self.refused(f"must be a number from 0 to {most}")
        return value.lstrip("+")

    def checked(self, read: Callable[[str], object], hint: str) -> str:
        """The text, if `read` takes it."""
        value = self.text()
        try:
            read(value)
        except InvalidRequest:
            raise self.refused(hint) from None
        return value

    def _scalar(self, wanted: str) -> str:
        if self.node.id != "scalar" or (self.node.tag.endswith(":null") and not self.node.value):
            raise self.refused(f"must be {wanted}")
        return str(self.node.value)

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def parsed(text: str) -> Part:
    """The one document in the text."""
    import yaml

    if len(text) > MAX_CHARS:
        raise refused(f"is longer than {MAX_CHARS} characters", 1, "")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_shape(yaml.parse(text, Loader=loader))
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        hint = "Put values that begin with * or contain : # { or [ in quotes"
        raise refused(f"is not valid YAML ({error.problem or 'syntax error'}). {hint}", line, "") from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise refused("is not valid YAML (it has a character that is not allowed)", 1, "") from None
    if node is None:
        raise refused("is empty", 1, "")
    return Part(node, "")


def _check_shape(events: Any) -> None:
    """Before anything is built of them: depth and number are bounded, and every text stands where it counts."""
    depth = documents = 0
    for parts, event in enumerate(events):
        kind, line = type(event).__name__, event.start_mark.line + 1
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        documents += kind == "DocumentStartEvent"
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise refused(
                "uses a YAML anchor or alias (& or *). Write the value out, in quotes if it has a *", line, ""
            )
        if getattr(event, "tag", None):
            raise refused("uses a YAML tag (!). Put the value in quotes", line, "")
        if depth > MAX_DEPTH + 2 or parts > MAX_PARTS:  # the stream and the document are two levels of their own
            raise refused("is nested too deeply or has too many values", line, "")
        if documents > 1:
            raise refused("holds more than one document. Create one rule at a time", line, "")


def refused(what: str, line: int, path: str) -> InvalidRequest:
    where = f"{clean_line(path)[:80]} {what}" if path else f"it {what}"
    return InvalidRequest(
        f"The rule cannot be used: line {line}: {where}. Nothing was saved or changed.",
        details={"field": "rule_yaml", "line": line, **({"path": clean_line(path)[:80]} if path else {})},
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names)
