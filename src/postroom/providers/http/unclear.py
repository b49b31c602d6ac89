"""What may have happened or not: a request that changes something, and no answer that settles it."""

from __future__ import annotations

from postroom.model.errors import AuthRequired, PostroomError, ProviderError
from postroom.model.outcome import SubmitOutcome


class UnclearWrite(ProviderError):
    """The request was on its way and its answer is lost, unreadable, or a failure of the server's own (5xx).

    Every other error of a write means that it was certainly not done.
    """

    def __init__(self, host: str, what: str) -> None:
        super().__init__(f"{host} {what}, so the change may or may not have happened. Check before trying again.")


def submit_outcome(error: PostroomError) -> SubmitOutcome:
    """What a failed submission came to, in the words of the outbox."""
    if isinstance(error, UnclearWrite):
        return SubmitOutcome("unknown", reason=error.message)
    if isinstance(error, AuthRequired):
        return SubmitOutcome("retryable", reason=error.message, login_refused=True)
    if error.retryable:
        return SubmitOutcome("retryable", reason=error.message, retry_after=error.retry_after)
    return SubmitOutcome("rejected", reason=error.message)
