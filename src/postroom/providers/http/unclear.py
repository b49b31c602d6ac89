"""Writes with an unknown outcome: the request was sent, and no response settles it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from postroom.model.errors import AuthRequired, PostroomError, ProviderError, ProviderUnavailable
from postroom.model.outcome import SubmitOutcome


class UnclearWrite(ProviderError):
    """The request was being sent and its response is lost, unreadable, or a server error (5xx).

    Every other error of a write means that it certainly did not happen.
    """

    def __init__(self, host: str, what: str, *, status: int = 0) -> None:
        super().__init__(
            f"{host} {what}, so the change may or may not have happened. Check before trying again.",
            details={"status": status} if status else None,
        )


def submit_outcome(error: PostroomError) -> SubmitOutcome:
    """The outcome of a failed submission, as the outbox records it."""
    if isinstance(error, UnclearWrite):
        return SubmitOutcome("unknown", reason=error.message)
    if isinstance(error, AuthRequired):
        return SubmitOutcome("retryable", reason=error.message, login_refused=True, error=error)
    if error.retryable:
        return SubmitOutcome("retryable", reason=error.message, retry_after=error.retry_after, error=error)
    return SubmitOutcome("rejected", reason=error.message, error=error)


@contextmanager
def nothing_sent() -> Iterator[None]:
    """For staging: a response that is lost or cannot be read while a draft is being prepared is no reason to give up.
    What it may have left behind is looked for, and the step repeated, later."""
    try:
        yield
    except ProviderError as error:
        raise error if error.retryable else ProviderUnavailable(error.message) from error
