"""EmailSubmission objects, and what a server's word about one is worth."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from postroom.model.errors import Conflict, PostroomError
from postroom.model.outcome import SubmitOutcome, SubmitRequest
from postroom.providers.http.unclear import submit_outcome
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import UNTOUCHED, shown_type

BUSY = "Other messages are being sent from this account at the moment."

# Checked before anything is sent. Where a server misuses one of them, it still says that it sent nothing.
_REFUSALS = {
    "forbiddenFrom": "The mail server does not allow this sender address",
    "forbiddenMailFrom": "The mail server does not allow this sender address",
    "forbiddenToSend": "The mail server does not allow sending at the moment",
    "tooManyRecipients": "The mail server refuses these recipients, or that many",
    "noRecipients": "The mail server found no recipients",
    "invalidRecipients": "The mail server refuses a recipient",
    "invalidEmail": "The mail server does not accept this message",
    "invalidProperties": "The mail server does not accept this submission",
    "tooLarge": "The message is too large for this mail server",
    "overQuota": "The account has no room left",
    "notFound": "The mail server no longer has the message",
    "emailNotFound": "The mail server no longer has the message",
    "emailTooLarge": "The message is too large for this mail server",
    "rateLimit": "The mail server accepts no more messages for the time being",
}
# "For some reason, right now": worth another try later.
_LATER = frozenset({"forbiddenToSend", "rateLimit", "overQuota"})
_FOR_GOOD = re.compile(r"5\.\d")


def envelope(request: SubmitRequest) -> dict[str, Any]:
    recipients = [{"email": recipient, "parameters": None} for recipient in request.envelope.recipients]
    return {"mailFrom": {"email": request.envelope.sender, "parameters": None}, "rcptTo": recipients}


async def state(client: JmapClient) -> str | None:
    found = (await client.read(("EmailSubmission/get", {"ids": []})))[0].get("state")
    return found if isinstance(found, str) else None


async def of_email(client: JmapClient, email_id: str) -> list[dict[str, Any]]:
    """The submissions of that message that were not cancelled. Some servers forget them once the message is sent."""
    query = ("EmailSubmission/query", {"filter": {"emailIds": [email_id]}})
    found_ids = {"resultOf": "0", "name": "EmailSubmission/query", "path": "/ids"}
    replies = await client.read(query, ("EmailSubmission/get", {"#ids": found_ids}))
    rows = replies[1].get("list")
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [row for row in found if row.get("emailId") == email_id and row.get("undoStatus") != "canceled"]


def accepted(request: SubmitRequest, submission: Mapping[str, Any]) -> SubmitOutcome:
    """For everyone but those for whom the server already knows that it failed."""
    told = submission.get("deliveryStatus")
    failed = {
        recipient: "the mail server could not deliver it"
        for recipient, status in (told.items() if isinstance(told, dict) else ())
        if isinstance(status, dict) and status.get("delivered") == "no" and recipient in request.envelope.recipients
    }
    reached = tuple(recipient for recipient in request.envelope.recipients if recipient not in failed)
    thread_ref = str(submission.get("threadId") or request.thread_ref)
    return SubmitOutcome("accepted", reached, failed, message_ref=request.staged_ref, thread_ref=thread_ref)


def refused(request: SubmitRequest, error: Any) -> SubmitOutcome:
    """Anything but a refusal that is certain counts as no answer."""
    kind = shown_type(error)
    if kind not in _REFUSALS:
        return SubmitOutcome("unknown", reason=f"The mail server reports a failure that settles nothing ({kind}).")
    reason = f"{_REFUSALS[kind]} ({kind})."
    if kind in _LATER and not _is_for_good(error):
        return SubmitOutcome("retryable", reason=reason)
    return SubmitOutcome("rejected", refused=dict.fromkeys(_bad_recipients(request, error), reason), reason=reason)


def _is_for_good(error: dict[str, Any]) -> bool:
    """Cyrus passes on the status code of its own mail exchange: 4 is for now, 5 for good."""
    return _FOR_GOOD.match(str(error.get("description") or "")) is not None


def outcome_of(error: PostroomError) -> SubmitOutcome:
    """A method's error: certain only where the method was not begun."""
    kind = error.details.get("type")
    if kind == "stateMismatch":
        return SubmitOutcome("retryable", reason=BUSY)
    if kind is not None and kind not in UNTOUCHED:
        return SubmitOutcome("unknown", reason=error.message)
    return submit_outcome(error)


def busy() -> Conflict:
    return Conflict(BUSY)


def _bad_recipients(request: SubmitRequest, error: dict[str, Any]) -> Sequence[str]:
    """Those that the server names, or those beyond the number it accepts (at Cyrus: the first that was refused, and
    whom it did not try after that); everyone where it says neither."""
    named, most = error.get("invalidRecipients"), error.get("maxRecipients")
    everyone = request.envelope.recipients
    if isinstance(named, list):
        bad: Sequence[str] = [recipient for recipient in everyone if recipient in named]
    else:
        bad = everyone[most:] if isinstance(most, int) and most >= 0 else ()
    return bad or everyone
