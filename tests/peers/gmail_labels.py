"""Gmail's labels and ids on a server that has neither: labels are kept as keywords nobody else would choose.

A label is its name, a system label begins with a backslash. ``\\Starred`` is the flag ``\\Flagged``, as in Gmail.
"""

from __future__ import annotations

import re

from imapclient import imap_utf7
from tests.peers.gmail_mail import Mail
from tests.peers.imap_wire import Atom, Malformed, String, Value

IDS = (b"X-GM-MSGID", b"X-GM-THRID")
ITEMS = (*IDS, b"X-GM-LABELS")

_PREFIX = "gm-"
_HIDDEN = re.compile(rb" ?\bgm-[0-9a-f]+")
_RESERVED = re.compile(
    "(?:inbox|sent|drafts|trash|spam|starred|important|unread|chats|muted|migrated)?\\Z", re.IGNORECASE
)


def keyword_of(label: str) -> Atom:
    """The flag that stands for this label; Malformed for a name that Gmail keeps for itself."""
    if label == "\\Starred":
        return Atom(b"\\Flagged")
    if _RESERVED.match(label):
        raise Malformed(f"Invalid Arguments: Label name is not allowed: {label}")
    return Atom(f"{_PREFIX}{label.encode().hex()}".encode())


def labels_among(flags: list[Value]) -> list[str]:
    spelled = [flag.decode() for flag in flags if isinstance(flag, Atom)]
    labels = [bytes.fromhex(flag.removeprefix(_PREFIX)).decode() for flag in spelled if flag.startswith(_PREFIX)]
    return sorted(labels + ["\\Starred"] * ("\\Flagged" in spelled))


def without_labels(line: bytes) -> bytes:
    """A list of flags as Gmail would show it."""
    return _HIDDEN.sub(b"", line).replace(b"( ", b"(")


def read_name(value: Value, *, utf8: bool) -> str:
    """A folder's or a label's name as a client writes it."""
    if isinstance(value, list):
        raise Malformed("Could not parse command")
    try:
        return value.decode() if utf8 else str(imap_utf7.decode(value.decode("ascii").encode()))
    except (UnicodeError, ValueError):
        raise Malformed("Could not parse command") from None


def written_name(name: str, *, utf8: bool) -> String:
    return String(name.encode() if utf8 else imap_utf7.encode(name))


def fetched(items: list[Value], asked: set[bytes], mails: dict[int, Mail], *, utf8: bool) -> list[Value]:
    """The items of one FETCH answer, without the keywords that are labels and with what of Gmail's was asked for."""
    answer = {bytes(name): value for name, value in zip(items[::2], items[1::2], strict=True) if isinstance(name, Atom)}
    flags = answer.get(b"FLAGS")
    labels = labels_among(flags) if isinstance(flags, list) else []
    if isinstance(flags, list):
        answer[b"FLAGS"] = [flag for flag in flags if isinstance(flag, Atom) and not flag.startswith(_PREFIX.encode())]
    if b"X-GM-LABELS" in asked:
        answer[b"X-GM-LABELS"] = [written_name(label, utf8=utf8) for label in labels]
    uid = answer.get(b"UID")
    if isinstance(uid, Atom) and (mail := mails.get(int(uid))):
        numbers = {b"X-GM-MSGID": mail.msgid, b"X-GM-THRID": mail.thrid}
        answer.update((name, Atom(b"%d" % numbers[name])) for name in IDS if name in asked)
    return [part for name, value in answer.items() for part in (Atom(name), value)]
