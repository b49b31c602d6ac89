"""postroom read: one message as read_email shows it, Markdown on standard output. Reading changes nothing."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from postroom.doors.cli.options import Subparsers, add_config, in_gateway

_CUT_LINK = re.compile(r"https?://\S{0,200}…|mailto:\S{0,200}…")

if TYPE_CHECKING:
    from postroom.service.gateway import Gateway
    from postroom.service.views import OpenEmail


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("read", help="read one message")
    add_config(parser)
    parser.add_argument("email_id", help="as postroom search shows it")
    parser.add_argument("--account", metavar="NAME", help="which account (default: the one the message is in)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--quoted", action="store_true", help="include the quoted history")
    shown.add_argument("--links", action="store_true", help="its links in full, numbered")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    mail, notices = in_gateway(args, lambda gateway: _opened(gateway, args))
    print("\n".join(_lines(mail)))
    for notice in notices:  # not among the lines of the message, which may be kept
        print(notice, file=sys.stderr)
    return 0


async def _opened(gateway: Gateway, args: argparse.Namespace) -> tuple[OpenEmail, tuple[str, ...]]:
    from postroom.service.notices import notices
    from postroom.service.reading.read import read_email
    from postroom.service.reading.rendering import MAX_BODY_CHARS

    mail = await read_email(
        gateway,
        args.email_id,
        account=args.account,
        body_format="links" if args.links else "markdown",
        include_quoted=args.quoted,
        max_chars=MAX_BODY_CHARS,
    )
    return mail, notices(gateway)


def _lines(mail: OpenEmail) -> Iterator[str]:
    """No untrusted text reaches the terminal raw: hidden, direction and control characters are shown as marks."""
    from postroom.mime.visible import guarded, visible_text

    yield f"# {guarded(mail.row.subject) or '(no subject)'}"
    yield ""
    for name, value in _facts(mail):
        yield f"- {name}: {guarded(value)}"
    yield ""
    yield visible_text(mail.body)
    if mail.truncated:
        yield f"\n(cut after {len(mail.body)} of {mail.body_chars} characters)"


def _facts(mail: OpenEmail) -> Iterator[tuple[str, str]]:
    row = mail.row
    yield "From", row.sender
    for name, addresses in (("To", row.to), ("Cc", mail.cc), ("Bcc", mail.bcc), ("Reply-To", mail.reply_to)):
        if addresses:
            yield name, ", ".join(addresses)
    yield "Date", row.date
    yield "Folder", f"{row.mailbox} ({row.account})"
    for file in mail.attachments:
        yield "Attachment", f"{file.filename} ({file.mime_type}, {file.size} bytes)"
    for warning in mail.facts.warnings:
        yield "Warning", warning
    if mail.quoted_folded:
        yield "Omitted", f"{mail.quoted_folded} characters of quoted history; --quoted shows them"
    if mail.hidden_removed:
        yield "Removed", f"{mail.hidden_removed} {'piece' if mail.hidden_removed == 1 else 'pieces'} of hidden text"
    if _CUT_LINK.search(mail.body):
        yield "Shortened", "links that end in …; --links shows them in full"
