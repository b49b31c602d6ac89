"""postroom outbox: list pending sends, show their history, and resolve those that need a person."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.service.views import OutboxRow, SendView

ON_ITS_WAY = ("sent", "held", "scheduled")


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("outbox", help="list pending sends, and resolve those that are unclear")
    add_config(parser)
    parser.set_defaults(run=run, verb="list", all=False, account=None)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: list")
    listing = verbs.add_parser("list", help="sends that are pending or need a person")
    listing.add_argument("--all", action="store_true", help="include finished sends")
    listing.add_argument("--account", metavar="NAME")
    showing = verbs.add_parser("show", help="one send and every state it went through")
    resolving = verbs.add_parser("resolve", help="decide a send whose outcome is unclear")
    resolving.add_argument("verdict", choices=("sent", "resend", "drop"), help="it was sent | send it again | drop it")
    for name, verb in (("list", listing), ("show", showing), ("resolve", resolving)):
        add_verb_config(verb)
        if name != "list":
            verb.add_argument("send_id")
        verb.set_defaults(run=run, verb=name)


def run(args: argparse.Namespace) -> int:
    if args.verb == "resolve":
        return in_gateway(args, lambda gateway: _resolve(gateway, args))
    work = {"list": _list, "show": _show}[args.verb]
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
            _for_people(row.state),
            row.account,
            ", ".join(row.recipients),
            row.subject,
            row.reason or _due(row),
        )
        for row, when in zip(page.results, times, strict=True)
    ]
    header = ("ID", created, "STATE", "ACCOUNT", "RECIPIENTS", "SUBJECT", "NOTE")
    counted = f"{len(rows)} of {page.total_count}" if rows else "the outbox is empty"
    return [*table.lines(header, rows, kept_whole=3), counted, *notices(gateway)]


async def _show(gateway: Gateway, args: argparse.Namespace) -> list[str]:
    from postroom.service.sending.outbox import show_send

    row, recipients, steps = await show_send(gateway, args.send_id)
    said = [row.reason, _due(row)]
    head = [f"{row.send_id} {row.kind} from {row.account}: {_for_people(row.state)}", f"to {', '.join(recipients)}"]
    return [*head, f"subject {row.subject}", *filter(None, said), *map(_for_people, steps)]


def _for_people(state: str) -> str:
    """The stored state `done` reads `sent`, as in the results of the tools."""
    return re.sub(r"\bdone\b", "sent", state)


def _due(row: OutboxRow) -> str:
    return f"due {row.not_before}" if row.not_before else ""


async def _resolve(gateway: Gateway, args: argparse.Namespace) -> int:
    from postroom.service.sending.approval.approvals import resolve

    view = await resolve(gateway, args.send_id, args.verdict)
    show_outcome(view)
    return 0 if args.verdict != "resend" or view.status in ON_ITS_WAY else 1


def show_outcome(view: SendView) -> None:
    """The message is written for a model; a person is also told the commands."""
    print(f"{view.send_id} {view.status}: {view.message}")
    if view.status == "needs_human":
        shown, decided = f"postroom outbox show {view.send_id}", f"postroom outbox resolve resend {view.send_id}"
        print(f"To decide: {shown}; then {decided}, or sent or drop in place of resend.")
