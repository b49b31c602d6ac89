"""Values that travel between processes in bulk are rebuilt from their fields, in one call each.

What `dataclass(slots=True)` generates for pickling sets the fields one by one in Python and takes twice as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


def pickled_by_fields(kind: type[T]) -> type[T]:
    """For a dataclass of two or more fields, all of which its constructor takes."""
    values: Callable[[T], tuple[Any, ...]] = attrgetter(*(field.name for field in fields(kind)))  # type: ignore[arg-type]

    def reduce(self: T) -> tuple[type[T], tuple[Any, ...]]:
        return kind, values(self)

    kind.__reduce__ = reduce  # type: ignore[assignment]
    return kind


def with_fields(value: T, **changes: Any) -> T:
    """As `dataclasses.replace`, in a third of the time, for what is pickled by fields."""
    kind = type(value)
    values: tuple[Any, ...] = value.__reduce__()[1]  # type: ignore[assignment]
    return kind(*map(changes.get, _names(kind), values))  # type: ignore[arg-type]


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
