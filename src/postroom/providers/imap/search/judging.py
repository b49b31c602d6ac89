"""What a server leaves undecided, decided here: mail by mail, from as little of each as will do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from postroom.mime.read.dates import read_date
from postroom.mime.read.parse import Parsed
from postroom.model.errors import InvalidRequest
from postroom.model.message import Attachment, Envelope
from postroom.model.query.match import matches
from postroom.model.query.tree import After, And, Before, Node, Not, Or, Query, Text
from postroom.providers.imap.flavours.criteria import FALSE, NONE, TRUE, Say, bounds
from postroom.providers.imap.flavours.flavour import flavour_of
from postroom.providers.imap.mail.convert import as_bytes
from postroom.providers.imap.mail.structure import attachments, read_structure
from postroom.providers.imap.session.client import Session
from postroom.providers.imap.session.wire import Item, read_internal_date

READ_WHOLE = 500  # so many undecided mails are read, where a server cannot look for parts of words

DATES = "INTERNALDATE BODY.PEEK[HEADER.FIELDS (DATE)]"
_TEXT = "BODY.PEEK[]<0.65536>"
_UNREAD = Parsed()


class Judge:
    """Decides single mails. What the server can say exactly is asked of it once, as a set; only the rest is ours."""

    def __init__(self, session: Session, node: Node) -> None:
        self._session = session
        self._say = flavour_of(session).say
        self._node = _undecided(node, self._say)
        self._known: dict[Node, set[int]] = {}
        leaves = list(Query(self._node).leaves())
        ours = [leaf for leaf in leaves if not bounds(leaf, self._say).are_exact]
        self._is_ours_alone = len(ours) == len(leaves)
        self._reads_text = any(isinstance(leaf, Text) for leaf in ours)
        needs_dates = any(isinstance(leaf, After | Before) for leaf in ours)
        self._items = " ".join(["UID BODYSTRUCTURE", *[DATES] * needs_dates, *[_TEXT] * self._reads_text])

    def require_few(self, undecided: int) -> None:
        """Looking at a mail's structure is cheap, reading mail after mail is not."""
        if self._reads_text and undecided > READ_WHOLE:
            raise InvalidRequest(
                "This mail server compares whole words only, and too many mails would have to be read to find those "
                "with a word that begins like this. Write the words out, like invoice OR invoices, or narrow the "
                "search with in:, from: or after:.",
                details={"field": "query"},
            )

    def accepted(self, uids: Sequence[int]) -> set[int]:
        found: set[int] = set()
        for uid, item in self._session.fetch(uids, self._items).items():
            files = attachments(read_structure(item.get("BODYSTRUCTURE")))
            node = self._node if self._is_ours_alone else self._with_answers(self._node, uid)
            if matches(node, *_outline(item, files), [file.filename for file in files]):
                found.add(uid)
        return found

    def _with_answers(self, node: Node, uid: int) -> Node:
        if bounds(node, self._say).are_exact:
            return TRUE if uid in self._uids_of(node) else FALSE
        if isinstance(node, Not):
            return Not(self._with_answers(node.node, uid))
        if isinstance(node, (And, Or)):
            return type(node)(tuple(self._with_answers(child, uid) for child in node.nodes))
        return node

    def _uids_of(self, node: Node) -> set[int]:
        if node not in self._known:
            keys = bounds(node, self._say).upper
            self._known[node] = set() if keys == NONE else set(self._session.search(keys.words))
        return self._known[node]


def _undecided(node: Node, say: Say) -> Node:
    """Without the conditions that every candidate fulfils already."""
    if isinstance(node, And):
        return And(tuple(child for child in node.nodes if not bounds(child, say).are_exact))
    return node


def _outline(item: Item, files: Sequence[Attachment]) -> tuple[Envelope, str]:
    """As much of a mail as was asked for, and its words."""
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
