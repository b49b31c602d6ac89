"""Everything that is used of the internals of IMAPClient and imaplib, in one place.

A test compares these names with the installed versions: an upgrade that changes one of them fails there, and not in
production. IMAPClient's own response parser is not used because it is many times slower, and because it hides
COPYUID.
"""

from __future__ import annotations

import imaplib
import io
import re
import socket
from collections.abc import Callable, Sequence
from typing import Any

_LONGEST_LINE = 50_000_000  # imaplib allows 1 MB, which the UIDs of 150,000 messages exceed
_AT_ONCE = 256 * 1024  # bytes taken from the socket
_FETCHED = re.compile(rb"\* (\d+) FETCH (.*)\r\n")
_LITERAL = re.compile(rb"\{(\d+)\}\Z")

# What must be there, by class; and what an instance must have once it is connected.
METHODS: dict[str, tuple[str, ...]] = {
    "IMAPClient": ("_create_IMAP4", "_normalise_folder", "_raw_command_untagged", "_checkok", "_set_read_timeout"),
    "IMAP4": (
        "_simple_command",
        "_command",
        "_command_complete",
        "_get_response",
        "_check_bye",
        "_create_socket",
        "_new_tag",
        "_untagged_response",
        "namespace",
        "read",
        "readline",
        "send",
        "shutdown",
    ),
}
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "IMAPClient": ("_imap", "_cached_capabilities", "_idle_tag"),
    "IMAP4": ("debug", "file", "literal", "tagged_commands", "untagged_responses"),
}


def allow_long_lines() -> None:
    imaplib._MAXLINE = max(imaplib._MAXLINE, _LONGEST_LINE)  # type: ignore[attr-defined]


def client_over(dial: Callable[[], socket.socket], host: str, port: int, timeout: float, *, is_secure: bool) -> Any:
    """An IMAPClient that has been greeted, over a socket that `dial` made."""
    from imapclient import IMAPClient

    class Imap(imaplib.IMAP4):
        def _create_socket(self, timeout: float | None = None) -> socket.socket:
            return dial()

    class Client(IMAPClient):  # type: ignore[misc]
        def _create_IMAP4(self) -> imaplib.IMAP4:  # noqa: N802
            return Imap(host, port)

    return Client(host, port, ssl=is_secure, timeout=timeout)


def keep_quiet(client: Any) -> None:
    """IMAPClient would log every line it reads: slow, and message content does not belong in logs."""
    client._imap.debug = 0


def keep_timeout(client: Any) -> None:
    """STARTTLS makes a new socket, which IMAPClient gives no timeout."""
    client._set_read_timeout()


def forget_capabilities(client: Any) -> None:
    """Servers offer more after login, and not all of them announce it unasked."""
    client._cached_capabilities = None
    client._imap.untagged_responses.pop("CAPABILITY", None)


def announcements(client: Any) -> dict[str, list[Any]]:
    """Untagged responses. imaplib collects them until they are taken."""
    gathered: dict[str, list[Any]] = client._imap.untagged_responses
    return gathered


def has_said_bye(client: Any) -> bool:
    return "BYE" in announcements(client)


def simple_command(client: Any, *words: str | bytes) -> Any:
    """What is not ASCII has to be bytes. imaplib raises only for BAD, and returns NO like any other answer."""
    kind, answer = client._imap._simple_command(*words)
    client._checkok(words[0], kind, answer)
    return answer


def command_and_noop(client: Any, *words: str) -> None:
    """Both in one round trip."""
    imap = client._imap
    commands = [(words[0], imap._new_tag(), " ".join(words)), ("NOOP", imap._new_tag(), "NOOP")]
    imap.send(b"".join(b"%s %s\r\n" % (tag, line.encode("ascii")) for _, tag, line in commands))
    answers = [(name, *imap._command_complete(name, tag)) for name, tag, _ in commands]
    for answer in answers:
        client._checkok(*answer)


def namespace(client: Any) -> Any:
    kind, answer = client._imap.namespace()
    client._checkok("NAMESPACE", kind, answer)
    return answer


