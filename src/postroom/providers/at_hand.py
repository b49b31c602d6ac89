"""What a mailbox may offer whose messages are on this machine too, beside the interface of providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from postroom.model.message import Envelope, Message


@runtime_checkable
class FoundAndFetched(Protocol):
    """Opens messages in the same look that finds them. `choose` may be called in any thread, more than once. None where
    the answer is not at hand, or not all of it: then whoever asks goes step by step."""

    async def fetch_thread(
        self, thread_ref: str, choose: Callable[[Sequence[Envelope]], Sequence[Envelope]]
    ) -> tuple[list[Envelope], dict[str, Message]] | None:
        """As `thread`, and those that were chosen of it, by ref."""
        ...

    async def fetch_with_ids(
        self, message_ids: Sequence[str], choose: Callable[[Sequence[Envelope]], Envelope | None]
    ) -> tuple[Message | None] | None:
        """The one that was chosen of `mails_with_ids`, or that none was."""
        ...


@runtime_checkable
class Greeted(Protocol):
    """Can tell a server that does not respond at all from one that takes long over an answer."""

    async def greeting(self) -> None:
        """Returns as soon as the server responds to a new connection, or the attempt fails, whatever the reason."""
        ...


@runtime_checkable
class Conversations(Protocol):
    """Knows which thread refs are of one conversation, where the server itself cannot tell."""

    async def conversation_names(self, thread_refs: Sequence[str]) -> Mapping[str, str]:
        """For each ref that is known, the one that stands for all of its conversation. Never fails."""
        ...
