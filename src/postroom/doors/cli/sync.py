"""postroom sync: bring the mirrors of the accounts up to date, once or for as long as it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, in_gateway

if TYPE_CHECKING:
    from postroom.service.accounts.mirrors import MirrorStatus, OnProgress, Synced
    from postroom.service.gateway import Gateway


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("sync", help="bring the local mirrors of the accounts up to date")
    add_config(parser)
    parser.add_argument("--account", metavar="NAME", help="only this account (default: every account with a mirror)")
    parser.add_argument("--reset", action="store_true", help="throw the mirror away and fill it again")
    parser.add_argument("--follow", action="store_true", help="keep following the server until interrupted")
    parser.add_argument("--until-eof", action="store_true", help=argparse.SUPPRESS)  # a server that starts it
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    results = in_gateway(args, lambda gateway: _sync(gateway, args))
    for result in results:
        print(_said(result))
    return 1 if any(result.error or result.status.refusals for result in results) else 0


async def _sync(gateway: Gateway, args: argparse.Namespace) -> list[Synced]:
    from postroom.service.accounts import mirrors

    accounts = mirrors.mirrored_accounts(gateway.settings, args.account)
    if not accounts:
        print('postroom: no account has a mirror; set mirror = "full" for one', file=sys.stderr)
        return []
    show, finish = _progress([account.name for account in accounts])
    try:
        if not args.follow or args.reset:
            results = await mirrors.sync(gateway, accounts, reset=args.reset, on_progress=show)
            if not args.follow:
                return results
        await _following(gateway, args, show)
    finally:
        finish()
    return []


async def _following(gateway: Gateway, args: argparse.Namespace, show: OnProgress) -> None:
    import anyio

    from postroom.service.accounts import mirrors

    accounts = mirrors.mirrored_accounts(gateway.settings, args.account)
    async with anyio.create_task_group() as tasks:
        if args.until_eof:
            tasks.start_soon(_end_at_eof, tasks.cancel_scope.cancel)
        await mirrors.follow(gateway, accounts, on_progress=None if args.until_eof else show)


async def _end_at_eof(end: Callable[[], None]) -> None:
    """The other end of the pipe closes when the server that started this process ends."""
    import anyio.to_thread

    await anyio.to_thread.run_sync(sys.stdin.buffer.read, abandon_on_cancel=True)
    end()


def _progress(names: list[str]) -> tuple[OnProgress, Callable[[], None]]:
    from postroom.doors.cli.progress import Progress

    bars = {name: Progress(f"syncing {name}") for name in names}

    def show(account: str, done: int, total: int) -> None:
        bars[account](done, total)

    def finish() -> None:
        for bar in bars.values():
            bar.finish()

    return show, finish


def _said(result: Synced) -> str:
    if result.error or result.remark:
        return f"{result.account}: {result.error or result.remark}"
    status = result.status
    bare = f" ({status.bare} of them only as listed, without their text)" if status.bare else ""
    return f"{result.account}: {status.messages} messages{bare}, {status.bytes / 2**20:.0f} MB, {_state(status)}"


def _state(status: MirrorStatus) -> str:
    if status.refusals:
        return f"up to date except for folders that the server refuses. {status.refusals}"
    if status.leaves_all_out:
        return "all folders are in mirror_leave_out"
    unread = [folder.name for folder in status.folders if not (folder.complete or folder.is_left_out)]
    return "up to date" if status.complete else f"not complete: {', '.join(unread) or 'the folders'} could not be read"
