"""Decides what a server cannot: message by message, from as little of each as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from postroom.model.errors import InvalidRequest
from postroom.model.message import Envelope
from postroom.model.query.match import matches
from postroom.model.query.tree import And, Leaf, Node, Not, Or, Query, Text
from postroom.providers.querying.bounds import FALSE, TRUE

READ_WHOLE = 500  # undecided messages that are read at most, where a server cannot search for parts of words

Key = TypeVar("Key")  # how the server identifies a message


class Judge(Generic[Key]):
    """Decides single messages. What the server can match exactly is asked once, as a set; only the rest is done here.

    `is_exact` says whether the server can match a condition; `ask` returns the messages that fulfil one.
    """

    def __init__(self, node: Node, is_exact: Callable[[Node], bool], ask: Callable[[Node], set[Key]]) -> None:
        self._is_exact = is_exact
        self._ask = ask
        self._node = self._undecided(node)
        self._known: dict[Node, set[Key]] = {}
        leaves = list(Query(self._node).leaves())
        self.ours: tuple[Leaf, ...] = tuple(leaf for leaf in leaves if not is_exact(leaf))
        self._is_ours_alone = len(self.ours) == len(leaves)

    @property
    def reads_text(self) -> bool:
        return any(isinstance(leaf, Text) for leaf in self.ours)

    def require_few(self, undecided: int) -> None:
        """Checking a message's structure is cheap, reading many messages is not."""
        if self.reads_text and undecided > READ_WHOLE:
            raise InvalidRequest(
                "This mail server matches whole words only, and too many messages would have to be read to find those "
                "with a word that starts like this. Write out the words, like invoice OR invoices, or narrow the "
                "search with in:, from: or after:.",
                details={"field": "query"},
            )

    def accepts(self, key: Key, envelope: Envelope, text: str = "", filenames: Sequence[str] = ()) -> bool:
        """From as much of the message as `ours` asks for."""
        node = self._node if self._is_ours_alone else self._with_answers(self._node, key)
        return matches(node, envelope, text, filenames)

    def _undecided(self, node: Node) -> Node:
        """Without the conditions that every candidate fulfils already."""
        if isinstance(node, And):
            return And(tuple(child for child in node.nodes if not self._is_exact(child)))
        return node

    def _with_answers(self, node: Node, key: Key) -> Node:
        if self._is_exact(node):
            return TRUE if key in self._fulfilling(node) else FALSE
        if isinstance(node, Not):
            return Not(self._with_answers(node.node, key))
        if isinstance(node, (And, Or)):
            return type(node)(tuple(self._with_answers(child, key) for child in node.nodes))
        return node

    def _fulfilling(self, node: Node) -> set[Key]:
        if node not in self._known:
            self._known[node] = self._ask(node)
        return self._known[node]
