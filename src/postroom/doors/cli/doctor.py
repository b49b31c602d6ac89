"""postroom doctor: what works, what does not, and what to do about it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config

if TYPE_CHECKING:
    from postroom.doors.cli.checkup import Finding
    from postroom.settings import Settings


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("doctor", help="check the installation and every account, and report what to fix")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from postroom.doors.cli import checkup
    from postroom.settings import load

    findings = [_shown(finding) for finding in checkup.installation()]
    settings = load(args.config)
    findings += [_shown(finding) for finding in checkup.settings_and_home(settings)]
    has_home = all(finding.ok for finding in findings)
    if args.count_tools is not None:
        findings.append(_shown(checkup.server(settings, args.count_tools)))
    findings += [_shown(finding) for finding in checkup.clients(settings)]
    if has_home:  # accounts need one
        findings += asyncio.run(_accounts(settings))
    return 0 if all(finding.ok for finding in findings) else 1


async def _accounts(settings: Settings) -> list[Finding]:
    from postroom.doors.cli import checkup
    from postroom.wiring import open_gateway

    async with open_gateway(settings, ids="handle") as gateway:
        return [
            _shown(await checkup.vault(gateway)),
            *[_shown(found) for account in settings.accounts async for found in checkup.account(gateway, account.name)],
            *[_shown(found) async for found in checkup.strangers(gateway)],
        ]


def _shown(finding: Finding) -> Finding:
    print(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.what}: {finding.text}", flush=True)
    return finding
