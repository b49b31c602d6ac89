"""Maps server responses and socket errors to `model.errors`. A server's free text is never passed on."""

from __future__ import annotations

import imaplib
import re
import socket
import ssl

from postroom.model.errors import (
    AuthRequired,
    Conflict,
    InvalidRequest,
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

_CODE = re.compile(r"\[([A-Z][A-Z0-9-]*)")
# Gmail and older Dovecots refuse a login for too many connections without a response code.
_TOO_MANY = re.compile(r"(too many|maximum number of)\b[\w ]*\b(connections|sessions)", re.IGNORECASE)


def response_code(error: Exception) -> str:
    """The code in brackets of RFC 5530 (``NONEXISTENT``, ``OVERQUOTA``, ...), or an empty string."""
    found = _CODE.search(str(error))
    return found[1] if found else ""


def refused(error: Exception) -> PostroomError:
    """A tagged NO or BAD as one of our errors."""
    code = "LIMIT" if _TOO_MANY.search(str(error)) else response_code(error)
    kind, message = _MEANINGS.get(code, (ProviderError, "The mail server refused the command."))
    return kind(message, reason=_REASONS.get(code), details={"response_code": code} if code else None)


def unknown_folder() -> NotFound:
    kind, message = _ABSENT
    return kind(message, reason="folder_unknown")


def lost(error: Exception, *, unclear: bool) -> PostroomError:
    """A connection that broke. `unclear` when a change was under way and may or may not have happened."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ProviderError(
            "The mail server's certificate could not be verified. "
            "Check host, or set ca_file (--ca-file) to the authority that signed it."
        )
    if unclear:
        return ProviderUnavailable(
            "The connection to the mail server was lost during a change, which may or may not have happened. "
            "List the folder to check before trying again.",
            reason="connection_lost",
        )
    return ProviderUnavailable(_what_to_look_at(error))


def _what_to_look_at(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "The mail server's name cannot be resolved. Check host and the network."
    if isinstance(error, TimeoutError):
        return "The mail server did not answer in time. Try again later; if it never answers, check port and security."
    if isinstance(error, ConnectionRefusedError):
        return "Nothing answers at the mail server's port. Check host and port, or try again later."
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return "The mail server does not use TLS on that port. Check port and security: 993 is tls, 143 starttls."
    if isinstance(error, imaplib.IMAP4.abort) and "unexpected response" in str(error):
        return "The server at that address does not speak IMAP. Check host and port."
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
    "INUSE": _LATER,
    "SERVERBUG": (ProviderError, "The mail server reports an internal error. Contact its administrator."),
    "CONTACTADMIN": (ProviderError, "The mail server asks to contact its administrator."),
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
