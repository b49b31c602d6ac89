"""postroom accounts: list the configured accounts, check them with --check; add, log in, remove."""

from __future__ import annotations

import argparse
from pathlib import Path

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("accounts", help="list the configured accounts; add, remove or log in to one")
    add_config(parser)
    parser.add_argument("--check", action="store_true", help="log in to each")
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    _register_list(verbs)
    _register_add(verbs)
    _register_login(verbs)
    _register_remove(verbs)


def run(args: argparse.Namespace) -> int:
    from postroom.doors.cli import table
    from postroom.service.accounts.folders import list_accounts

    accounts = in_gateway(args, lambda gateway: list_accounts(gateway, check=args.check))
    rows = [
        (account.name, account.provider, account.address, account.status or ("default" if account.is_default else ""))
        for account in accounts
    ]
    print("\n".join(table.lines(("NAME", "PROVIDER", "ADDRESS", "STATUS"), rows)))
    return 0 if not args.check or all(account.status == "ok" for account in accounts) else 1


def _register_list(verbs: Subparsers) -> None:
    verb = verbs.add_parser("list", help="the default")
    verb.add_argument("--check", action="store_true", default=argparse.SUPPRESS, help="log in to each")
    add_verb_config(verb)
    verb.set_defaults(run=run)


def _register_add(verbs: Subparsers) -> None:
    verb = verbs.add_parser("add", help="set up an account: finds its servers, tries the login, saves it")
    verb.add_argument("address", help="for instance alice@example.com")
    verb.add_argument(
        "--provider",
        choices=("imap", "gmail", "graph", "jmap", "local", "rest"),
        help="kind of mailbox (default: gmail for Gmail, else imap)",
    )
    verb.add_argument("--name", default="", help="name of the account (default: from the address)")
    verb.add_argument("--display-name", default="", metavar="TEXT", help="the name shown with the address")
    verb.add_argument("--username", default="", help="login name, if it is not the address")
    verb.add_argument("--auth", choices=("password", "xoauth2", "oauthbearer"), default="password")
    _add_oauth(verb)
    verb.add_argument(
        "--oauth", action="store_true", help="log in on the provider's own page (Google, Microsoft, Fastmail)"
    )
    verb.add_argument(
        "--client-id", default="", metavar="ID", help="client id of the app you registered there, for --oauth"
    )
    verb.add_argument("--client-secret-env", default="", metavar="NAME", help="environment variable with its secret")
    verb.add_argument("--client-secret-file", type=Path, metavar="FILE", help="file with its secret")
    verb.add_argument("--base-url", default="", metavar="URL", help="where the mail API is, for --provider rest")
    verb.add_argument("--ca-file", type=Path, metavar="FILE", help="certificate authority to trust")
    for prefix, what in (("", "IMAP or JMAP"), ("smtp-", "SMTP")):
        verb.add_argument(f"--{prefix}host", default="", help=f"the {what} server, instead of looking for it")
        verb.add_argument(f"--{prefix}port", type=int, default=0, metavar="N")
        verb.add_argument(f"--{prefix}security", choices=("tls", "starttls", "none"), default="")
    verb.add_argument("--yes", action="store_true", help="trust servers outside the address's domain without asking")
    _add_secret(verb)
    verb.set_defaults(run=_add)


def _register_login(verbs: Subparsers) -> None:
    verb = verbs.add_parser("login", help="log in to an account again, or store its new password or token")
    verb.add_argument("name", help="as postroom accounts shows it")
    _add_oauth(verb)
    _add_secret(verb)
    verb.set_defaults(run=_login)


def _register_remove(verbs: Subparsers) -> None:
    verb = verbs.add_parser("remove", help="remove an account and its stored secret; its email is not touched")
    verb.add_argument("name", help="as postroom accounts shows it")
    add_verb_config(verb)
    verb.set_defaults(run=_remove)


def _add_oauth(verb: argparse.ArgumentParser) -> None:
    way = verb.add_mutually_exclusive_group()
    way.add_argument("--device", action="store_true", help="with OAuth: log in on another device, with a code")
    way.add_argument("--paste", action="store_true", help="with OAuth: log in elsewhere and paste the final URL")


def _add_secret(verb: argparse.ArgumentParser) -> None:
    add_verb_config(verb)
    verb.add_argument("--password-stdin", action="store_true", help="read the password or token from standard input")
    verb.add_argument("--secret-file", action="store_true", help="store it in an encrypted file, not in the keyring")
    verb.add_argument("--no-check", action="store_true", help="store without trying to log in")


def _add(args: argparse.Namespace) -> int:
    from postroom.doors.cli import account_setup

    return account_setup.add(args)


def _login(args: argparse.Namespace) -> int:
    from postroom.doors.cli import account_setup

    return account_setup.log_in(args)


def _remove(args: argparse.Namespace) -> int:
    from postroom.doors.cli import account_setup

    return account_setup.remove(args)
