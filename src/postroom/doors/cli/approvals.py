"""postroom approvals: list what waits for approval, and approve or reject it."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway
from postroom.doors.cli.outbox import ON_ITS_WAY, show_outcome

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway

_AT_TERMINAL = "command line"  # as recorded in the audit log


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("approvals", help="list, approve or reject what is waiting for approval")
    add_config(parser)
    parser.set_defaults(run=run, verb="list")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: list")
    for name, text in (
        ("list", "what is waiting for approval"),
        ("show", "the whole message"),
        ("approve", "show the message, then send it"),
        ("reject", "reject it; nothing is sent"),
    ):
        verb = verbs.add_parser(name, help=text)
        add_verb_config(verb)
        if name != "list":
            verb.add_argument("approval_id")
        if name == "approve":
            verb.add_argument("--yes", action="store_true", help="do not ask at the terminal; needs --reason")
            verb.add_argument("--reason", default="", metavar="TEXT", help="why, in a person's own words; not stored")
        verb.set_defaults(run=run, verb=name)


def run(args: argparse.Namespace) -> int:
    if args.verb == "list":
        print("\n".join(in_gateway(args, _listed)))
        return 0
    if args.verb == "reject":
        return in_gateway(args, lambda gateway: _decided(gateway, args.verb, args.approval_id, _AT_TERMINAL))
    how = _consent(args) if args.verb == "approve" else ""
    print(in_gateway(args, lambda gateway: _letter(gateway, args.verb, args.approval_id)))
    if args.verb == "show":
        return 0
    if how == _AT_TERMINAL and input("Send exactly this? Type yes to send it: ").strip().lower() != "yes":
        print("Nothing was sent; it is still waiting.")
        return 1
    return in_gateway(args, lambda gateway: _decided(gateway, args.verb, args.approval_id, how))


def _consent(args: argparse.Namespace) -> str:
    """How approval is given: at the terminal, or in advance with a reason, of which only the length is stored."""
    from postroom.model.errors import InvalidRequest

    reason = args.reason.strip()
    if args.yes and reason:
        return f"command line (reason of {len(reason)} characters)"
    if args.yes or not sys.stdin.isatty():
        raise InvalidRequest(
            "There is no terminal to ask at. Run it at one, or give --yes and --reason with a person's own words."
        )
    return _AT_TERMINAL


async def _letter(gateway: Gateway, verb: str, approval_id: str) -> str:
    """What is shown is what is approved: both check the file against the request, or refuse."""
    from postroom.service.sending.approval import approvals

    if verb == "approve":
        await approvals.check_undecided(gateway, approval_id)
    return await approvals.show(gateway, approval_id)


async def _listed(gateway: Gateway) -> list[str]:
    from postroom.doors.cli import table
    from postroom.service.sending.approval.approvals import count_waiting, list_waiting, unheeded

    waiting = await list_waiting(gateway)
    created, times = table.time_column("CREATED", [one.created for one in waiting])
    rows = [
        (one.approval_id, when, one.account, one.kind, ", ".join(one.recipients), one.subject)
        for one, when in zip(waiting, times, strict=True)
    ]
    ignored = [f"ignored: {name}: {reason}" for name, reason in await unheeded(gateway)]
    header = ("ID", created, "ACCOUNT", "KIND", "RECIPIENTS", "SUBJECT")
    return [*table.lines(header, rows, kept_whole=2), f"{await count_waiting(gateway)} waiting", *ignored]


async def _decided(gateway: Gateway, verb: str, approval_id: str, how: str) -> int:
    from postroom.service.sending.approval import approvals

    decide = approvals.approve if verb == "approve" else approvals.reject
    view = await decide(gateway, approval_id, who=_user(), how=how)
    show_outcome(view)
    return 0 if verb == "reject" or view.status in ON_ITS_WAY else 1


def _user() -> str:
    """Containers often run under a number that no name belongs to."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError from Python 3.13 on
        return str(os.getuid())
