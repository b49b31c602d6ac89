"""What this server and this account can do, found out once after login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.model.capabilities import Capabilities
from postroom.model.errors import PermissionDenied, ProviderError, RateLimited
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.failures import unless_refused
from postroom.providers.imap.session.opened import Opened

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

PROVIDER = "imap"
_TRIED = 10  # folders
_GROWTH = 1.37  # base64 with its line breaks


def detect(session: Session, account: ImapAccount) -> Capabilities:
    takes_keywords = _takes_keywords(session)
    return Capabilities(
        PROVIDER,
        can_draft=True,
        can_send=bool(account.smtp_host),
        can_label=takes_keywords,
        can_create_folder=True,
        can_rename_folder=True,
        has_threading=True,
        has_raw=True,
        has_server_side_rules=bool(account.sieve_host),
        has_push=session.has("IDLE"),
        has_uids=True,
        changes_at_once=500,  # as many as one command names; a move costs a server the same for one or for all
        max_attachment_size_mb=_largest_attachment(session),
        burst=account.max_connections,
    )


def _takes_keywords(session: Session) -> bool:
    """As the inbox tells; while the server refuses to open that, as another folder does. False where none can be
    opened: then nobody knows, and nothing is claimed."""
    try:
        return _opened(session, "INBOX").takes_keywords
    except (ProviderError, RateLimited) as refusal:
        if not refusal.refused_folder:
            raise
    for folder in session.names()[:_TRIED]:
        with unless_refused():
            return _opened(session, folder).takes_keywords
    return False


def _opened(session: Session, folder: str) -> Opened:
    """For writing, since servers report no permanent flags in read-only mode; some shared mailboxes are read-only."""
    try:
        return session.open(folder, write=True)
    except PermissionDenied:
        return session.open(folder)


def _largest_attachment(session: Session) -> int | None:
    """From APPENDLIMIT (RFC 7889). The SMTP server's own limit is known only after connecting to it."""
    limit = next((name.partition("=")[2] for name in session.capabilities if name.startswith("APPENDLIMIT=")), "")
    return int(int(limit) / _GROWTH / 2**20) if limit.isdigit() else None
