"""postroom accounts: which mailboxes are configured, and with --check whether each can be opened."""

from __future__ import annotations

import argparse

from postroom.doors.cli.options import Subparsers, add_config, in_house


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("accounts", help="list the configured accounts")
    add_config(parser)
    parser.add_argument("--check", action="store_true", help="log in to each")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.doors.cli import table
    from postroom.service.accounts import list_accounts

    accounts = in_house(args, lambda house: list_accounts(house, check=args.check))
    rows = [
        (account.name, account.provider, account.address, account.status or ("default" if account.is_default else ""))
        for account in accounts
    ]
    print("\n".join(table.lines(rows)))
    return 0 if not args.check or all(account.status == "ok" for account in accounts) else 1
