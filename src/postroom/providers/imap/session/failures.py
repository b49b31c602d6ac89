"""Maps server responses and socket errors to `model.errors`. A server's free text is never passed on."""

from __future__ import annotations

import imaplib
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
    NoAnswer,
    NotFound,
    PermissionDenied,
    PostroomError,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    Reason,
)

# Errors that end a connection; `abort` is imaplib's error for a broken dialogue.
CONNECTION_LOST = (imaplib.IMAP4.abort, OSError, EOFError)

NOT_IMAP = "The server at that address does not speak IMAP. Check host and port."

_CODE = re.compile(r"\[([A-Z][A-Z0-9-]*)")
# Gmail and older Dovecots refuse a login for too many connections without a response code.
_TOO_MANY = re.compile(r"(too many|maximum number of)\b[\w ]*\b(connections|sessions)", re.IGNORECASE)

_NO_BYE = re.compile(r"socket error|unexpected (tagged )?response|ended within a response|of an impossible size")
# Of a BYE: what the server says of itself or of the account, whatever was asked for.
_OF_ALL = re.compile(
    r"\[(UNAVAILABLE|LIMIT|INUSE|OVERQUOTA|EXPIRED|PRIVACYREQUIRED)\b"
    r"|\b(shutting down|shutdown|limits?|exceeded|too many|inactivity|autologout|session expired)\b",
    re.IGNORECASE,
)
_ABSENT_TEXT = re.compile(r"Mailbox doesn't exist\b", re.IGNORECASE)  # Dovecot 2.3, which may still list it


def response_code(error: Exception) -> str:
    """The code in brackets of RFC 5530 (``NONEXISTENT``, ``OVERQUOTA``, ...), or an empty string."""
    found = _CODE.search(str(error))
    return found[1] if found else ""


def refused(error: Exception) -> PostroomError:
    """A tagged NO or BAD as one of our errors."""
    code = "LIMIT" if _TOO_MANY.search(str(error)) else response_code(error)
    if not code and _ABSENT_TEXT.search(str(error)):
        code = "NONEXISTENT"
    kind, message = _MEANINGS.get(code, (ProviderError, "The mail server refused the command."))
    return kind(message, reason=_REASONS.get(code), details={"response_code": code} if code else None)


def unknown_folder() -> NotFound:
    kind, message = _ABSENT
    return kind(message, reason="folder_unknown")


def refused_to_open(folder: str) -> ProviderUnavailable:
    refusal = ProviderUnavailable("The mail server refused to open a folder that it has. Try again later.")
    refusal.refused_folder = folder
    return refusal


@contextmanager
def about(folder: str, *, only_for_now: bool = False) -> Iterator[None]:
    """What is refused in here is that folder: the server answers for others. `only_for_now`: a refusal that does not
    say "later" may be of the command."""
    try:
        yield
    except (ProviderError, RateLimited) as refusal:
        if refusal.details.get("is_read", True) and (refusal.retryable or not only_for_now):
            refusal.refused_folder = folder
        raise


@contextmanager
def unless_refused() -> Iterator[None]:
    """Goes on where one folder is gone or refused. What concerns the connection or the account is raised."""
    try:
        yield
    except (NotFound, PermissionDenied):
        pass
    except (ProviderError, RateLimited) as refusal:
        if not refusal.refused_folder:
            raise


class HungUp(ProviderUnavailable):
    """The server ended a connection that had worked so far with a BYE, in the middle of a command, and not for a reason
    that holds for any other: whoever then looks for the cause makes many connections."""


def lost(error: Exception, *, unclear: bool, began: bool = False) -> PostroomError:
    """A connection that broke. `unclear` when a change was under way and may or may not have happened; `began` when the
    connection had been made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ProviderUnavailable(
            "The mail server's certificate could not be verified. "
            "Check host, or set ca_file (--ca-file) to the authority that signed it."
        )
    if unclear:
        return ProviderUnavailable(
            "The connection to the mail server was lost during a change, which may or may not have happened. "
            "List the folder to check before trying again.",
            reason="connection_lost",
        )
    if isinstance(error, TimeoutError):
        return NoAnswer(
            "The mail server did not answer in time. Try again later; if it never answers, check port and security."
        )
    kind = HungUp if began and _is_bye_over_a_command(error) else ProviderUnavailable
    return kind(_what_to_look_at(error))


def _is_bye_over_a_command(error: Exception) -> bool:
    """imaplib raises the same for a BYE, with its text, and for a socket that is closed without one."""
    is_said = isinstance(error, imaplib.IMAP4.abort) and not _NO_BYE.search(str(error))
    return is_said and not _OF_ALL.search(str(error))


def _what_to_look_at(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "The mail server's name cannot be resolved. Check host and the network."
    if isinstance(error, ConnectionRefusedError):
        return "Nothing answers at the mail server's port. Check host and port, or try again later."
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return "The mail server does not use TLS on that port. Check port and security: 993 is tls, 143 starttls."
    if isinstance(error, imaplib.IMAP4.abort) and "unexpected response" in str(error):
        return NOT_IMAP
    return "The mail server cannot be reached or closed the connection. Try again later."


_LATER = (ProviderUnavailable, "The mail server is busy or not working. Try again later.")
_LOGIN = (AuthRequired, "The mail server refused the login. Check the username and password or token of this account.")
_ABSENT: tuple[type[NotFound], str] = (
    NotFound,
    "The mail server has no such folder. Call list_folders to see the folders.",
)
_REASONS: dict[str, Reason] = {
    "AUTHENTICATIONFAILED": "login_refused",
    "AUTHORIZATIONFAILED": "login_refused",
    "EXPIRED": "login_refused",
    "LIMIT": "provider_limit",
    "ALREADYEXISTS": "already_exists",
    "NONEXISTENT": "folder_unknown",
    "TRYCREATE": "folder_unknown",
    "TOOBIG": "attachment_too_large",
}
_MEANINGS: dict[str, tuple[type[PostroomError], str]] = {
    "AUTHENTICATIONFAILED": _LOGIN,
    "AUTHORIZATIONFAILED": _LOGIN,
    "EXPIRED": _LOGIN,
    "PRIVACYREQUIRED": (AuthRequired, 'The mail server requires an encrypted connection: set security to "starttls".'),
    "UNAVAILABLE": _LATER,
    "INUSE": (ProviderUnavailable, "The mail server says that another program is using it. Try again later."),
    "SERVERBUG": (ProviderError, "The mail server reports an internal error. Contact its administrator."),
    "CONTACTADMIN": (ProviderError, "The mail server says to contact its administrator."),
    "LIMIT": (RateLimited, "The mail server's limit for this account is reached. Try again later."),
    "OVERQUOTA": (ProviderError, "The mailbox is full. Delete messages or ask for more space."),
    "NOPERM": (PermissionDenied, "The mail server does not allow that for this account."),
    "CANNOT": (InvalidRequest, "The mail server cannot do that, for instance because of the name. Choose another one."),
    "ALREADYEXISTS": (Conflict, "It already exists."),
    "BADCHARSET": (
        InvalidRequest,
        "This mail server can search only for ASCII letters. Search by sender, date or another word.",
    ),
    "NONEXISTENT": _ABSENT,
    "TRYCREATE": _ABSENT,
    "TOOBIG": (InvalidRequest, "The message is larger than the mail server accepts."),
}
