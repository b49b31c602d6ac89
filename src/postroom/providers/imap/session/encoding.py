"""The two encodings of non-ASCII names, words and headers, and which of them a server uses.

`Speech` is what every server understands: names in modified UTF-7, search words as literals in a named charset.
`Utf8Speech` is used after UTF8=ACCEPT was enabled (RFC 6855): everything as it is, in quoted strings.
Servers then refuse a charset in a search, and need no longer hide messages with non-ASCII addresses.
"""

from __future__ import annotations

import imaplib
import re
from collections.abc import Sequence
from typing import Any

from postroom.model.errors import InvalidRequest
from postroom.providers.imap.session import imapclient_internals as internals

_LINE_BREAK = re.compile(rb"[\r\n\0]")


def agree(client: Any) -> Speech:
    """With an IMAPClient that has just logged in: UTF-8 where the server offers it and really enables it."""
    if not (client.has_capability("ENABLE") and client.has_capability("UTF8=ACCEPT")):
        return Speech(client)
    try:
        enabled = client.enable("UTF8=ACCEPT")
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error:
        return Speech(client)
    return Utf8Speech(client) if b"UTF8=ACCEPT" in (name.upper() for name in enabled) else Speech(client)


class Speech:
    def __init__(self, client: Any) -> None:
        self._client = client

    def read_name(self, raw: Any) -> str:
        """NIL can only be a folder of exactly that name; some servers write plain UTF-8 without being asked."""
        if not isinstance(raw, bytes):
            return "NIL"
        if not raw.isascii():
            return raw.decode("utf-8", "replace")
        from imapclient import imap_utf7

        try:
            name = str(imap_utf7.decode(raw))
            name.encode()  # half a character of two is none
        except (ValueError, UnicodeError):
            return raw.decode("ascii")
        return name

    def write_name(self, name: str) -> bytes:
        return internals.written_name(self._client, name)

    def can_write_name(self, name: str) -> bool:
        return True

    def search_words(self, keys: Sequence[bytes]) -> list[bytes]:
        return [*(() if all(key.isascii() for key in keys) else (b"CHARSET", b"UTF-8")), *keys]

    def sort_words(self, keys: Sequence[bytes]) -> list[bytes]:
        """SORT always names its charset."""
        return [b"UTF-8", *keys]

    def command(self, command: bytes, words: list[bytes], answer: str) -> Any:
        return internals.uid_command(self._client, command, words, answer)

    def append(self, folder: str, raw: bytes, flags: Sequence[str]) -> Any:
        return self._client.append(folder, raw, flags)


class Utf8Speech(Speech):
    def __init__(self, client: Any) -> None:
        super().__init__(client)
        internals.write_names_by(client, self.write_name)

    def read_name(self, raw: Any) -> str:
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else "NIL"

    def write_name(self, name: str) -> bytes:
        return _quoted(name.encode("utf-8", "replace"))

    def can_write_name(self, name: str) -> bool:
        """A server may list a folder whose name no quoted string can hold."""
        return _LINE_BREAK.search(name.encode("utf-8", "replace")) is None

    def search_words(self, keys: Sequence[bytes]) -> list[bytes]:
        return [key if key.isascii() else _quoted(key) for key in keys]

    def sort_words(self, keys: Sequence[bytes]) -> list[bytes]:
        return [b"UTF-8", *self.search_words(keys)]

    def command(self, command: bytes, words: list[bytes], answer: str) -> Any:
        return internals.uid_command_in_one_line(self._client, command, words, answer)

    def append(self, folder: str, raw: bytes, flags: Sequence[str]) -> Any:
        """RFC 6855 requires UTF-8 headers to be announced; RFC 9755 dropped that, so a newer server may not know it."""
        if raw.partition(b"\r\n\r\n")[0].isascii():
            return super().append(folder, raw, flags)
        try:
            return self._append_announced(folder, _Announced(raw), flags)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error:  # refused: nothing was stored
            return super().append(folder, raw, flags)

    def _append_announced(self, folder: str, mail: _Announced, flags: Sequence[str]) -> Any:
        words = (self.write_name(folder), f"({' '.join(flags)})", f"UTF8 (~{{{mail.size}}}")
        return internals.append(self._client, *words, literal=mail.closed)


class _Announced:
    """A UTF-8 message that imaplib requests when the server is ready; a parenthesis closes the announcement."""

    def __init__(self, mail: bytes) -> None:
        self._mail = mail
        self.size = len(mail)

    def closed(self, _: bytes) -> bytes:
        return self._mail + b")"


def _quoted(text: bytes) -> bytes:
    """A line break would end the command and begin another."""
    if _LINE_BREAK.search(text):
        raise InvalidRequest("A folder name must not contain line breaks.", details={"field": "name"})
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
