"""A query in a server's own language, as two bounds.

What a server cannot express exactly (an attachment, an hour of the day) is bracketed: `upper` finds every message that
may match, `lower` only messages that surely do. Where both are equal the server's result is exact; otherwise only the
messages between the two are checked. NOT simply swaps the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from postroom.model.query.tree import And, In, Leaf, Node, Not, Or

W = TypeVar("W")  # conditions as one server writes them

TRUE, FALSE = And(()), Or(())  # nodes that match every message and none


@dataclass(frozen=True, slots=True)
class Bounds(Generic[W]):
    upper: W
    lower: W

    @property
    def are_exact(self) -> bool:
        return self.upper == self.lower


def exact(words: W) -> Bounds[W]:
    return Bounds(words, words)


@dataclass(frozen=True, slots=True)
class Joints(Generic[W]):
    """How a server's conditions are combined."""

    negated: Callable[[W], W]
    all_of: Callable[[list[W]], W]
    any_of: Callable[[list[W]], W]


def bounds_of(node: Node, say: Callable[[Leaf], Bounds[W]], joints: Joints[W]) -> Bounds[W]:
    """`say` translates a single condition into the server's language."""
    if isinstance(node, Not):
        inner = bounds_of(node.node, say, joints)
        return Bounds(joints.negated(inner.lower), joints.negated(inner.upper))
    if isinstance(node, (And, Or)):
        join = joints.all_of if isinstance(node, And) else joints.any_of
        parts = [bounds_of(child, say, joints) for child in node.nodes]
        return Bounds(join([part.upper for part in parts]), join([part.lower for part in parts]))
    return say(node)


def within(node: Node, is_in: Callable[[str], bool]) -> Node:
    """The query inside one folder: every In is decided and simplified away."""
    if isinstance(node, In):
        return TRUE if is_in(node.folder) else FALSE
    if isinstance(node, Not):
        inner = within(node.node, is_in)
        if inner in (TRUE, FALSE):
            return FALSE if inner == TRUE else TRUE
        return Not(inner)
    if isinstance(node, And):
        kept = [child for child in (within(child, is_in) for child in node.nodes) if child != TRUE]
        return FALSE if FALSE in kept else _one_or(And, kept)
    if isinstance(node, Or):
        kept = [child for child in (within(child, is_in) for child in node.nodes) if child != FALSE]
        return TRUE if TRUE in kept else _one_or(Or, kept)
    return node


def _one_or(kind: type[And] | type[Or], nodes: Sequence[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else kind(tuple(nodes))
