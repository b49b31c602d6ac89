"""Maps a submission server's replies, and the ways in which a session can fail, to messages and outcomes."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from postroom.model.errors import AuthRequired, PostroomError
from postroom.model.outcome import SubmitState

if TYPE_CHECKING:
    from aiosmtplib import SMTPResponse

_ENHANCED = re.compile(r"([245]\.\d{1,3}\.\d{1,3})")
_NO_STARTTLS = 'The SMTP server does not offer STARTTLS. Set smtp_security to "tls" and smtp_port to match.'
_CHECK = "Check smtp_host and smtp_port."
_NO_LOGIN_YET = (530, 534, 535, 538)


@dataclass(frozen=True, slots=True)
class Answer:
    state: SubmitState
    reason: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    login_refused: bool = False


class Ended(Exception):
    """The dialogue ended before the final dot: nothing was accepted."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


@contextmanager
def before_the_dot() -> Iterator[None]:
    """Every failure in here is raised as Ended."""
    import aiosmtplib

    try:
        yield
    except AuthRequired as error:
        raise Ended(Answer("rejected", error.message, login_refused=True)) from None
    except PostroomError as error:  # from the token source or the settings: the message itself is fine
        raise Ended(Answer("retryable", error.message)) from None
    except aiosmtplib.SMTPAuthenticationError as error:
        raise Ended(by_code(error.code, error.message, login=True)) from None
    except aiosmtplib.SMTPResponseException as error:
        raise Ended(by_code(error.code, error.message)) from None
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        raise Ended(_not_reached(error)) from None


def is_positive(code: int) -> bool:
    """By its first digit alone, as RFC 5321 (4.3.2) asks of clients."""
    return 200 <= code < 300


def by_code(code: int, message: str, *, login: bool = False) -> Answer:
    said = _reason(code, message)
    if code >= 500 and (login or code in _NO_LOGIN_YET):
        reason = f"The SMTP server refused the login ({said}). Check the account's secrets."
        return Answer("rejected", reason, login_refused=True)
    if code >= 500:
        return Answer("rejected", f"The SMTP server refused the message ({said}).")
    if code >= 400:
        what = "logins" if login else "messages"
        return Answer("retryable", f"The SMTP server does not accept {what} at the moment ({said}).")
    if code >= 100:
        return Answer("retryable", f"The SMTP server replied out of sequence ({said}).")
    return Answer("retryable", f"The server at that address does not speak SMTP. {_CHECK}")


def refusal(refused: Mapping[str, SMTPResponse]) -> Answer:
    permanent = any(response.code >= 500 for response in refused.values())
    reasons = {recipient: _reason(response.code, response.message) for recipient, response in refused.items()}
    return Answer(
        "rejected" if permanent else "retryable", "The SMTP server refused a recipient; nothing was sent.", reasons
    )


def _reason(code: int, message: str) -> str:
    """Codes only: a server's free text may quote the message."""
    enhanced = _ENHANCED.match(message)
    return f"{code} {enhanced[1]}" if enhanced else str(code)


def _not_reached(error: Exception) -> Answer:
    causes = (error, error.__cause__)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        # An expired certificate will be renewed: queued messages are sent then, and not a byte before.
        return Answer("retryable", "The SMTP server's certificate could not be verified; check smtp_host or ca_file.")
    if "STARTTLS" in str(error):
        return Answer("retryable", _NO_STARTTLS)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Answer("retryable", "The SMTP server does not use TLS on that port. Check smtp_port and smtp_security.")
    if any(isinstance(cause, (socket.gaierror, UnicodeError)) for cause in causes):
        return Answer("retryable", "The SMTP server's name cannot be resolved. Check smtp_host and the network.")
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return Answer("retryable", "The SMTP server did not answer in time. Check smtp_port and smtp_security.")
    return Answer("retryable", f"The SMTP server cannot be reached or hung up before accepting the message. {_CHECK}")
