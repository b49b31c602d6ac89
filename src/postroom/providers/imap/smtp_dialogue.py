"""One SMTP conversation from greeting to final dot, and what each possible ending of it means."""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from postroom.model.errors import AuthRequired, PostroomError
from postroom.model.outcome import SubmitRequest, SubmitState
from postroom.providers.imap.auth import BearerAnswers, secret_of, tls_context

if TYPE_CHECKING:
    from aiosmtplib import SMTP, SMTPResponse

    from postroom.settings.accounts import ImapAccount

_ENHANCED = re.compile(r"([245]\.\d{1,3}\.\d{1,3})")
_BCC = re.compile(rb"^bcc[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NO_PATH = re.compile(r"[\x00-\x20\x7f<>]")
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_FINAL_ANSWER_FACTOR = 10  # a server may scan a mail for minutes before it answers the dot (RFC 5321, 4.5.3.2.6)


@dataclass(frozen=True, slots=True)
class Answer:
    state: SubmitState
    reason: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    login_refused: bool = False


class _Ended(Exception):
    """The conversation is over before the dot: nothing was accepted."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


async def submit(account: ImapAccount, request: SubmitRequest) -> Answer:
    """The dot is sent only after every recipient was taken."""
    client = _client(account)

    async def up_to_the_dot() -> None:
        _check(request)
        await client.connect()
        await _log_in(client, account)
        await _envelope(client, request)
        await _begin_data(client, request.raw)

    try:
        return await _ending(up_to_the_dot) or await _final_dot(client, account.timeout * _FINAL_ANSWER_FACTOR)
    finally:
        client.close()


async def log_in_only(account: ImapAccount) -> Answer | None:
    """The same conversation as far as the login; None when it went well. No mail is spoken of."""
    client = _client(account)

    async def up_to_the_login() -> None:
        await client.connect()
        await _log_in(client, account)
        await client.quit()

    try:
        return await _ending(up_to_the_login)
    finally:
        client.close()


async def _ending(steps: Callable[[], Awaitable[None]]) -> Answer | None:
    """How the conversation ended early, None when every step was taken. Either way nothing was accepted yet."""
    import aiosmtplib

    try:
        await steps()
    except _Ended as ended:
        return ended.answer
    except PostroomError as error:
        return Answer("rejected", error.message, login_refused=isinstance(error, AuthRequired))
    except aiosmtplib.SMTPResponseException as error:
        return _by_code(error.code, error.message)
    except (aiosmtplib.SMTPException, OSError) as error:
        return _not_reached(error)
    return None


def _client(account: ImapAccount) -> SMTP:
    from aiosmtplib import SMTP

    return SMTP(
        hostname=account.smtp_host,
        port=account.smtp_port,
        timeout=float(account.timeout),
        use_tls=account.smtp_security == "tls",
        start_tls=account.smtp_security == "starttls",
        tls_context=None if account.smtp_security == "none" else tls_context(account),
        local_hostname="localhost",  # a private machine's name is nobody's business
    )


def _check(request: SubmitRequest) -> None:
    """Last line of defence: the gate has looked at all of this before."""
    head = request.raw.partition(b"\r\n\r\n")[0]
    if _BCC.search(head):
        raise _Ended(Answer("rejected", "The mail still names its blind copies; nothing was sent."))
    if not request.envelope.recipients:
        raise _Ended(Answer("rejected", "The mail has no recipients; nothing was sent."))


async def _log_in(client: SMTP, account: ImapAccount) -> None:
    """A server without AUTH takes mail by other rules, for instance from its own network."""
    await client.ehlo()
    offered = set(client.server_auth_methods)
    if not offered:
        return
    if account.auth == "password" and offered.isdisjoint(client.AUTH_METHODS):
        reason = "The SMTP server takes no passwords; set auth to xoauth2 and a token."
        raise _Ended(Answer("rejected", reason, login_refused=True))
    if account.auth == "password":
        await client.login(account.username, secret_of(account))
    else:
        await _present_token(client, account)


async def _present_token(client: SMTP, account: ImapAccount) -> None:
    answers = BearerAnswers(account.auth, account.username, secret_of(account))
    response = await client.execute_command(b"AUTH", account.auth.upper().encode(), b64encode(answers(b"")))
    while response.code == 334:  # the details of a refusal: they must be answered before it is said
        response = await client.execute_command(b64encode(answers(b"")))
    if response.code != 235:
        raise _Ended(_by_code(response.code, response.message, login=True))


async def _envelope(client: SMTP, request: SubmitRequest) -> None:
    options = _options(client, request)
    response = await client.execute_command(b"MAIL", b"FROM:" + _path(request.envelope.sender), *options)
    if response.code != 250:
        raise _Ended(_by_code(response.code, response.message))
    refused: dict[str, SMTPResponse] = {}
    for recipient in request.envelope.recipients:
        response = await client.execute_command(b"RCPT", b"TO:" + _path(recipient))
        if response.code not in (250, 251):
            refused[recipient] = response
    if refused:
        await client.rset()
        raise _Ended(_refusal(refused))


def _path(address: str) -> bytes:
    """Written by ourselves: a library that parses the address once more may come to another one."""
    if _NO_PATH.search(address):
        raise _Ended(Answer("rejected", "An address holds characters that no address may hold; nothing was sent."))
    return f"<{address}>".encode()


def _options(client: SMTP, request: SubmitRequest) -> list[bytes]:
    """What must be said in MAIL FROM; what the server cannot take is refused before anything is sent."""
    options = []
    limit = client.esmtp_extensions.get("size", "")
    if limit.isdigit() and 0 < int(limit) < len(request.raw):
        raise _Ended(Answer("rejected", f"The mail is larger than the SMTP server takes ({int(limit)} bytes)."))
    if client.supports_extension("size"):
        options.append(b"SIZE=%d" % len(request.raw))
    if not request.raw.isascii():
        options.append(_extension(client, "8bitmime", b"BODY=8BITMIME"))
    if not _is_ascii(request):
        options.append(_extension(client, "smtputf8", b"SMTPUTF8"))
    return options


def _extension(client: SMTP, name: str, option: bytes) -> bytes:
    if not client.supports_extension(name):
        raise _Ended(Answer("rejected", f"The mail goes beyond ASCII and the SMTP server lacks {name.upper()}."))
    return option


def _is_ascii(request: SubmitRequest) -> bool:
    head = request.raw.partition(b"\r\n\r\n")[0]
    addresses = (request.envelope.sender, *request.envelope.recipients)
    return head.isascii() and all(address.isascii() for address in addresses)


async def _begin_data(client: SMTP, raw: bytes) -> None:
    """DATA and the whole mail, but for the dot; returns when every byte has left our hands."""
    response = await client.execute_command(b"DATA")
    if response.code != 354:
        raise _Ended(_by_code(response.code, response.message))
    protocol: Any = client.protocol
    protocol.transport.set_write_buffer_limits(high=0)
    protocol.write(_stuffed(raw))
    with anyio.fail_after(_FINAL_ANSWER_FACTOR * (client.timeout or 60)):
        await protocol._drain_helper()
    if not protocol.is_connected:
        raise ConnectionResetError


def _stuffed(raw: bytes) -> bytes:
    """CRLF everywhere, leading dots doubled, a line break at the end."""
    text = _LINE_BREAK.sub(b"\r\n", raw)
    text = re.sub(rb"(?m)^\.", b"..", text)
    return text if text.endswith(b"\r\n") else text + b"\r\n"


async def _final_dot(client: SMTP, patience: float) -> Answer:
    import aiosmtplib

    try:
        response = await client.execute_command(b".", timeout=patience)
    except (aiosmtplib.SMTPException, OSError):
        return Answer("unknown", "The SMTP server's answer to the mail was lost: it may have been accepted or not.")
    return Answer("accepted") if response.code == 250 else _by_code(response.code, response.message)


def _refusal(refused: Mapping[str, SMTPResponse]) -> Answer:
    permanent = any(response.code >= 500 for response in refused.values())
    reasons = {recipient: _reason(response.code, response.message) for recipient, response in refused.items()}
    return Answer(
        "rejected" if permanent else "retryable", "The SMTP server refused a recipient; nothing was sent.", reasons
    )


def _by_code(code: int, message: str, *, login: bool = False) -> Answer:
    if login or code in (530, 534, 535, 538):
        state: SubmitState = "retryable" if 400 <= code < 500 else "rejected"
        reason = f"The SMTP server refused the login ({_reason(code, message)}). Check the account's secrets."
        return Answer(state, reason, login_refused=True)
    return Answer(
        "rejected" if code >= 500 else "retryable", f"The SMTP server refused the mail ({_reason(code, message)})."
    )


def _reason(code: int, message: str) -> str:
    """Codes only: a server's free text may quote the mail."""
    enhanced = _ENHANCED.match(message)
    return f"{code} {enhanced[1]}" if enhanced else str(code)


def _not_reached(error: Exception) -> Answer:
    if isinstance(error, ssl.SSLCertVerificationError) or isinstance(error.__cause__, ssl.SSLCertVerificationError):
        return Answer("rejected", "The SMTP server's certificate could not be verified; check smtp_host or ca_file.")
    return Answer("retryable", "The SMTP server cannot be reached or hung up before it took the mail.")
