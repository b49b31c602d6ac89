"""postroom approvals: what waits for a person's say, and giving it."""

from __future__ import annotations

import argparse
import getpass
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, in_house

if TYPE_CHECKING:
    from postroom.service.house import House


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("approvals", help="see and decide what waits for a person's say")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name, text in (
        ("list", "what waits"),
        ("show", "the whole letter"),
        ("approve", "let it be sent"),
        ("reject", "refuse it; nothing is sent"),
    ):
        verb = verbs.add_parser(name, help=text)
        add_config(verb)
        if name != "list":
            verb.add_argument("approval_id")
        verb.set_defaults(run=run, verb=name)


def run(args: argparse.Namespace) -> int:
    if args.verb == "list":
        print("\n".join(in_house(args, _listed)))
        return 0
    return in_house(args, lambda house: _decided(house, args.verb, args.approval_id))


async def _listed(house: House) -> list[str]:
    from postroom.doors.cli import table
    from postroom.service.approvals import count_waiting, list_waiting, unheeded

    waiting = await list_waiting(house)
    rows = [
        (one.approval_id, one.created[:16].replace("T", " "), one.account, one.kind, ", ".join(one.recipients))
        for one in waiting
    ]
    ignored = [f"not used: {name}: {reason}" for name, reason in await unheeded(house)]
    return [*table.lines(rows, widest=60), f"{await count_waiting(house)} waiting", *ignored]


async def _decided(house: House, verb: str, approval_id: str) -> int:
    from postroom.service import approvals

    if verb == "show":
        print(await approvals.show(house, approval_id))
        return 0
    decide = approvals.approve if verb == "approve" else approvals.reject
    view = await decide(house, approval_id, who=getpass.getuser(), how="command line")
    print(f"{view.send_id} {view.status}: {view.message}")
    return 0 if verb == "reject" or view.status in ("sent", "held", "scheduled") else 1
