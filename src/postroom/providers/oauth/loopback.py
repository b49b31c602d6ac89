"""A listener on this machine for the one request that brings the code back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from urllib.parse import parse_qsl, urlsplit

from postroom.model.errors import AuthRequired, InvalidRequest, PostroomError
from postroom.providers.oauth.authorizing import Attempt, code_in

PATIENCE = 300.0  # seconds for a person to log in
_HEAD_PATIENCE = 10.0  # seconds for a request to arrive
_LONGEST_HEAD = 16 * 1024
_PATH = "/"
_CLOSE = "You can close this window."


class Listener:
    """`port` is free to choose, so that no other program can occupy it beforehand."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._attempt: Attempt | None = None
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def redirect_uri(self, host: str) -> str:
        return f"http://{host}:{self.port}{_PATH}"

    async def code(self, attempt: Attempt, *, patience: float = PATIENCE) -> str:
        """The code of this attempt: a request with another state is refused, and waiting continues."""
        self._attempt = attempt
        try:
            async with asyncio.timeout(patience):
                return await self._code
        except TimeoutError:
            raise AuthRequired(f"Nobody logged in within {patience:.0f} seconds. Start again.") from None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
            page, settle = self._answered(head.decode("latin-1").partition("\r\n")[0])
            writer.write(page)
            await writer.drain()
            if not self._code.done():  # after the page is sent: the task that waits for the code stops the listener
                settle()
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _answered(self, first_line: str) -> tuple[bytes, Callable[[], None]]:
        """The page to show, and what it means for the waiting task."""
        method, _, rest = first_line.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        if method != "GET" or target.path != _PATH or not target.query or self._attempt is None:
            return _page(404, "Not found."), _nothing
        try:
            code = code_in(self._attempt, dict(parse_qsl(target.query)))
        except InvalidRequest as error:
            return _page(400, error.message), _nothing
        except PostroomError as error:
            return _page(200, f"{error.message} {_CLOSE}"), partial(self._code.set_exception, error)
        return _page(200, f"Login complete. {_CLOSE}"), partial(self._code.set_result, code)


def _nothing() -> None:
    """A response that settles nothing."""


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    """On 127.0.0.1 only: no other machine can reach it."""
    made: list[Listener] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await made[0].serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_LONGEST_HEAD)
    made.append(Listener(server.sockets[0].getsockname()[1]))
    try:
        yield made[0]
    finally:
        server.close()


def _page(status: int, text: str) -> bytes:
    """Fixed text only: nothing from the request is repeated in it."""
    body = f"<!doctype html><meta charset=utf-8><title>Postroom</title><p>{text}</p>".encode()
    headers = (
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'Refused'}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Content-Security-Policy: default-src 'none'",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join((*headers, "", "")).encode() + body
