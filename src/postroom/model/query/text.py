"""The query language, parsed into the tree of `model.query.tree` and written back.

    words  "a phrase"  prefix*  -not  (a OR b)  {a b}  from:anna  subject:(spring offer)  after:2026-01-31  larger:5M

Adjacent terms must all match. OR joins only its two neighbours and binds tighter than that, as in Gmail:
``invoice from:anna OR from:bob`` finds an invoice from either. Operators may be written in any case, OR, AND and
NOT in capitals. Days are those of the given time zone; after: includes its moment, before: does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

from postroom.model.query.fields import GROUPED, OPERATORS, field_leaf, leaf_text, text_leaf
from postroom.model.query.tokens import Kind, Token, refusal, tokenize
from postroom.model.query.tree import And, Node, Not, Or, Query

MAX_LENGTH, MAX_DEPTH = 1000, 20

_STARTS_OPERAND: tuple[Kind, ...] = ("word", "phrase", "field", "open", "open_any", "NOT")


def parse_query(text: str, *, now: datetime, zone: tzinfo | None = UTC) -> Query:
    """InvalidRequest, naming the fix, for anything malformed. `now` is what older_than: and newer_than: count from;
    days are those of `zone`, None being the machine's own."""
    if len(text) > MAX_LENGTH:
        raise refusal(f"The query is longer than {MAX_LENGTH} characters. Search for fewer words.")
    reader = _Reader(tokenize(text), now, zone)
    node = reader.read_all()
    return Query(node, reader.anywhere)


def to_text(query: Query) -> str:
    """The query as text: `parse_query` parses it to the same tree."""
    parts = [*(["in:anywhere"] if query.anywhere else []), *([_text(query.node)] if query.node is not None else [])]
    return " ".join(parts)


class _Reader:
    """Reads tokens from left to right. What is not a condition (``in:anywhere``) is None."""

    def __init__(self, tokens: Sequence[Token], now: datetime, zone: tzinfo | None) -> None:
        self._tokens = tokens
        self._position = 0
        self._now = now
        self._zone = zone
        self.anywhere = False  # in:anywhere is not a condition; it only widens where the rest is searched

    def read_all(self) -> Node | None:
        if not self._tokens:
            return None
        node = self._all_of("", 0)
        if self._at("close"):
            raise refusal("A ) has no ( before it. Remove it, or put parentheses around the part you mean.")
        if self._at("close_any"):
            raise refusal("A } has no { before it. Remove it, or put braces around the alternatives.")
        return node

    def _all_of(self, operator: str, depth: int) -> Node | None:
        nodes = [self._any_of(operator, depth)]
        while self._at("AND", *_STARTS_OPERAND):
            if self._at("AND"):
                self._take()
            nodes.append(self._any_of(operator, depth))
        return _joined(And, [node for node in nodes if node is not None])

    def _any_of(self, operator: str, depth: int) -> Node | None:
        nodes = [self._operand(operator, depth)]
        while self._at("OR"):
            self._take()
            nodes.append(self._operand(operator, depth))
        return _either(nodes)

    def _operand(self, operator: str, depth: int) -> Node | None:
        if not self._at(*_STARTS_OPERAND):
            raise refusal("OR, AND, NOT and ( need a search term after them; OR and AND also need one before them.")
        if depth > MAX_DEPTH:
            raise refusal(f"The query is nested more than {MAX_DEPTH} levels deep. Simplify it.")
        token = self._take()
        if token.kind == "NOT":
            return self._negated(operator, depth)
        if token.kind in ("open", "open_any"):
            return self._group(token, operator, depth)
        if token.kind == "field":
            return self._field(token.text.lower(), operator, depth)
        return field_leaf(operator, token, self._now, self._zone) if operator else text_leaf(token)

    def _negated(self, operator: str, depth: int) -> Node:
        node = self._operand(operator, depth + 1)
        if node is None:
            raise refusal("-in:anywhere would exclude every message. Remove it.")
        return Not(node)

    def _group(self, opening: Token, operator: str, depth: int) -> Node | None:
        if opening.kind == "open_any":
            return self._alternatives(operator, depth)
        node = self._all_of(operator, depth + 1)
        if not self._at("close"):
            raise refusal("A ( is never closed. Add the missing ).")
        self._take()
        return node

    def _alternatives(self, operator: str, depth: int) -> Node | None:
        nodes = [self._any_of(operator, depth + 1)]
        while self._at(*_STARTS_OPERAND):
            nodes.append(self._any_of(operator, depth + 1))
        if not self._at("close_any"):
            raise refusal("A { is never closed. Add the missing }.")
        self._take()
        return _either(nodes)

    def _field(self, operator: str, outer: str, depth: int) -> Node | None:
        if outer:
            raise refusal(f"{operator}: cannot be used inside {outer}:( ). Close the parenthesis first.")
        token = self._take()
        if token.kind not in ("open", "open_any"):
            leaf = field_leaf(operator, token, self._now, self._zone)
            self.anywhere = self.anywhere or leaf is None
            return leaf
        if operator in OPERATORS and operator not in GROUPED:
            raise refusal(f"{operator}: takes a single value, without parentheses.")
        return self._group(token, operator, depth)

    def _at(self, *kinds: Kind) -> bool:
        return self._position < len(self._tokens) and self._tokens[self._position].kind in kinds

    def _take(self) -> Token:
        self._position += 1
        return self._tokens[self._position - 1]


def _either(nodes: Sequence[Node | None]) -> Node | None:
    """With an alternative that is no condition there is none."""
    known = [node for node in nodes if node is not None]
    return _joined(Or, known) if len(known) == len(nodes) else None


def _joined(kind: type[And] | type[Or], nodes: Sequence[Node]) -> Node | None:
    """A single condition needs no group; a group within a group of its kind is merged into it."""
    flat = tuple(part for node in nodes for part in (node.nodes if isinstance(node, kind) else (node,)))
    return (flat[0] if len(flat) == 1 else kind(flat)) if flat else None


def _text(node: Node) -> str:
    if isinstance(node, Not):
        return f"-{_inner_text(node.node)}"
    if isinstance(node, (And, Or)):
        return (" OR " if isinstance(node, Or) else " ").join(map(_inner_text, node.nodes))
    return leaf_text(node)


def _inner_text(node: Node) -> str:
    return f"({_text(node)})" if isinstance(node, (And, Or)) else _text(node)
