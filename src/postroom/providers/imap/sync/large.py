"""Messages that are larger than what is read of one: without their attachments' content. So all their words and the
names of all attachments are read, wherever in the message they are."""

from __future__ import annotations

from postroom.model.errors import NotFound, ProviderError
from postroom.providers.imap.mail.reading import structure_of, without_attachments
from postroom.providers.imap.mail.structure import is_told, text_bytes
from postroom.providers.imap.session.client import Session


def abridged(session: Session, uid: int, size: int, max_bytes: int) -> bytes:
    """Empty where its texts alone are too long, or the server does not take it apart, or not all of it (one without a
    boundary, for instance): then its beginning is read."""
    try:
        root = structure_of(session, uid)
        if text_bytes(root) > max_bytes:
            return b""
        raw = without_attachments(session, uid, root)
    except NotFound:
        return b""  # whoever asks for its beginning finds out as well
    except ProviderError as refusal:
        if refusal.retryable:
            raise
        return b""
    return raw if is_told(root, size, raw) and len(raw) <= max_bytes else b""
