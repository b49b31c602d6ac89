"""postroom import: an mbox file or a Maildir into a local account. Running it again adds no duplicates."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, in_gateway

if TYPE_CHECKING:
    from postroom.service.accounts.importing import ImportReport
    from postroom.service.gateway import Gateway


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("import", help="import an mbox file or a Maildir into a local account")
    add_config(parser)
    parser.add_argument("path", type=Path, help="an mbox file (a Gmail Takeout, for instance) or a Maildir folder")
    parser.add_argument("--account", metavar="NAME", help="which local account (default: the first of them)")
    parser.add_argument("--folder", metavar="NAME", help="folder for messages that do not name one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.mime.visible import guarded

    report = in_gateway(args, lambda gateway: _import(gateway, args))
    for problem in report.problems:
        print(f"failed: {guarded(problem)}", file=sys.stderr)
    if report.failed > len(report.problems):
        print(f"failed: {report.failed - len(report.problems)} more", file=sys.stderr)
    where = f" to {', '.join(report.folders)}" if report.folders else ""
    print(f"added {report.added}{where}, already there {report.skipped_duplicates}, failed {report.failed}")
    return 1 if report.failed else 0


async def _import(gateway: Gateway, args: argparse.Namespace) -> ImportReport:
    from postroom.doors.cli.progress import Progress
    from postroom.service.accounts.importing import import_mail

    progress = Progress(f"importing {args.path.resolve().name}")
    try:
        return await import_mail(gateway, args.path, account=args.account, folder=args.folder, on_progress=progress)
    finally:
        progress.finish()
