"""What a reply or a forward takes over from the original, and a saved draft read back for editing.

Everything here starts from untrusted text, so names and subjects are put on one line first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from postroom.mime.quotes.subjects import FORWARD_PREFIX, REPLY_PREFIX
from postroom.mime.read.parse import parse_headers
from postroom.mime.write.compose import FORWARDED_FILENAME, plain_reading
from postroom.mime.write.headers import is_message_id
from postroom.model.address import Address
from postroom.model.characters import address_sign_in
from postroom.model.draft import Draft, File, Importance, Threading
from postroom.model.message import Body, Envelope, Message

if TYPE_CHECKING:
    from postroom.mime.read.parse import Parsed

_IDS = re.compile(r"<[^<>\s]+>")
_MAX_NAME = 200
_RANKS = {"1": Importance.HIGH, "2": Importance.HIGH, "4": Importance.LOW, "5": Importance.LOW}
_END_OF_HEADERS = re.compile(rb"(?:\A|\n)(?=\r?\n)")
_BLIND_COPIES = re.compile(rb"^(?:resent-)?bcc[ \t]*:[^\n]*\n?(?:[ \t][^\n]*\n?)*", re.IGNORECASE | re.MULTILINE)


def reply_subject(subject: str) -> str:
    """One ``Re:`` instead of any prefixes in any language; the rest unchanged."""
    line = _one_line(subject)
    return _prefixed("Re:", line, REPLY_PREFIX.match(line))


def forward_subject(subject: str) -> str:
    line = _one_line(subject)
    return _prefixed("Fwd:", line, FORWARD_PREFIX.match(line))


def without_blind_copies(raw: bytes) -> bytes:
    """Our own message, as a draft or in Sent, may name them; later recipients of it must not learn of them."""
    end = _END_OF_HEADERS.search(raw)
    length = end.end() if end else len(raw)
    return _BLIND_COPIES.sub(b"", raw[:length]) + raw[length:]


def with_blind_copies(raw: bytes, recipients: Sequence[str]) -> bytes:
    """Our own message, for a service that takes its recipients from the header and delivers it without Bcc."""
    mail = parse_headers(raw)
    named = {address.key for address in (*mail.to, *mail.cc, *mail.bcc)}
    blind = [email for email in recipients if Address(email).key not in named]
    return f"Bcc: {', '.join(blind)}\r\n".encode() + raw if blind else raw


def reply_recipients(
    envelope: Envelope, own: Sequence[str], reply_all: bool
) -> tuple[tuple[Address, ...], tuple[Address, ...]]:
    """To and Cc of a reply. A reply to one's own sent message goes to its recipients."""
    mine = {Address(email).key for email in own}
    if envelope.sender.key in mine:
        to = _others(envelope.to, mine) or _others(envelope.cc, mine) or _others(envelope.to, set())
        rest = envelope.cc
    else:
        to = _others(envelope.reply_to, set()) or _others([envelope.sender], set())
        rest = (*envelope.to, *envelope.cc)
    cc = _others(rest, mine | {address.key for address in to}) if reply_all else ()
    return to, cc


def author_and_others(
    envelope: Envelope, own: Sequence[str], reply_all: bool
) -> tuple[tuple[Address, ...], tuple[Address, ...]]:
    """To its author, with a copy to its other recipients, without one's own addresses. Nobody replies to themselves: a
    message of one's own is answered like in `reply_recipients`."""
    mine = {Address(email).key for email in own}
    if envelope.sender.key in mine:
        return reply_recipients(envelope, own, reply_all)
    cc = _others((*envelope.to, *envelope.cc), mine | {envelope.sender.key}) if reply_all else ()
    return _others([envelope.sender], set()), cc


def presentable(addresses: Iterable[Address]) -> tuple[Address, ...]:
    """Each once, by the name it came with unless that could pass for an address."""
    return _others(addresses, set())


def threading_for(envelope: Envelope) -> Threading:
    """The id of the original is added to References; ids that are not allowed in a header are dropped."""
    chain = envelope.references or tuple(_IDS.findall(envelope.in_reply_to))
    ids = dict.fromkeys(filter(is_message_id, (*chain, envelope.message_id)))
    in_reply_to = envelope.message_id if envelope.message_id in ids else ""
    return Threading(in_reply_to, tuple(ids), envelope.thread_ref)


