"""The last look at a mail that the provider writes by itself: who will get it, and what of the original goes along."""

from __future__ import annotations

import hashlib
import json

from postroom.model.address import Address, refuse_line_breaks
from postroom.model.errors import Conflict, InternalError
from postroom.model.message import Message
from postroom.model.native import NativeAction, Recipients
from postroom.model.outcome import WireEnvelope


def check_action(action: NativeAction, envelope: WireEnvelope, approved: tuple[str, ...]) -> None:
    """Raise InternalError unless action, envelope and approval name the same people."""
    refuse_line_breaks(action.subject, "subject")
    reached = frozenset[str]().union(*action.everyone.keys)
    if reached != _keys(envelope.recipients) or reached != _keys(approved):
        raise InternalError("Not sent: the recipients of the action are not the approved ones. Send the mail again.")
    if not frozenset[str]().union(*action.named.keys) <= reached:
        raise InternalError("Not sent: the action names a recipient who was not approved. Send the mail again.")


def check_original(action: NativeAction, original: Message | None, reached: Recipients) -> None:
    """Raise Conflict when the mail that is answered or forwarded is no longer the one that the person was shown, or the
    provider would write to others than it said then. `original` is None where there is none."""
    if reached.keys != action.everyone.keys:
        raise Conflict(
            "Not sent: it would go to other people than those who were approved, because the mail that it answers or "
            "forwards has changed. Ask for it again to see whom it would reach now."
        )
    if (original_digest(original) if original else "") != action.original_sha256:
        raise Conflict(
            "Not sent: the mail that it answers or forwards is no longer what it was when this was approved. Ask for "
            "it again to see it as it is now."
        )


def original_digest(original: Message) -> str:
    """Over all of the original that its readers get to see; its flags and its place may change."""
    envelope = original.envelope
    people = (envelope.sender, *envelope.to, *envelope.cc, *envelope.reply_to)
    said = [
        *(envelope.message_id, envelope.subject, envelope.date.isoformat() if envelope.date else ""),
        [(address.key, address.name) for address in people],
        *(original.body.text, original.body.html),
        [(file.filename, file.mime_type, file.size, file.content_id) for file in original.attachments],
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _keys(emails: tuple[str, ...]) -> frozenset[str]:
    return frozenset(Address(email).key for email in emails)
