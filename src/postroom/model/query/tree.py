"""A parsed search: the tree that every provider translates into its own query language.

`model.query.text.parse` parses the query language into this; `model.query.match.matches` applies to one message
the parts that a server cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

AddressField = Literal["from", "to", "cc"]
Flag = Literal["unread", "read", "starred", "unstarred", "draft", "answered", "forwarded"]


@dataclass(frozen=True, slots=True)
class Text:
    """A word or a phrase anywhere: subject, addresses, body. `prefix` is a word with a ``*`` after it."""

    value: str
    phrase: bool = False
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Correspondent:
    """from: to: cc: — part of an address or of a name; a value with an ``@`` matches the address."""

    field: AddressField
    value: str


@dataclass(frozen=True, slots=True)
class Subject:
    value: str
    phrase: bool = False


@dataclass(frozen=True, slots=True)
class HasAttachment:
    pass


@dataclass(frozen=True, slots=True)
class Is:
    flag: Flag


@dataclass(frozen=True, slots=True)
class In:
    """A folder by name or role. If a message is in several, any of them."""

    folder: str


@dataclass(frozen=True, slots=True)
class Label:
    name: str


@dataclass(frozen=True, slots=True)
class After:
    """Dated at or after this moment."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class Before:
    """Dated before this moment."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class Larger:
    size: int


@dataclass(frozen=True, slots=True)
class Smaller:
    size: int


@dataclass(frozen=True, slots=True)
class Filename:
    """Part of an attachment's name."""

    value: str


@dataclass(frozen=True, slots=True)
class MessageId:
    """The message with that Message-ID, in every copy of it. Not part of the language people write."""

    value: str


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


@dataclass(frozen=True, slots=True)
class And:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    nodes: tuple[Node, ...]


Leaf = (
    Text
    | Correspondent
    | Subject
    | HasAttachment
    | Is
    | In
    | Label
    | After
    | Before
    | Larger
    | Smaller
    | Filename
    | MessageId
)
Node = Leaf | Not | And | Or


@dataclass(frozen=True, slots=True)
class Query:
    """`node` None means everything. Without an `In` the query covers every folder except Trash and Junk.

    `anywhere` (``in:anywhere``) covers those two as well. A message in one of the two counts as there, even if it
    is in another folder too.
    """

    node: Node | None = None
    anywhere: bool = False

    def narrowed(self, *more: Node) -> Query:
        """This query with further conditions that must also match."""
        nodes = ((self.node,) if self.node is not None else ()) + more
        if not nodes:
            return self
        return Query(nodes[0] if len(nodes) == 1 else And(nodes), self.anywhere)

    def mapped(self, change: Callable[[Leaf], Node]) -> Query:
        """This query with every condition replaced by the result of `change`."""
        return self if self.node is None else Query(_mapped(self.node, change), self.anywhere)

    def leaves(self) -> Iterator[Leaf]:
        return _leaves(self.node)

    @property
    def names_folder(self) -> bool:
        """Whether the query itself says where to look."""
        return self.anywhere or any(isinstance(leaf, In) for leaf in self.leaves())


def _leaves(node: Node | None) -> Iterator[Leaf]:
    if node is None:
        return
    if isinstance(node, Not):
        yield from _leaves(node.node)
    elif isinstance(node, (And, Or)):
        for child in node.nodes:
            yield from _leaves(child)
    else:
        yield node


def _mapped(node: Node, change: Callable[[Leaf], Node]) -> Node:
    if isinstance(node, Not):
        return Not(_mapped(node.node, change))
    if isinstance(node, (And, Or)):
        return type(node)(tuple(_mapped(child, change) for child in node.nodes))
    return change(node)