def notify(client: Any) -> Any:
    imaplib.Commands.setdefault("NOTIFY", ("AUTH", "SELECTED"))
    events = "(MessageNew MessageExpunge FlagChange)"
    return simple_command(client, "NOTIFY", "SET", f"(selected {events})", f"(personal {events})")


def begin_idling(client: Any) -> None:
    """Unlike IMAPClient's own `idle`, keeps what the server sends before it accepts IDLE."""
    imap = client._imap
    client._idle_tag = tag = imap._command("IDLE")
    while imap._get_response() is not None:
        if imap.tagged_commands[tag]:
            raise imaplib.IMAP4.error("IDLE was refused")
        imap._check_bye()


def has_buffered_input(client: Any) -> bool:
    """Bytes that were read from the socket but not consumed. OSError where there are none."""
    return bool(client._imap.file.peek(1))


def read_in_large_pieces(client: Any) -> None:
    """For messages in bulk: imaplib's 8 KB at a time take two or three calls of the system for each of them. Only for
    a client that has no input left, which would be lost."""
    client._imap.file = io.BufferedReader(client._imap.file.detach(), _AT_ONCE)


def shut_down(client: Any) -> None:
    client._imap.shutdown()


def written_name(client: Any, name: str) -> bytes:
    written: bytes = client._normalise_folder(name)
    return written


def write_names_by(client: Any, write_name: Callable[[str], bytes]) -> None:
    """IMAPClient asks this of every folder it is given."""
    client._normalise_folder = write_name


def uid_command(client: Any, command: bytes, words: list[bytes], answer: str) -> Any:
    """Non-ASCII words are sent as literals."""
    return client._raw_command_untagged(command, words, answer)


def uid_command_in_one_line(client: Any, command: bytes, words: Sequence[bytes], answer: str) -> Any:
    imap, name = client._imap, command.decode()
    tag = imap._new_tag()
    imap.send(b" ".join([tag, b"UID", command, *words]) + b"\r\n")
    kind, lines = imap._untagged_response(*imap._command_complete(name, tag), answer)
    client._checkok(name, kind, lines)
    return lines


def uid_fetch(client: Any, words: Sequence[bytes]) -> Any:
    """ASCII words. As `uid_command`, but FETCH responses, thousands in a row, do not take imaplib's way, which tries
    several patterns on each line and keeps a log."""
    imap = client._imap
    tag = imap._new_tag()
    imap.send(b" ".join([tag, b"UID FETCH", *words]) + b"\r\n")
    imap._check_bye()
    while imap.tagged_commands[tag] is None:
        line = imap.readline()
        fetched = _FETCHED.fullmatch(line)
        if fetched is not None:
            _take_fetched(imap, b"%s %s" % fetched.groups())
        else:
            _take_response(imap, line)
            imap._check_bye()
    kind, lines = imap._untagged_response(*imap._command_complete("FETCH", tag), "FETCH")
    client._checkok("FETCH", kind, lines)
    return lines


def _take_fetched(imap: Any, text: bytes) -> None:
    taken = imap.untagged_responses.setdefault("FETCH", [])
    while text.endswith(b"}") and (literal := _LITERAL.search(text)):
        taken.append((text, imap.read(int(literal[1]))))
        line = imap.readline()
        if not line.endswith(b"\r\n"):
            raise imaplib.IMAP4.abort("the connection ended within a response")
        text = line[:-2]
    taken.append(text)


def _take_response(imap: Any, line: bytes) -> None:
    """That begins with a line which was read already."""
    waiting, readline = [line], imap.readline
    imap.readline = lambda: waiting.pop() if waiting else readline()
    try:
        imap._get_response()
    finally:
        del imap.readline


def append(client: Any, *words: str | bytes, literal: Callable[[bytes], bytes]) -> Any:
    """`literal` is asked for the message when the server is ready for it."""
    imap = client._imap
    imap.literal = literal
    kind, answer = imap._simple_command("APPEND", *words)
    client._checkok("append", kind, answer)
    return answer[0]
