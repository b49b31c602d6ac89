"""A message about to be sent, described once. The preview, the question and the approval file are rendered from this.

Every value is made visible (`mime.visible`): what a person reads is what is sent, hidden characters included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postroom.mime.clean import clean_text
from postroom.mime.visible import guarded, marked_html, named, visible_line, visible_name, visible_reading, visible_text
from postroom.model.address import Address
from postroom.model.draft import Draft, Importance
from postroom.model.message import Body
from postroom.safety.judge import Finding
from postroom.service.sending.order import Order
from postroom.service.views import Preview

WHOLE = 2_000  # characters of a body that are shown whole; of a longer one, this much: the beginning and the end
MOST_HOSTS = 20
_BEGINNING = WHOLE * 2 // 3
DIFFERENT = "The text and HTML versions do not have the same words. Most recipients are shown the HTML version."
HIDDEN = "The HTML version contains {pieces} of text that recipients would not see; its source shows all of it."
RESTYLED = "The HTML version has styles or fields that can show recipients other words than these; look at its source."
BY_PROVIDER = {
    "send": "The provider composes this message itself, from this text.",
    "reply": "The provider composes this reply itself, with the original message below this text.",
    "reply_all": "The provider composes this reply itself: it adds everyone listed above, and puts the original "
    "message below this text.",
    "unsubscribe": "This is no email: it is a request to the mailing list's server, which its message asked for.",
    "vacation": "This switches on a vacation reply: the provider then sends this text by itself to everybody who "
    "writes to this mailbox, strangers included.",
    "forward": "The provider forwards the original itself, with its attachments, below this text.",
}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Original:
    """The message that a forward includes whole."""

    subject: str
    sender: str
    date: str
    files: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Letter:
    account: str
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    reply_to: tuple[str, ...]
    subject: str
    importance: str
    send_at: str
    keeps_copy: bool
    answers: tuple[str, str]  # subject and sender of the message being answered or forwarded, or what is known of it
    original: Original | None
    files: tuple[str, ...]
    hosts: tuple[str, ...]  # where the links lead
    notes: tuple[str, ...]
    text: str
    html: str  # its source
    reading: str  # the HTML as its readers see it
    chars: tuple[int, int]  # of the text and of the HTML, as sent
    quoted: str  # what the provider puts below by itself
    is_request: bool  # to a server, and no message

    @property
    def question(self) -> str:
        return "Make this request?" if self.is_request else "Send this message?"


def letter_of(order: Order) -> Letter:
    from postroom.mime.html.link_hosts import hosts  # with the HTML parser behind it: not at cold start

    draft = order.draft
    reading, notes = _reading(draft)
    return Letter(
        account=visible_line(order.account.name),
        sender=_address(draft.sender),
        to=_addresses(draft.to),
        cc=_addresses(draft.cc),
        bcc=_addresses(draft.bcc),
        reply_to=_addresses(draft.reply_to),
        subject=visible_line(draft.subject),
        importance="" if draft.importance is Importance.NORMAL else draft.importance.value,
        send_at=order.wishes.send_at.isoformat() if order.wishes.send_at else "",
        keeps_copy=order.wishes.save_to_sent,
        answers=_answered(order),
        original=_original(draft.forwarded) if draft.forwarded is not None else None,
        files=_files(draft, attaches_original=order.native is None),
        hosts=hosts(draft.text, draft.html),
        notes=(*notes, *order.notes, *((BY_PROVIDER[order.native.kind],) if order.native else ())),
        text=visible_text(draft.text),
        html=visible_text(draft.html),
        reading=reading,
        chars=(len(draft.text), len(draft.html)),
        quoted=visible_text(order.quoted),
        is_request=order.kind == "unsubscribe",
    )


def facts(letter: Letter) -> list[tuple[str, tuple[str, ...]]]:
    """Everything but the bodies: what a person checks line by line. Values of one line each."""
    original = letter.original
    about_original = (original.subject, f"from {original.sender}", original.date) if original else ()
    rows: list[tuple[str, Iterable[str]]] = [
        ("Account", (letter.account,)),
        ("From", (letter.sender,)),
        ("To", letter.to),
        ("Cc", letter.cc),
        ("Bcc", letter.bcc),
        ("Reply-To", letter.reply_to),
        ("Subject", (letter.subject,)),
        ("Importance", (letter.importance,)),
        ("Named by" if letter.is_request else "In reply to", letter.answers if not original else ()),
        ("Forwards", about_original),
        ("Attachments of the original", original.files if original else ()),
        ("Attachments", letter.files),
        ("Links lead to", letter.hosts),
        ("Send at", (letter.send_at,)),
        ("Copy in Sent", ("" if letter.keeps_copy else "no",)),
        ("Note", letter.notes),
    ]
    kept = [(name, tuple(value for value in values if value)) for name, values in rows]
    return [(name, values) for name, values in kept if values]


def preview_of(order: Order) -> Preview:
    letter = letter_of(order)
    body, ending = excerpt(letter.text or letter.reading)
    html_body, html_ending = excerpt(letter.reading) if letter.text and DIFFERENT in letter.notes else ("", "")
    original = letter.original
    subject, sender = (original.subject, original.sender) if original else letter.answers
    return Preview(
        sender=letter.sender,
        to=letter.to,
        cc=letter.cc,
        bcc=letter.bcc,
        subject=letter.subject,
        body_excerpt=body,
        body_ending=ending,
        body_chars=letter.chars[0] if letter.text else len(letter.reading),
        attachments=letter.files,
        original_subject=subject,
        original_sender=sender,
        original_date=original.date if original else "",
        original_attachments=original.files if original else (),
        send_at=letter.send_at,
        reply_to=letter.reply_to,
        html_chars=letter.chars[1],
        html_excerpt=html_body,
        html_ending=html_ending,
        link_hosts=first_hosts(letter.hosts),
        importance=letter.importance,
        copy_in_sent=letter.keeps_copy,
        notes=letter.notes,
    )


def question_text(order: Order, findings: Sequence[Finding], send_id: str) -> str:
    """What the person in front of the client reads. It names the send, so that an answer covers nothing else.

    Body lines start with a bar, so that none of them can be mistaken for one of ours.
    """
    letter = letter_of(order)
    shown = [(name, first_hosts(values) if name == "Links lead to" else values) for name, values in facts(letter)]
    lines = [
        letter.question if letter.is_request else f"Send this message from {letter.sender}?",
        *as_lines([row for row in shown if row[0] != "From"]),
        *(f"Warning: {guarded(finding.message)}" for finding in findings),
        *_body_lines("Text", letter.text, letter.chars[0]),
        *_body_lines("HTML, as its readers see it", letter.reading, letter.chars[1]),
        "",
        f"({send_id}, content {order.digest[:16]})",
    ]
    return "\n".join(lines)


def as_lines(rows: Iterable[tuple[str, tuple[str, ...]]]) -> list[str]:
    """``Name: value``; several values below their name, one on each line, so that none passes for two."""
    lines: list[str] = []
    for name, values in rows:
        lines += [f"{name}: {values[0]}"] if len(values) == 1 else [f"{name}:", *(f"  {value}" for value in values)]
    return lines


def excerpt(text: str) -> tuple[str, str]:
    """The whole text and an empty string; for a long text its beginning and its end. No mark is cut in two."""
    if len(text) <= WHOLE:
        return text, ""
    head, tail = text[:_BEGINNING], text[_BEGINNING - WHOLE :]
    if head.rfind("⟨") > head.rfind("⟩"):
        head = head[: head.rfind("⟨")]
    closing = tail.find("⟩")
    if not 0 <= tail.find("⟨") < closing:
        tail = tail[closing + 1 :]
    return head, tail


def joined(text: str, beginning: str, ending: str) -> str:
    left_out = len(text) - len(beginning) - len(ending)
    return f"{beginning}\n⟨{left_out} characters left out⟩\n{ending}" if ending else beginning


def first_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(hosts) - MOST_HOSTS
    return (*hosts[:MOST_HOSTS], f"and {more} more") if more > 0 else hosts


def _body_lines(title: str, text: str, chars: int) -> list[str]:
    if not text:
        return []
    shown = joined(text, *excerpt(text))
    return ["", f"{title} ({chars} characters):", *(f"| {line}" for line in shown.split("\n"))]


def _reading(draft: Draft) -> tuple[str, tuple[str, ...]]:
    """The HTML as text, and notes about it. Where no text was written, the text version is generated from the HTML."""
    if not draft.html:
        return "", ()
    from postroom.mime.html.restyling import may_show_other_words
    from postroom.mime.render import render

    body = Body(html=draft.html)
    shown = render(Body(html=marked_html(draft.html)), fmt="markdown", keep_quoted=True)
    hidden = shown.hidden_removed
    notes = [HIDDEN.format(pieces="1 piece" if hidden == 1 else f"{hidden} pieces")] if hidden else []
    if draft.text and _words(draft.text) != _words(render(body, fmt="words", keep_quoted=True).text):
        notes.insert(0, DIFFERENT)
    if may_show_other_words(draft.html):
        notes.append(RESTYLED)
    return visible_reading(shown.text) or "⟨no text⟩", tuple(notes)


def _words(text: str) -> list[str]:
    return _WORD.findall(clean_text(text).casefold())


def _answered(order: Order) -> tuple[str, str]:
    """A draft that another program wrote names the message it answers by an id alone."""
    return order.original or (visible_line(order.draft.threading.in_reply_to), "")


def _original(raw: bytes) -> Original:
    from postroom.mime.read.parse import parse
    from postroom.mime.render import render

    parsed = parse(raw)
    return Original(
        subject=visible_line(parsed.subject) or "(no subject)",
        sender=_address(parsed.sender),
        date=parsed.date.isoformat() if parsed.date else "undated",
        files=tuple(_file(file.filename, file.mime_type, file.size) for file in parsed.attachments),
        text=visible_text(render(parsed.body, fmt="markdown", keep_quoted=True).text),
    )


def _files(draft: Draft, *, attaches_original: bool) -> tuple[str, ...]:
    files = [_file(file.filename, file.mime_type, len(file.content)) for file in draft.files]
    if draft.calendar:
        files.append(f"the answer for calendars (text/calendar, {len(draft.calendar.encode())} bytes)")
    if draft.forwarded is not None and attaches_original:
        files.append(f"the complete original message ({len(draft.forwarded)} bytes)")
    return tuple(files)


def _file(name: str, mime_type: str, size: int) -> str:
    return f"{visible_line(name)} ({visible_line(mime_type)}, {size} bytes)"


def _address(address: Address) -> str:
    return named(visible_name(address.name), address.email)


def _addresses(addresses: Iterable[Address]) -> tuple[str, ...]:
    return tuple(map(_address, addresses))
