"""Running the server: on stdin and stdout for one client, or over HTTP for many."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from postroom.doors.mcp import log
from postroom.settings import Settings, SettingsError

if TYPE_CHECKING:
    from postroom.doors.mcp.http.oauth.authorization import Authorization
    from postroom.doors.mcp.server import PostroomServer
    from postroom.service.gateway import Gateway
    from postroom.settings.clients import Client

Announce = Callable[[int], None]


def run_stdio(settings: Settings) -> None:
    """Serve until stdin ends or a signal comes, and what came in is answered. Nothing but JSON-RPC is written to
    stdout; logs go to stderr.

    Exits with 1 when the client closed stdout and a response could not be written.
    """
    log.configure(settings.logging.level, form=settings.logging.format)
    with contextlib.suppress(KeyboardInterrupt), _tracing():
        with _loading():
            server = server_for(settings)
        if not anyio.run(_serve_stdio, server):
            log.log.warning("client_gone", extra={"transport": "stdio"})
            raise SystemExit(1)


def run_http(settings: Settings, host: str, port: int, ready: Announce | None = None) -> None:
    """Serve until interrupted. `ready` is called with the port once connections are accepted."""
    log.configure(settings.logging.level, form=settings.logging.format)

    def announce(taken: int) -> None:
        gc.freeze()
        if ready is not None:
            ready(taken)

    with contextlib.suppress(KeyboardInterrupt), _tracing():
        anyio.run(serve_http, settings, host, port, announce)


async def _serve_stdio(server: PostroomServer) -> bool:
    from postroom.doors.mcp.stdio import Lines, claimed_stdin, run_stdio
    from postroom.doors.mcp.stopping import stopped_by_signals

    lines, loop = Lines(claimed_stdin()), asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(lines.end)  # a signal comes in the middle of anything

    with stopped_by_signals(stop):
        async with server.gateway(server):  # opened here, so that a failure to open is reported as a message
            return await run_stdio(server, lines)


async def serve_http(settings: Settings, host: str, port: int, announce: Announce | None = None) -> None:
    """`announce` is called with the port once connections are accepted: port 0 takes any free one."""
    import uvicorn

    from postroom.doors.mcp.http.accept import Listener
    from postroom.doors.mcp.http.app import http_app
    from postroom.doors.mcp.http.callers import Callers
    from postroom.doors.mcp.http.deadlines import KEEP_ALIVE_SECONDS, DeadlineProtocol
    from postroom.doors.mcp.stopping import stopped_by_signals

    class Announcing(uvicorn.Server):
        def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
            return contextlib.nullcontext()

        def stop(self) -> None:
            self.should_exit = True

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started and announce is not None:
                announce(listening.getsockname()[1])

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.close_streams()
            await super().shutdown(sockets)

    authorization = authorization_for(settings)
    tokens, needs_token = tokens_for(settings, host), not may_go_without_token(settings, host)
    callers = Callers(tokens, settings.home, authorization, needs_token=needs_token)
    server = server_for(settings)
    app = http_app(
        server,
        hosts=(host, *served_hosts(settings)),
        callers=callers,
        requests_per_minute=settings.server.requests_per_minute,
        calls_at_once=settings.server.calls_at_once,
        server_for=lambda client: client_server(server, settings, client),
    )
    config = uvicorn.Config(
        app,
        http=DeadlineProtocol,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    serving = Announcing(config)
    with Listener(_listening_socket(host, port)) as listening, stopped_by_signals(serving.stop):
        async with server.gateway(server):  # see _serve_stdio
            await serving.serve(sockets=[listening])


def server_for(settings: Settings) -> PostroomServer:
    """The server with its own Gateway, opened when serving begins."""
    from postroom.doors.mcp.server import build_server
    from postroom.wiring import open_working_gateway

    return build_server(lambda: open_working_gateway(settings), settings)


def client_server(server: PostroomServer, settings: Settings, client: Client) -> PostroomServer:
    """The server of one client, over the gateway that `server` has opened."""
    from postroom.doors.mcp.server import build_server
    from postroom.settings.clients import settings_for

    own = settings_for(settings, client)

    @contextlib.asynccontextmanager
    async def narrowed() -> AsyncIterator[Gateway]:
        assert server.gateway.opened is not None
        yield server.gateway.opened.narrowed(own)

    return build_server(narrowed, own, client=client.name, metrics=server.metrics)


def authorization_for(settings: Settings) -> Authorization | None:
    """None if no authorisation server is configured."""
    if not settings.authorization.issuer:
        return None
    from postroom.doors.mcp.http.oauth.authorization import Authorization
    from postroom.doors.mcp.http.oauth.keys import Keys
    from postroom.doors.mcp.http.oauth.verifying import Verifier
    from postroom.wiring import new_http_client

    keys = Keys(settings.authorization, partial(new_http_client, settings))
    return Authorization(settings, Verifier(settings.authorization, keys))


def served_hosts(settings: Settings) -> tuple[str, ...]:
    """The names under which clients reach the server; one of them is in the address that access tokens name."""
    resource = urlsplit(settings.authorization.resource).hostname
    return (*settings.server.allowed_hosts, *([resource] if resource else ()))


def tokens_for(settings: Settings, host: str) -> tuple[str, ...]:
    """The bearer tokens that admit to everything. An address that others can reach is not served to clients without a
    token, of these or of their own."""
    from postroom.settings.clients import load_clients
    from postroom.settings.secrets import resolve_tokens

    tokens, may_trust = resolve_tokens(settings.server), settings.traits.may_trust_network
    if tokens or settings.authorization.issuer or may_go_without_token(settings, host):
        return tokens
    if not load_clients(settings.home):
        trust = " If everyone who can reach it may read and send this mail, start with --trust-network."
        raise SettingsError(
            f"{_why_others_reach_it(settings, host)}, so clients must send a token. "
            "Create one with postroom tokens create NAME, set server.tokens (or tokens_env, tokens_file), or "
            f"{'bind to 127.0.0.1' if _is_open(host) else 'remove the name'}.{trust if may_trust else ''}"
        )
    return tokens


def may_go_without_token(settings: Settings, host: str) -> bool:
    """Whether only this machine can reach that address, or the operator trusts all who can. A further name is that of a
    proxy, through which others reach loopback, too."""
    is_local = not any(map(_is_open, (host, *served_hosts(settings))))
    return is_local or (settings.traits.may_trust_network and settings.server.trust_network)


def _is_open(host: str) -> bool:
    from postroom.doors.mcp.http.guard import LOOPBACK

    return host not in LOOPBACK


def _why_others_reach_it(settings: Settings, host: str) -> str:
    if _is_open(host):
        return f"server.bind_addr: {host} can be reached from other machines"
    name = next(filter(_is_open, served_hosts(settings)))
    return f"server.allowed_hosts: {name} is a name for clients that come through a proxy, as from other machines"


@contextlib.contextmanager
def _tracing() -> Iterator[None]:
    from postroom import __version__
    from postroom.tracing import exporting

    with exporting(os.environ, __version__) as problem:
        if problem:
            print(f"postroom: warning: {problem}", file=sys.stderr)  # noqa: T201
        yield


@contextlib.contextmanager
def _loading() -> Iterator[None]:
    """What is loaded stays until the end, so the garbage collector scans it neither now, which took a tenth of a cold
    start, nor later, which delayed some calls by 50 ms and more."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _listening_socket(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise SettingsError(
            f"server.bind_addr: cannot listen on {host}:{port} ({_reason(error)}). "
            "Choose another port, for instance with --http 127.0.0.1:8091."
        ) from None
    # Connections inherit it. asyncio sets it only on sockets of its own, and without it every response waits 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _reason(error: OSError) -> str:
    """The system's message; `create_server` adds the address to that of the error."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)
