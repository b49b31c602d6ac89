"""An inbox of many thousand mails in seconds: written as Dovecot keeps it, with most mails as links to a few files."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.peers.dovecot import MAIL_OWNER, Dovecot

VALIDITY = 1_700_000_000
ALIKE = 50  # mails in a row with the same content; only their UIDs differ
_FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)


def fill_inbox(dovecot: Dovecot, user: str, count: int) -> None:
    """UIDs from 1 to `count`, oldest first; the mails of each block of ALIKE are about that block's number."""
    maildir = dovecot.maildir(user)
    for name in ("cur", "new", "tmp"):
        (maildir / name).mkdir(parents=True)
    numbers = [f"3 V{VALIDITY} N{count + 1} G{VALIDITY:032x}\n"]
    for uid in range(1, count + 1):
        name = f"{VALIDITY + uid}.M{uid}P1.big"
        path = f"{maildir}/cur/{name}:2,S"
        block, place = divmod(uid - 1, ALIKE)
        if place == 0:
            first = path
            with open(path, "wb") as file:
                file.write(_mail(block))
        else:
            os.link(first, path)
        numbers.append(f"{uid} :{name}\n")
    (maildir / "dovecot-uidlist").write_text("".join(numbers))
    for path in (maildir.parent, maildir, *maildir.iterdir()):
        os.chown(path, MAIL_OWNER, MAIL_OWNER)


def _mail(block: int) -> bytes:
    date = format_datetime(_FIRST_DAY + timedelta(hours=block))
    return (
        f"From: Ada <ada@friends.example>\r\nTo: me@example.test\r\nSubject: Report {block}\r\nDate: {date}\r\n"
        f"Message-ID: <{block}@seed.example>\r\n\r\nThe figure is figure{block}x, as agreed.\r\n"
    ).encode()
