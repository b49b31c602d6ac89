"""postroom outbox: what is on its way, what came of it, and deciding what only a person can."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.service.views import OutboxRow


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("outbox", help="see what is on its way out, decide what is unclear")
    add_config(parser)
    parser.set_defaults(run=run, verb="list", all=False, account=None)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: list")
    listing = verbs.add_parser("list", help="what is on its way or needs a person")
    listing.add_argument("--all", action="store_true", help="finished ones too")
    listing.add_argument("--account", metavar="NAME")
    showing = verbs.add_parser("show", help="one send and every state it went through")
    resolving = verbs.add_parser("resolve", help="decide a send whose fate is unclear")
    resolving.add_argument("verdict", choices=("sent", "resend", "drop"), help="it went out | send again | drop it")
    for name, verb in (("list", listing), ("show", showing), ("resolve", resolving)):
        add_verb_config(verb)
        if name != "list":
            verb.add_argument("send_id")
        verb.set_defaults(run=run, verb=name)


def run(args: argparse.Namespace) -> int:
    work = {"list": _list, "show": _show, "resolve": _resolve}[args.verb]
    print("\n".join(in_gateway(args, lambda gateway: work(gateway, args))))
    return 0


async def _list(gateway: Gateway, args: argparse.Namespace) -> list[str]:
    from postroom.doors.cli import table
    from postroom.service.notices import notices
    from postroom.service.sending.outbox import list_outbox

    page = await list_outbox(gateway, account=args.account, include_finished=args.all, limit=100)
    created, times = table.time_column("CREATED", [row.created for row in page.results])
    rows = [
        (
            row.send_id,
            when,
            row.state,
            row.account,
            ", ".join(row.recipients),
            row.subject,
            row.reason or _leaves(row),
        )
        for row, when in zip(page.results, times, strict=True)
    ]
    header = ("ID", created, "STATE", "ACCOUNT", "RECIPIENTS", "SUBJECT", "NOTE")
    counted = f"{len(rows)} of {page.total_count}" if rows else "the outbox is empty"
    return [*table.lines(header, rows, kept_whole=3), counted, *notices(gateway)]


async def _show(gateway: Gateway, args: argparse.Namespace) -> list[str]:
    from postroom.service.sending.outbox import show_send

    row, recipients, steps = await show_send(gateway, args.send_id)
    said = [row.reason, _leaves(row)]
    head = [f"{row.send_id} {row.kind} from {row.account}: {row.state}", f"to {', '.join(recipients)}"]
    return [*head, f"subject {row.subject}", *filter(None, said), *steps]


def _leaves(row: OutboxRow) -> str:
    return f"leaves {row.not_before}" if row.not_before else ""


async def _resolve(gateway: Gateway, args: argparse.Namespace) -> list[str]:
    from postroom.service.sending.approval.approvals import resolve

    view = await resolve(gateway, args.send_id, args.verdict)
    return [f"{view.send_id} {view.status}: {view.message}"]
