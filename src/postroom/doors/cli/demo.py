"""postroom demo: the embedded sample mailbox, over HTTP by default, with hints on how to connect."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_serving, say_what_it_waits_for, serving_flags, serving_overrides

if TYPE_CHECKING:
    from postroom.settings import Settings


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("demo", help="serve a sample mailbox; needs no account and no network")
    add_serving(parser)
    parser.add_argument("--stdio", action="store_true", help="serve over standard input and output instead of HTTP")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.settings import load_demo

    settings = load_demo(args.config, overrides=serving_overrides(args))
    if args.stdio:
        say_what_it_waits_for()
        args.serve(settings, http=False)
    else:
        args.serve(settings, http=True, ready=lambda port: _print_hints(settings, port))
    return 0


def _print_hints(settings: Settings, port: int) -> None:
    from postroom.doors.cli.client_hints import render, takes_token

    own_process = ["demo", "--stdio", *serving_flags(settings)]
    hints = render(settings.server.host, port, own_process=own_process, takes_token=takes_token(settings))
    print(hints, flush=True)
