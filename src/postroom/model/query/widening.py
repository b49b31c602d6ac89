"""A query without the conditions that a provider cannot apply at all, which are reported instead."""

from __future__ import annotations

from collections.abc import Collection

from postroom.model.query.tree import (
    After,
    And,
    Before,
    Correspondent,
    Filename,
    HasAttachment,
    In,
    Is,
    Label,
    Larger,
    Leaf,
    MessageId,
    Node,
    Not,
    Or,
    Query,
    Smaller,
    Subject,
    Text,
)

_FIELDS: dict[type, str] = {
    Text: "text",
    Subject: "subject",
    HasAttachment: "has",
    Is: "is",
    In: "in",
    Label: "label",
    After: "after",
    Before: "before",
    Larger: "larger",
    Smaller: "smaller",
    Filename: "filename",
    MessageId: "message_id",
}


def field_of(leaf: Leaf) -> str:
    """The operator's name before the colon; ``text`` for bare words."""
    return leaf.field if isinstance(leaf, Correspondent) else _FIELDS[type(leaf)]


def widened(query: Query, unknown: Collection[str]) -> tuple[Query, tuple[str, ...]]:
    """A query without the fields in `unknown` that finds at least what this one would; and which of them it had."""
    left_out = tuple(sorted({field for leaf in query.leaves() if (field := field_of(leaf)) in unknown}))
    if query.node is None or not left_out:
        return query, left_out
    return Query(_widened(query.node, unknown, holds=True), query.anywhere), left_out


def _widened(node: Node, unknown: Collection[str], *, holds: bool) -> Node:
    """An unknown condition is assumed true; below a NOT, false."""
    if isinstance(node, Not):
        return Not(_widened(node.node, unknown, holds=not holds))
    if isinstance(node, (And, Or)):
        return type(node)(tuple(_widened(child, unknown, holds=holds) for child in node.nodes))
    if field_of(node) in unknown:
        return And(()) if holds else Or(())
    return node
