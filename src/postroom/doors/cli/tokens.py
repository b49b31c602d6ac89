"""postroom tokens: bearer tokens of HTTP clients, each with its own accounts, tools and gate."""

from __future__ import annotations

import argparse

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("tokens", help="list, create or revoke tokens of HTTP clients")
    add_config(parser)
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: list")
    listing = verbs.add_parser("list", help="the clients that have a token")
    listing.set_defaults(run=run)
    _register_create(verbs)
    revoking = verbs.add_parser("revoke", help="end a client's access, and its open sessions")
    revoking.add_argument("name", help="as postroom tokens shows it")
    revoking.set_defaults(run=_revoke)
    for verb in (listing, revoking):
        add_verb_config(verb)


def _register_create(verbs: Subparsers) -> None:
    verb = verbs.add_parser("create", help="create a token; it is shown once")
    verb.add_argument("name", help="of the client, for instance laptop")
    verb.add_argument("--account", action="append", default=[], metavar="NAME", help="only this account; repeatable")
    verb.add_argument("--toolset", action="append", default=[], metavar="NAME", help="only this toolset; repeatable")
    verb.add_argument("--gate", default="", metavar="NAME", help="its own gate, instead of safety.gate")
    verb.add_argument("--read-only", action="store_true", help="no tool that writes")
    add_verb_config(verb)
    verb.set_defaults(run=_create)


def run(args: argparse.Namespace) -> int:
    from postroom.doors.cli import table
    from postroom.settings import load
    from postroom.settings.clients import FILE, load_clients

    home = load(args.config).home
    clients = load_clients(home)
    rows = [
        (
            client.name,
            ", ".join(client.accounts) or "all",
            ", ".join(client.toolsets) or "all",
            client.gate or "default",
            "read-only" if client.read_only else "",
            client.created,
        )
        for client in clients or ()
    ]
    header = ("NAME", "ACCOUNTS", "TOOLSETS", "GATE", "", "CREATED")
    print("\n".join(table.lines(header, rows)) or "No client has a token. Create one: postroom tokens create laptop")
    if clients == ():
        print(f"Every request still needs one; to serve without tokens again, delete {home / FILE}")
    return 0


def _create(args: argparse.Namespace) -> int:
    from postroom.settings import load
    from postroom.settings.clients import Client, create

    wanted = Client(args.name, "", tuple(args.account), tuple(args.toolset), args.gate, args.read_only)
    print(create(load(args.config), wanted))
    return 0


def _revoke(args: argparse.Namespace) -> int:
    from postroom.settings import load
    from postroom.settings.clients import revoke

    revoke(load(args.config).home, args.name)
    print(f"{args.name} has no access any more.")
    return 0
