"""postroom serve: the tools over MCP, for the configured accounts (the sample mailbox if there are none)."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_serving, say_what_it_waits_for, serving_flags, serving_overrides

if TYPE_CHECKING:
    from postroom.settings import Settings


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("serve", help="serve the email tools over MCP (standard input and output)")
    add_serving(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.settings import load

    settings = load(args.config, overrides=serving_overrides(args))
    for warning in settings.warnings:
        print(f"postroom: warning: {warning}", file=sys.stderr)
    if settings.is_demo:
        print("postroom: no settings found, serving the sample mailbox", file=sys.stderr)
    if args.http is not None:
        args.serve(settings, http=True, ready=lambda port: _print_hints(settings, port))
        return 0
    say_what_it_waits_for()
    args.serve(settings, http=False)
    return 0


def _print_hints(settings: Settings, port: int) -> None:
    from postroom.doors.cli import client_hints

    hints = client_hints.render(
        settings.server.host,
        port,
        what="a sample mailbox" if settings.is_demo else ", ".join(account.name for account in settings.accounts),
        own_process=["serve", *serving_flags(settings)],
        takes_token=client_hints.takes_token(settings),
    )
    print(hints, flush=True)
