"""The proxy that all layers share: a provider whose methods pass through several layers.

A layer gets a method's name and the call beneath it and returns the call to make instead. Only methods that the
provider has are wrapped, as real attributes, so `isinstance(mailbox, Labels)` stays as true or false as it was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from postroom.model.errors import Unsupported
from postroom.providers.layers.verbs import PLAIN, READING, WRITING

Call = Callable[..., Awaitable[Any]]
Layer = Callable[[str, Call], Call]


async def wait_for(seconds: float) -> None:
    """How layers wait unless a test says otherwise."""
    import anyio

    await anyio.sleep(seconds)


class AbsentVerb(Unsupported, AttributeError):
    """Unsupported when the method is called; a missing attribute to `hasattr` and `isinstance`."""


class Layered:
    """`layers` are applied in order: the last one is the outermost."""

    def __init__(self, inner: object, provider: str, layers: Sequence[Layer]) -> None:
        self._inner = inner
        self._provider = provider
        for verb in (READING | WRITING).intersection(dir(inner)):
            setattr(self, verb, _covered(verb, getattr(inner, verb), layers))
        for verb in PLAIN.intersection(dir(inner)):
            setattr(self, verb, getattr(inner, verb))

    def __getattr__(self, name: str) -> Any:
        if name in READING or name in WRITING or name in PLAIN:
            raise AbsentVerb(self._provider, name)
        raise AttributeError(f"{name} is not a method of the provider interface; see providers/layers/verbs.py")


def unwrapped(provider: Any) -> Any:
    """The provider itself: for a transport that shares its mailbox's connection or file, never for a front end."""
    while isinstance(provider, Layered):
        provider = provider._inner
    return provider


def at_server(mailbox: Any) -> Any:
    """The same mailbox where no layer answers in the server's place: what a decision to send rests on."""
    return getattr(mailbox, "at_server", mailbox)


def _covered(verb: str, call: Call, layers: Sequence[Layer]) -> Call:
    for layer in layers:
        call = layer(verb, call)
    return call
