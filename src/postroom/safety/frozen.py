"""The final check before bytes are sent: parse them again and require exactly what was approved.

Any error in between (a bug in composing, a tampered row, a header that becomes two when folded) is found here, because
this reads the bytes the way a receiving server would: unfolded, header by header, undecoded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping

from postroom.model.address import Address
from postroom.model.draft import Draft
from postroom.model.errors import InternalError
from postroom.model.outcome import WireEnvelope

# Everything compose may write. Any other header in front of the body is one that nobody approved.
_ALLOWED = frozenset(
    {"date", "from", "to", "cc", "reply-to", "subject", "message-id", "in-reply-to", "references", "mime-version"}
    | {"importance", "x-priority", "content-type", "content-transfer-encoding", "content-disposition"}
)
# An address header as compose writes it: no group, comment, route or literal, on which readers disagree. Quotes before
# the @ are read all the same, so that a name in quotes cannot hide whose mailbox it is.
_ATOM = rb'[^\x00-\x20\x7f<>()\[\],;:@\\"]+'
_WORD = rb'(?:%b|"(?:[^"\\]|\\.)*")' % _ATOM
_EMAIL = rb"%b@%b" % (_WORD, _ATOM)
_MAILBOX = re.compile(rb"[ \t]*(?:(?:%b[ \t]+)*<(%b)>|(%b))[ \t]*(?:,|\Z)" % (_WORD, _EMAIL, _EMAIL))


def check_envelope(raw: bytes, envelope: WireEnvelope, draft_recipients: tuple[str, ...]) -> None:
    """Raise InternalError unless wire, headers and approval agree."""
    if sorted(map(_key, envelope.recipients)) != sorted(map(_key, draft_recipients)):
        raise _differs("the recipients on the wire are not the approved ones")
    headers = _headers(raw)
    names = Counter(name for name, _ in headers)
    extra = set(names) - _ALLOWED
    if extra:
        raise _differs("it has a header that Postroom did not write")
    if any(count > 1 for count in names.values()):
        raise _differs("a header appears twice")
    approved = set(map(_key, draft_recipients))
    for name, value in headers:
        if name in ("to", "cc") and not approved.issuperset(_addresses(value)):
            raise _differs("a header names a recipient who was not approved")
        if name == "from" and _addresses(value) != [_key(envelope.sender)]:
            raise _differs("the sender is not the approved one")


def wire_envelope(draft: Draft) -> WireEnvelope:
    return WireEnvelope(draft.sender.email, tuple(address.email for address in draft.recipients))


def _headers(raw: bytes) -> list[tuple[str, bytes]]:
    if b"\r\n\r\n" not in raw:
        raise _differs("it has no end of headers")
    block = raw.split(b"\r\n\r\n", 1)[0]
    if re.search(rb"(?<!\r)\n|\r(?!\n)|\0", block):
        raise _differs("a header contains a bare line break or NUL")
    headers = []
    for line in re.sub(rb"\r\n([ \t])", rb"\1", block).split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or not re.fullmatch(rb"[!-9;-~]+", name):
            raise _differs("a header line is malformed")
        headers.append((name.decode("ascii").lower(), value))
    return headers


def _addresses(value: bytes) -> list[str]:
    found, position = [], 0
    while position < len(value):
        mailbox = _MAILBOX.match(value, position)
        if mailbox is None:
            raise _differs("an address header is not written as Postroom writes it")
        found.append(_key((mailbox[1] or mailbox[2]).decode("utf-8", "replace")))
        position = mailbox.end()
    return found


def _key(email: str) -> str:
    return Address(email).key


def _differs(what: str) -> InternalError:
    return InternalError(f"Not sent: the message differs from what was approved ({what}). Please report this.")


def content_digest(raw: bytes, envelope: WireEnvelope, circumstances: Mapping[str, str | bool]) -> str:
    """SHA-256 over everything a person approves: the bytes, who gets them, and in which circumstances.

    Date and Message-ID are left out: they are new each time the same content is frozen.
    """
    head, _, body = raw.partition(b"\r\n\r\n")
    fields = re.split(rb"\r\n(?![ \t])", head)
    kept = b"\r\n".join(field for field in fields if not re.match(rb"(?i)(?:date|message-id)[ \t]*:", field))
    frame = {"sender": envelope.sender, "recipients": list(envelope.recipients), **circumstances}
    digest = hashlib.sha256(json.dumps(frame, sort_keys=True).encode())
    digest.update(b"\0" + kept + b"\0" + body)
    return digest.hexdigest()
