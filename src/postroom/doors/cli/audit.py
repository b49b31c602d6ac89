"""postroom audit verify: check the hash chain and report whether anything was changed."""

from __future__ import annotations

import argparse

from postroom.doors.cli.options import Subparsers, add_config, add_verb_config, in_gateway


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("audit", help="check the audit log")
    add_config(parser)
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", help="without one: verify")
    verb = verbs.add_parser("verify", help="check the whole hash chain")
    add_verb_config(verb)
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from postroom.service.sending.auditing import verify

    report = in_gateway(args, verify)
    if report.ok:
        print(f"{report.entries} entries, the chain is intact")
        return 0
    print(f"{report.entries} entries; the chain is broken at entry {report.first_bad}")
    return 1
