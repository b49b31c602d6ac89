"""postroom serve: the tools over MCP, for the configured accounts (or the demo's, when there are none)."""

from __future__ import annotations

import argparse
import sys

from postroom.doors.cli.options import Subparsers, add_serving, serving_overrides


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("serve", help="serve the email tools over MCP (standard input and output)")
    add_serving(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.settings import load

    settings = load(args.config, overrides=serving_overrides(args))
    if settings.is_demo:
        print("postroom: no settings found, serving the sample mailbox", file=sys.stderr)
    args.serve(settings, http=args.http is not None)
    return 0
