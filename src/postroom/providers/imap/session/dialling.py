"""Making a connection in a way that another thread can break off: a server that hangs would keep a thread, and a
process that wants to end, for as long as the account's timeout."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

Dialled = Callable[[socket.socket], object]  # told of each socket before anything is waited for on it

_QUIET, _EVERY, _TIMES = 60, 15, 4  # seconds, seconds, probes


def dial(
    host: str, port: int, timeout: float, context: ssl.SSLContext | None, dialled: Dialled | None
) -> socket.socket:
    """With a `context`, over TLS."""
    note = dialled or _nobody
    plain = _connected(host, port, timeout, note)
    return plain if context is None else Securing(context, note).wrap_socket(plain, host)


class Securing:
    """Can be given to whoever wants a `context` for its STARTTLS."""

    def __init__(self, context: ssl.SSLContext, dialled: Dialled | None) -> None:
        self._context = context
        self._note = dialled or _nobody

    def wrap_socket(self, plain: socket.socket, server_hostname: str) -> ssl.SSLSocket:
        secure = self._context.wrap_socket(plain, server_hostname=server_hostname, do_handshake_on_connect=False)
        try:
            self._note(secure)
            secure.do_handshake()
        except BaseException:
            secure.close()
            raise
        return secure


def hang_up(sock: socket.socket) -> None:
    """From any thread: whoever waits on it gets an error."""
    with suppress(OSError, ValueError):
        sock.shutdown(socket.SHUT_RDWR)


def _connected(host: str, port: int, timeout: float, note: Dialled) -> socket.socket:
    """The first address that answers, as `socket.create_connection`."""
    failure: OSError = OSError("the name stands for no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(timeout)
            note(sock)
            sock.connect(address)
        except OSError as error:
            failure = error
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            _keep_alive(sock)
            return sock
    raise failure


def _keep_alive(sock: socket.socket) -> None:
    """What waits for news sends nothing for half an hour. Routers forget such a connection without a word, and after a
    change of networks nobody is at its other end."""
    # Otherwise the end of a command's line, which IMAPClient sends by itself, waits until the rest is confirmed.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", _QUIET), ("TCP_KEEPINTVL", _EVERY), ("TCP_KEEPCNT", _TIMES)):
        if hasattr(socket, name):  # not on every system
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _nobody(_sock: socket.socket) -> None:
    """Is interested."""