def quote(text: str, sender: Address, date: datetime | None) -> str:
    """The original below a reply: who wrote it and when, then every line after ``>``."""
    author = _one_line(str(_presentable(sender)))
    when = f"On {date:%Y-%m-%d} at {date:%H:%M %z}, " if date else ""
    lines = text.rstrip().replace("\r\n", "\n").split("\n")
    return "\n".join([f"{when}{author} wrote:", "", *map(_quoted_line, lines)])


def forwarded_text(envelope: Envelope, text: str) -> str:
    """The original below a forward, if it cannot be attached as a message: who wrote what to whom, then its text."""
    date = f"{envelope.date:%Y-%m-%d %H:%M %z}" if envelope.date else ""
    people = (", ".join(str(_presentable(address)) for address in group) for group in (envelope.to, envelope.cc))
    to, cc = (_one_line(names) for names in people)
    sender = _one_line(str(_presentable(envelope.sender)))
    fields = {"From": sender, "Date": date, "Subject": _one_line(envelope.subject), "To": to, "Cc": cc}
    head = [f"{name}: {value}" for name, value in fields.items() if value]
    return "\n".join(["---------- Forwarded message ----------", *head, "", text.rstrip().replace("\r\n", "\n")])


def draft_from(saved: Parsed | Message, files: Sequence[File]) -> Draft:
    """A saved draft as its author wrote it, so that one field may change and the rest stay.

    `files` are its attachments with their bytes. A plain version that `compose` made from the HTML is dropped, so
    that it follows when the HTML changes.
    """
    source = saved.envelope if isinstance(saved, Message) else saved
    text, html = _as_written(saved.body)
    forwarded = next((file for file in files if _is_forwarded(file)), None)
    return Draft(
        sender=_presentable(source.sender),
        to=_others(source.to, set()),
        cc=_others(source.cc, set()),
        bcc=_others(source.bcc, set()),
        reply_to=_others(source.reply_to, set()),
        subject=_one_line(source.subject),
        text=text,
        html=html,
        files=tuple(file for file in files if file is not forwarded),
        forwarded=forwarded.content if forwarded else None,
        importance=_importance(saved),
        threading=_threading_of(source),
    )


def _prefixed(prefix: str, line: str, found: re.Match[str] | None) -> str:
    return f"{prefix} {line[found.end() :] if found else line}".rstrip()


def _others(addresses: Iterable[Address], without: set[str]) -> tuple[Address, ...]:
    """Each once, in order; entries without any address (``undisclosed-recipients:;``) name nobody."""
    chosen: dict[str, Address] = {}
    for address in addresses:
        if "@" in address.email and address.key not in without:
            chosen.setdefault(address.key, _presentable(address))
    return tuple(chosen.values())


def _presentable(address: Address) -> Address:
    """A name with an address in it would show one recipient and mean another: it is dropped, as is an endless one."""
    name = _one_line(address.name[: _MAX_NAME + 1])
    return Address(address.email, "" if address_sign_in(name) or len(name) > _MAX_NAME else name)


def _one_line(text: str) -> str:
    """Line breaks and control characters become spaces; a run of them becomes one."""
    if text.isascii() and text.isprintable():
        return text.strip()
    plain = (" " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in text)
    return re.sub(r"  +", " ", "".join(plain)).strip()


def _quoted_line(line: str) -> str:
    return ">" if not line else f">{line}" if line.startswith(">") else f"> {line}"


def _as_written(body: Body) -> tuple[str, str]:
    text, html = (part.replace("\r\n", "\n").removesuffix("\n") for part in (body.text, body.html))
    if html and text and text == plain_reading(html).removesuffix("\n"):
        return "", html
    return text, html


def _is_forwarded(file: File) -> bool:
    return file.mime_type == "message/rfc822" and file.filename == FORWARDED_FILENAME


def _importance(saved: Parsed | Message) -> Importance:
    """Some programs write only X-Priority: 1 and 2 are high, 4 and 5 low."""
    named, ranked = ("".join(saved.headers.get(name, ())[:1]).strip().lower() for name in ("importance", "x-priority"))
    return Importance(named) if named in ("low", "high") else _RANKS.get(ranked[:1], Importance.NORMAL)


def _threading_of(source: Parsed | Envelope) -> Threading:
    in_reply_to = next(filter(is_message_id, _IDS.findall(source.in_reply_to)), "")
    references = tuple(filter(is_message_id, source.references))
    return Threading(in_reply_to, references, source.thread_ref if isinstance(source, Envelope) else "")
