"""What an IMAP server leaves undecided: fetches as much of each message as the judge asks for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from postroom.mime.read.dates import read_date
from postroom.mime.read.parse import Parsed
from postroom.model.message import Attachment, Envelope
from postroom.model.query.tree import After, Before, Node
from postroom.providers.imap.flavours.criteria import NONE, Say, bounds
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.mail.convert import as_bytes
from postroom.providers.imap.mail.structure import attachments, read_structure
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.wire import Item, read_internal_date
from postroom.providers.querying.judging import Judge

DATES = "INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE)]"
_TEXT = "BODY.PEEK[]<0.65536>"
_UNREAD = Parsed()


def judge_for(session: Session, node: Node) -> Judge[int]:
    """By UID, of the open folder."""
    say = flavour_of(session).say

    def is_exact(condition: Node) -> bool:
        return bounds(condition, say).are_exact

    return Judge(node, is_exact, lambda condition: _uids_of(session, condition, say))


def accepted(session: Session, judge: Judge[int], uids: Sequence[int]) -> set[int]:
    needs_dates = any(isinstance(leaf, After | Before) for leaf in judge.ours)
    items = " ".join(["UID BODYSTRUCTURE", *[DATES] * needs_dates, *[_TEXT] * judge.reads_text])
    found: set[int] = set()
    for uid, item in session.fetch(uids, items).items():
        files = attachments(read_structure(item.get("BODYSTRUCTURE")))
        if judge.accepts(uid, *_outline(item, files), [file.filename for file in files]):
            found.add(uid)
    return found


def _uids_of(session: Session, condition: Node, say: Say) -> set[int]:
    keys = bounds(condition, say).upper
    return set() if keys == NONE else set(session.search(keys.words))


def _outline(item: Item, files: Sequence[Attachment]) -> tuple[Envelope, str]:
    """As much of a message as was asked for, and its words."""
    mail, text = _read(item["BODY[]"]) if "BODY[]" in item else (_UNREAD, "")
    envelope = Envelope(
        ref="",
        thread_ref="",
        folder="",
        sender=mail.sender,
        to=mail.to,
        cc=mail.cc,
        bcc=mail.bcc,
        subject=mail.subject,
        date=date_of(item) if "INTERNALDATE" in item else None,
        has_attachments=any(not file.inline for file in files),
    )
    return envelope, text


def _read(beginning: Any) -> tuple[Parsed, str]:
    from postroom.mime import guarded

    mail = guarded.parse(as_bytes(beginning))
    return mail, guarded.search_text(mail.body)


def date_of(item: Item) -> datetime | None:
    header = as_bytes(item.get("HEADERS")).decode("ascii", "replace").partition(":")[2]
    return read_date(" ".join(header.split())) or read_internal_date(item.get("INTERNALDATE"))
