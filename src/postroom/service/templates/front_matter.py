"""A template file: YAML front matter between lines of ``---``, then the body.

```
---
subject: Welcome, {{ first_name }}
description: The first message to a new customer
variables:
  first_name:                        # no default: required
  product: Postroom                  # a default
  phone: {required: false, description: With country code}
---
Dear {{ first_name }}, ...
```

Anchors, aliases, tags and repeated keys are refused: what a person reads is what is used.
"""

from __future__ import annotations

import re
from typing import Any

from postroom.model.characters import yaml_quoted
from postroom.model.errors import InvalidRequest
from postroom.service.templates.engine import is_name
from postroom.service.templates.template import Format, Template, Variable, make

_FENCE = re.compile(r"\A---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER = 16_000
_DEEPEST = 3  # the mapping, `variables` in it, one variable in that
_KEYS = ("name", "subject", "description", "variables")
MAX_DESCRIPTION = 500


def read(name: str, fmt: Format, raw: bytes) -> Template:
    """InvalidRequest says which line is wrong and why."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise _wrong(1, "is not UTF-8") from None
    if "\0" in text:
        raise _wrong(1 + text.count("\n", 0, text.index("\0")), "contains a NUL character")
    found = _FENCE.match(text)
    if found is None and text.startswith("---\n"):
        raise _wrong(1, "opens front matter that no line with --- closes")
    head = _Head(found["yaml"] if found else "", name)
    body = found["body"] if found else text
    first_line = 1 + text.count("\n", 0, len(text) - len(body))
    said = {"subject": head.text("subject"), "description": head.text("description")[:MAX_DESCRIPTION]}
    return make(name, fmt, body=body, declared=head.variables(), first_line=first_line, **said)


def write(template: Template) -> bytes:
    """As `read` reads it, every value in quotes."""
    lines = ["---", f"name: {yaml_quoted(template.name)}", f"subject: {yaml_quoted(template.subject)}"]
    if template.description:
        lines.append(f"description: {yaml_quoted(template.description)}")
    if template.variables:
        lines += ["variables:", *map(_declaration, template.variables)]
    return ("\n".join([*lines, "---", ""]) + template.body).encode()


def _declaration(variable: Variable) -> str:
    return f"  {variable.name}:" + ("" if variable.required else f" {yaml_quoted(variable.default)}")


class _Head:
    """The front matter by key; a wrong value is reported with its line in the file."""

    def __init__(self, text: str, name: str) -> None:
        self._nodes = _mapping(_root(text), _KEYS) if text.strip() else {}
        if "name" in self._nodes and self.text("name") != name:
            raise _wrong_node(
                self._nodes["name"], "has a name other than the file's; rename the file or remove the line"
            )

    def text(self, key: str) -> str:
        return _scalar(self._nodes[key], key) if key in self._nodes else ""

    def variables(self) -> tuple[Variable, ...]:
        import yaml

        node = self._nodes.get("variables")
        if node is None or _is_null(node):
            return ()
        if isinstance(node, yaml.SequenceNode):
            return tuple(_variable(_scalar(item, "a variable"), None, item) for item in node.value)
        return tuple(_variable(name, value, value) for name, value in _mapping(node).items())


def _variable(name: str, value: Any, node: Any) -> Variable:
    import yaml

    if not is_name(name):
        raise _wrong_node(node, "declares a variable whose name is not letters, digits and _ (at most 64)")
    if value is None or _is_null(value):
        return Variable(name)
    if not isinstance(value, yaml.MappingNode):
        return Variable(name, required=False, default=_scalar(value, name))
    said = {key: _scalar(item, key) for key, item in _mapping(value, ("default", "required", "description")).items()}
    required = said.get("required", "false" if "default" in said else "true").lower()
    if required not in ("true", "false"):
        raise _wrong_node(value, "must say required: true or required: false")
    if required == "true" and "default" in said:
        raise _wrong_node(value, "declares a variable that is required and has a default; keep one of them")
    return Variable(name, required == "true", said.get("default", ""), said.get("description", "")[:MAX_DESCRIPTION])


def _root(text: str) -> Any:
    """The tree of YAML nodes, after a look at the events: no constructor is ever run."""
    import yaml

    if len(text) > _MAX_FRONT_MATTER:
        raise _wrong(2, f"has front matter of more than {_MAX_FRONT_MATTER} characters")
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise _wrong_node(event, "is nested too deeply")
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise _wrong_node(event, "uses a YAML anchor, alias or tag")
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or "not valid YAML"
        raise _wrong(
            2 + (mark.line if mark else 0), f"is not valid YAML ({said}); put values with : or {{ in quotes"
        ) from None


def _mapping(node: Any, allowed: tuple[str, ...] = ()) -> dict[str, Any]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise _wrong_node(node, "must be a mapping of keys and values")
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = _scalar(key, "a key")
        if allowed and name not in allowed:
            raise _wrong_node(key, f"has the unknown key {name[:60]}; known are {', '.join(allowed)}")
        if name in found:
            raise _wrong_node(key, f"repeats the key {name[:60]}")
        found[name] = value
    return found


def _scalar(node: Any, key: str) -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        raise _wrong_node(node, f"must have text for {key[:60]}; put it in quotes if it begins with {{{{")
    return "" if _is_null(node) else str(node.value)


def _is_null(node: Any) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _wrong_node(node: Any, what: str) -> InvalidRequest:
    return _wrong(2 + node.start_mark.line, what)


def _wrong(line: int, what: str) -> InvalidRequest:
    return InvalidRequest(f"Line {line} {what}.", reason="invalid_template", details={"line": line})
