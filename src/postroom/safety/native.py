"""The final check of a message that the provider composes itself: its recipients, and the original it includes."""

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
        raise InternalError("Not sent: the recipients of the action are not the approved ones. Send the message again.")
    if not frozenset[str]().union(*action.named.keys) <= reached:
        raise InternalError("Not sent: the action names a recipient who was not approved. Send the message again.")


def check_original(action: NativeAction, original: Message | None, reached: Recipients) -> None:
    """Raise Conflict when the message that is answered or forwarded is no longer the one that the person was shown, or
    the provider would now write to other recipients. `original` is None where there is none."""
    if reached.keys != action.everyone.keys:
        raise Conflict(
            "Not sent: it would now reach other recipients than those who were approved, because the original message "
            "has changed. Request it again to see who would receive it now."
        )
    if (original_digest(original) if original else "") != action.original_sha256:
        raise Conflict(
            "Not sent: the original message has changed since this was approved. Request it again to see the current "
            "version."
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
