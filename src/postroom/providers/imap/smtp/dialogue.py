"""One SMTP session from greeting to final dot. The dot is sent only after every recipient was accepted."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from postroom.mime.write.headers import wire_address
from postroom.model.outcome import SubmitRequest
from postroom.providers.imap.smtp.aiosmtplib_internals import has_unread_input, write_all
from postroom.providers.imap.smtp.answers import Answer, Ended, before_the_dot, by_code, is_positive, refusal
from postroom.providers.imap.smtp.login import log_in, new_client

if TYPE_CHECKING:
    from aiosmtplib import SMTP, SMTPResponse

    from postroom.providers.imap.session.auth import Credentials
    from postroom.settings.accounts import ImapAccount

_BCC = re.compile(rb"^bcc[ \t]*:", re.IGNORECASE | re.MULTILINE)
_NO_PATH = re.compile(r"[\x00-\x20\x7f<>]")
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_UPLOAD_FACTOR = 10  # read timeouts for the upload of the message
_FINAL_ANSWER_FACTOR = 10  # a server may scan a message for minutes before it answers the dot (RFC 5321, 4.5.3.2.6)
_PATIENCE = 20  # read timeouts for all that comes before the dot: a server that trickles replies counts as dead too


async def submit(account: ImapAccount, request: SubmitRequest, credentials: Credentials) -> Answer:
    """Never raises: every way it can end is an Answer."""
    client = new_client(account)
    text = _normalised(request.raw)
    try:
        with before_the_dot(), anyio.fail_after(account.timeout * _PATIENCE):
            _check(text, request)
            await log_in(client, account, credentials)
            await _envelope(client, text, request)
            await _begin_data(client, text)
        return await _final_dot(client, account.timeout * _FINAL_ANSWER_FACTOR)
    except Ended as ended:
        return ended.answer
    finally:
        _take_leave(client)


async def log_in_only(account: ImapAccount, credentials: Credentials) -> bool:
    """The same session up to the login: whether one was required. Ended where it failed."""
    client = new_client(account)
    try:
        with before_the_dot(), anyio.fail_after(account.timeout * _PATIENCE):
            return await log_in(client, account, credentials)
    finally:
        _take_leave(client)


def _normalised(raw: bytes) -> bytes:
    """CRLF everywhere, also at the end: servers treat other line breaks differently."""
    text = _LINE_BREAK.sub(b"\r\n", raw)
    return text if text.endswith(b"\r\n") else text + b"\r\n"


def _check(text: bytes, request: SubmitRequest) -> None:
    """Last line of defence: the gate has already checked all of this."""
    if _BCC.search(_head(text)):
        raise Ended(Answer("rejected", "The message still has a Bcc header; nothing was sent."))
    if not request.envelope.recipients:
        raise Ended(Answer("rejected", "The message has no recipients; nothing was sent."))


def _head(text: bytes) -> bytes:
    return text.partition(b"\r\n\r\n")[0]


async def _envelope(client: SMTP, text: bytes, request: SubmitRequest) -> None:
    sender, *recipients = (_path(address) for address in (request.envelope.sender, *request.envelope.recipients))
    options = _options(client, text, [sender, *recipients])
    response = await client.execute_command(b"MAIL", b"FROM:" + sender, *options)
    if not is_positive(response.code):
        raise Ended(by_code(response.code, response.message))
    refused: dict[str, SMTPResponse] = {}
    for address, path in zip(request.envelope.recipients, recipients, strict=True):
        response = await client.execute_command(b"RCPT", b"TO:" + path)
        if not is_positive(response.code):
            refused[address] = response
    if refused:
        raise Ended(refusal(refused))


def _path(address: str) -> bytes:
    """Written here: a library that parses the address again may get a different one."""
    if _NO_PATH.search(address):
        raise Ended(Answer("rejected", "An address contains characters that are not allowed; nothing was sent."))
    return f"<{wire_address(address)}>".encode()


def _options(client: SMTP, text: bytes, paths: list[bytes]) -> list[bytes]:
    """The parameters of MAIL FROM; what the server cannot accept is refused before anything is sent."""
    options = []
    limit = client.esmtp_extensions.get("size", "")
    if limit.isdigit() and 0 < int(limit) < len(text):
        raise Ended(Answer("rejected", f"The message is larger than the SMTP server accepts ({int(limit)} bytes)."))
    if client.supports_extension("size"):
        options.append(b"SIZE=%d" % len(text))
    if not text.isascii():
        options.append(_extension(client, "8bitmime", b"BODY=8BITMIME"))
    if not all(part.isascii() for part in (_head(text), *paths)):
        options.append(_extension(client, "smtputf8", b"SMTPUTF8"))
    return options


def _extension(client: SMTP, name: str, option: bytes) -> bytes:
    if not client.supports_extension(name):
        raise Ended(Answer("rejected", f"The message is not pure ASCII and the SMTP server lacks {name.upper()}."))
    return option


async def _begin_data(client: SMTP, text: bytes) -> None:
    """DATA and the whole message, leading dots doubled, without the final dot; returns when all is handed over."""
    response = await client.execute_command(b"DATA")
    if response.code != 354:
        raise Ended(by_code(response.code, response.message))
    if not client.is_connected or has_unread_input(client):  # it would be taken for the reply to the dot
        raise ConnectionResetError
    await write_all(client, re.sub(rb"(?m)^\.", b"..", text), _UPLOAD_FACTOR * (client.timeout or 60))


async def _final_dot(client: SMTP, patience: float) -> Answer:
    import aiosmtplib

    try:
        response = await client.execute_command(b".", timeout=patience)
    except (aiosmtplib.SMTPException, OSError):
        return _UNKNOWN
    if is_positive(response.code):
        return Answer("accepted")
    if not 400 <= response.code < 600:
        return _UNKNOWN
    # The login worked before this: any code is about the message.
    return replace(by_code(response.code, response.message), login_refused=False)


_UNKNOWN = Answer("unknown", "The SMTP server's response was lost: it may or may not have accepted the message.")


def _take_leave(client: SMTP) -> None:
    """QUIT, whose reply no longer matters."""
    if client.is_connected and client.protocol is not None:
        client.protocol.write(b"QUIT\r\n")
    client.close()
