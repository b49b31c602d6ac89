"""postroom search: the same query language as the tools, newest first."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, in_gateway

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.service.views import EmailPage


_NOTES = """\
Marks of a message, as in the tools: * unread, ! starred, @ attachments. ~ draft, not sent.
What begins with - is taken for a flag unless it comes after --: postroom search -- invoice -from:mia"""
_NOT_SEARCHED = "; Trash and Junk are searched only with in:anywhere"


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("search", help="search messages", epilog=_NOTES)
    add_config(parser)
    parser.add_argument("query", nargs="+", help='for instance: from:mia has:attachment newer_than:30d "site visit"')
    parser.add_argument("--account", metavar="NAME", help='which account (default: the first); "all" for every account')
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="how many messages (default: 20)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    page = in_gateway(args, lambda gateway: _found(gateway, args))
    print(_as_json(page) if args.json else "\n".join(_as_lines(page, args)))
    return 0


async def _found(gateway: Gateway, args: argparse.Namespace) -> EmailPage:
    """With what every tool's answer would say as well: since when a server has been out of reach."""
    from dataclasses import replace

    from postroom.service.notices import notices
    from postroom.service.reading.search import search_emails

    page = await search_emails(gateway, " ".join(args.query), account=args.account, limit=args.limit)
    return replace(page, notices=(*page.notices, *notices(gateway)))


def _as_json(page: EmailPage) -> str:
    import json
    import sys
    from dataclasses import asdict

    found = asdict(page)
    found["results"] = [
        {("from" if key == "sender" else key): value for key, value in row.items()} for row in found["results"]
    ]
    return json.dumps(found, ensure_ascii=(sys.stdout.encoding or "utf-8").lower() != "utf-8")


def _as_lines(page: EmailPage, args: argparse.Namespace) -> Iterator[str]:
    from postroom.doors.cli import table

    dated, times = table.time_column("DATE", [row.date for row in page.results])
    accounts = ("ACCOUNT",) if args.account == "all" else ()
    rows = [
        (row.email_id, when, *(row.account for _ in accounts), row.marks, row.sender, row.subject)
        for row, when in zip(page.results, times, strict=True)
    ]
    yield from table.lines(("ID", dated, *accounts, "", "FROM", "SUBJECT"), rows, kept_whole=2)
    yield _counted(page) if rows else f"no messages found{'' if 'in:' in str(args.query).lower() else _NOT_SEARCHED}"
    if page.filters_not_applied:
        yield f"filters not applied: {', '.join(page.filters_not_applied)}"
    yield from page.notices


def _counted(page: EmailPage) -> str:
    from postroom.service.reading.search import MAX_LIMIT

    more = f"; --limit shows up to {MAX_LIMIT}" if page.has_more and page.limit < MAX_LIMIT else ""
    of_all = f" of {page.total_count}" if page.total_count is not None else " and more" if page.has_more else ""
    return f"{len(page.results)}{of_all}{more}"
