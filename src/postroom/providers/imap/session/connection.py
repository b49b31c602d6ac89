"""The connection behind a session: whether it is alive, how it ends, and how every command is sent over it."""

from __future__ import annotations

import contextlib
import imaplib
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from postroom.model.errors import PermissionDenied, PostroomError, ProviderError
from postroom.providers.imap.session import imapclient_internals as internals
from postroom.providers.imap.session.failures import CONNECTION_LOST, refused

_QUIET = 30.0  # seconds after which a connection is asked whether it is still there
_PATIENCE = 5.0  # seconds for the response to that: a new connection is better than a long wait

CHANGED = frozenset({"EXISTS", "EXPUNGE", "VANISHED", "FETCH"})  # announcements that the open folder has changed

T = TypeVar("T")


class Connection:
    """Raises model errors for refusals, and the members of CONNECTION_LOST when the connection breaks."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._last_used = time.monotonic()
        self._memory: dict[str, Any] = {}
        self._changes = 0
        self.is_over = False

    def is_alive(self) -> bool:
        """By a quick check of the socket after recent traffic, by a NOOP otherwise."""
        try:
            if time.monotonic() - self._last_used < _QUIET and not self._has_unread_input():
                return True
            with self._answered_within(_PATIENCE):
                self._ask(self._client.noop)
        except (*CONNECTION_LOST, imaplib.IMAP4.error, PostroomError):
            return False
        return True

    @contextlib.contextmanager
    def _answered_within(self, seconds: float) -> Iterator[None]:
        """A shorter timeout than the account's own; a connection that exceeds it is unusable."""
        sock = self._client.socket()
        usual = sock.gettimeout()
        sock.settimeout(min(seconds, usual or seconds))
        try:
            yield
        finally:
            sock.settimeout(usual)

    def interrupt(self) -> None:
        """End the connection from another thread: the thread that waits on it gets an error, and closes it."""
        with contextlib.suppress(OSError, ValueError):
            self._client.socket().shutdown(socket.SHUT_RDWR)

    def abort(self) -> None:
        """Close the connection without LOGOUT. Only for the thread that uses it: a closed socket wakes no other."""
        self.is_over = True
        self.interrupt()
        with contextlib.suppress(OSError, ValueError):
            internals.shut_down(self._client)

    def close(self) -> None:
        with contextlib.suppress(*CONNECTION_LOST, imaplib.IMAP4.error):
            self._client.logout()
        self.abort()

    def _has_unread_input(self) -> bool:
        """Unsolicited bytes (changes, BYE, end of stream), in the kernel's, TLS's or imaplib's buffer."""
        sock = self._client.socket()
        if readable(sock, 0) or getattr(sock, "pending", int)():
            return True
        before = sock.gettimeout()
        sock.settimeout(0)
        try:
            return internals.has_buffered_input(self._client)
        except OSError:  # nothing there
            return False
        finally:
            sock.settimeout(before)

    def remember(self, key: str, find_out: Callable[[], T]) -> T:
        """A fact about the open folder, computed again only after something in it changed."""
        if key in self._memory:
            known: T = self._memory[key]
            return known
        before = self._changes
        fact = find_out()
        if before == self._changes:
            self._memory[key] = fact
        return fact

    def _forget(self) -> None:
        self._changes += 1
        self._memory.clear()

    def _clear(self) -> None:
        """Discards what must not be read by a later command."""
        internals.announcements(self._client).clear()

    def _ask(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            answer = call(*arguments, **named)
        except imaplib.IMAP4.readonly:  # imaplib derives it from `abort`
            raise PermissionDenied("This account has read-only access to that folder.") from None
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            raise refused(error) from None
        except (ValueError, LookupError, AttributeError):  # a number that is none, an answer that lacks a part, or all
            raise ProviderError("The mail server's answer cannot be understood.", details={"is_read": False}) from None
        except (OverflowError, MemoryError):  # a literal that is said to be larger than any memory: no way past it
            raise imaplib.IMAP4.abort("a literal of an impossible size") from None
        self._last_used = time.monotonic()
        if not CHANGED.isdisjoint(internals.announcements(self._client)):
            self._forget()
        return answer


def readable(sock: Any, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(seconds))
