"""postroom search: the same query language as the tools, newest first."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, in_gateway

if TYPE_CHECKING:
    from postroom.service.views import EmailPage, EmailRow


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("search", help="search the mail")
    add_config(parser)
    parser.add_argument("query", help='for instance: from:mia has:attachment newer_than:30d "site visit"')
    parser.add_argument("--account", metavar="NAME", help='which account (default: the first); "all" for every one')
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="how many mails (default: 20)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.service.reading.search import search_emails

    page = in_gateway(args, lambda gateway: search_emails(gateway, args.query, account=args.account, limit=args.limit))
    print(_as_json(page) if args.json else _as_lines(page))
    return 0


def _as_json(page: EmailPage) -> str:
    import json
    from dataclasses import asdict

    found = asdict(page)
    found["results"] = [
        {("from" if key == "sender" else key): value for key, value in row.items()} for row in found["results"]
    ]
    return json.dumps(found, ensure_ascii=False)


def _as_lines(page: EmailPage) -> str:
    from postroom.doors.cli import table

    shown = table.lines(("ID", "DATE", "", "FROM", "SUBJECT"), [_columns(row) for row in page.results])
    total = "more" if page.total_count is None else page.total_count
    ignored = [f"not applied: {', '.join(page.filters_not_applied)}"] if page.filters_not_applied else []
    return "\n".join([*shown, f"{len(page.results)} of {total}", *ignored, *page.notices])


def _columns(row: EmailRow) -> tuple[str, ...]:
    marks = ("*" if row.starred else "") + ("u" if row.unread else "") + ("a" if row.has_attachments else "")
    return row.email_id, row.date[:16].replace("T", " "), marks, row.sender, row.subject
