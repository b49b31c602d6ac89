"""The result of asking a provider to do something: per item for organising, per recipient for sending."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from postroom.model.errors import PostroomError
from postroom.model.native import NativeAction


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One message of a batch. `new_ref` is set if the provider gave it a new ref (a move over IMAP)."""

    ref: str
    error: PostroomError | None = None
    new_ref: str = ""

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, slots=True)
class WireEnvelope:
    """Who actually receives the bytes: what SMTP calls MAIL FROM and RCPT TO."""

    sender: str
    recipients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """Frozen bytes to be sent; or `native` and no bytes: an action that the provider carries out itself.

    `attempt_id` is stable over retries of the same outbox row. `staged_ref` is what `Staging.stage` returned.
    """

    envelope: WireEnvelope
    raw: bytes
    message_id: str
    attempt_id: str
    thread_ref: str = ""
    draft_ref: str = ""  # set when an existing draft is to be sent
    save_to_sent: bool = True
    staged_ref: str = ""
    native: NativeAction | None = None
    others_sent: frozenset[str] = frozenset()  # for `reconcile`: the message refs that other sends ended with

    def __post_init__(self) -> None:
        if self.native is not None and self.raw:
            raise ValueError("a request has either bytes or a native action, never both")


@dataclass(frozen=True, slots=True)
class Staged:
    """What a provider holds before a submission: the message as it would be sent now, and everyone it would go to."""

    raw: bytes
    recipients: tuple[str, ...]


SubmitState = Literal["accepted", "rejected", "retryable", "unknown"]


@dataclass(frozen=True, slots=True)
class SubmitOutcome:
    """What the provider says about a submission. "Accepted" means it took responsibility, never that it delivered.

    - accepted: for at least the recipients in `accepted`;
    - rejected: definite and permanent, nothing was sent;
    - retryable: provably not accepted, may be tried again;
    - unknown: the response was lost; only reconciling or a person can find out.
    """

    state: SubmitState
    accepted: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)  # recipient -> reason
    message_ref: str = ""
    thread_ref: str = ""
    reason: str = ""
    retry_after: float | None = None
    warnings: tuple[str, ...] = ()
    login_refused: bool = False  # the server no longer accepts the login: nothing can be sent from this account
    error: PostroomError | None = None  # what `reason` says, for dialects that word it themselves
