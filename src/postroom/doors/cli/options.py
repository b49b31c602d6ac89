"""Flags that several commands share, and the settings they change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.settings import Settings
T = TypeVar("T")
_WAITING = """\
postroom: waiting for an MCP client on standard input; clients start this command themselves.
postroom: for a server that clients connect to: postroom serve --http. To read mail here: postroom search.
postroom: press Ctrl-C to stop."""
CountTools: TypeAlias = "Callable[[Settings], int]"  # SettingsError if they cannot be served
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Serve(Protocol):
    """How a command starts the MCP server: over standard input and output, or over HTTP. Blocks until it ends.

    `ready` is called with the port once the HTTP server accepts connections.
    """

    def __call__(self, settings: Settings, *, http: bool, ready: Callable[[int], None] | None = None) -> None: ...


def add_config(parser: argparse.ArgumentParser) -> None:
    default = "$POSTROOM_CONFIG, or else postroom.toml in your configuration folder"
    parser.add_argument("--config", type=Path, metavar="FILE", help=f"settings file (default: {default})")


def add_verb_config(verb: argparse.ArgumentParser) -> None:
    """Without a default, which would override a --config given before the verb."""
    verb.add_argument("--config", type=Path, default=argparse.SUPPRESS, metavar="FILE", help="settings file")


def add_serving(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.add_argument(
        "--http", nargs="?", const="", metavar="ADDR", help="serve over HTTP on host:port (default: server.bind_addr)"
    )
    parser.add_argument("--dialect", metavar="NAME", help="which set of tool names to use")
    parser.add_argument("--toolsets", metavar="A,B", help="which groups of tools to offer, separated by commas")
    parser.add_argument("--trust-network", action="store_true", help="serve without a token, if the dialect allows it")
    parser.add_argument("--read-only", action="store_true", help="offer no tool that writes, and refuse every write")


def serving_overrides(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags change in the settings; a flag that is absent changes nothing, and read-only is never lifted."""
    server: dict[str, Any] = {}
    if args.http:
        server["bind_addr"] = args.http
    if args.dialect:
        server["dialect"] = args.dialect
    if args.toolsets is not None:
        server["toolsets"] = [name.strip() for name in args.toolsets.split(",") if name.strip()]
    if args.trust_network:
        server["trust_network"] = True
    if args.read_only:
        server["read_only"] = True
    return {"server": server}


def serving_flags(settings: Settings) -> list[str]:
    """Flags with which another process serves the same tools: it must not offer more than this one."""
    server = settings.server
    config = ["--config", str(settings.config_path.resolve())] if settings.config_path else []
    dialect = ["--dialect", server.dialect] if "dialect" in server.model_fields_set else []
    toolsets = ["--toolsets", ",".join(server.toolsets)] if server.toolsets != settings.traits.toolsets else []
    return [*config, *dialect, *toolsets, *(["--read-only"] if server.read_only else [])]


def say_what_it_waits_for() -> None:
    """Only at a terminal; a client never sees it."""
    if sys.stdin.isatty():
        print(_WAITING, file=sys.stderr)


def in_gateway(args: argparse.Namespace, work: Callable[[Gateway], Awaitable[T]]) -> T:
    """Open a gateway with the settings of `--config`, do the work, close it. People use handles as message ids,
    whichever ids the dialect shows to agents."""
    import asyncio

    from postroom.settings import load
    from postroom.wiring import open_gateway

    settings = load(args.config)

    async def visit() -> T:
        async with open_gateway(settings, ids="handle") as gateway:
            return await work(gateway)

    return asyncio.run(visit())
