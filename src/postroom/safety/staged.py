"""Is what a provider holds ahead of a submission what was frozen, and nothing else?

Providers store a message in their own way: boundaries, encodings, a Message-ID, headers of their own, one body instead
of two. So not bytes are compared but what a person was shown of the message: who gets it, what it says, where its links
lead, which files it carries.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from html import unescape
from unicodedata import category

from postroom.mime.read.parse import Parsed, extract_part, parse
from postroom.model.address import Address
from postroom.model.errors import InternalError
from postroom.model.message import Body
from postroom.model.outcome import Staged, SubmitRequest

_WORD = re.compile(r"\w+")
_LINK = re.compile(r"\b[a-z][a-z0-9+.-]*:[^\s<>()\[\]\"']+", re.IGNORECASE)
# Headers that make a message do more than be read; any others that a provider adds do not matter.
_ACTING = re.compile(
    r"(?:.*-to$|return-(?:path|receipt)|disposition-notification|resent-|auto-submitted|list-|precedence$|sender$"
    r"|content-(?:base|location)$)"
)
_COMPARED = frozenset({"reply-to", "in-reply-to"})
# What mail readers take from the first or from the last of two, as they like.
_ONCE = frozenset(
    {"from", "to", "cc", "bcc", "reply-to", "subject", "in-reply-to", "references", "importance", "mime-version"}
    | {"content-type", "content-transfer-encoding", "content-disposition"}
)
_DATA = re.compile(r"\bdata:[^\s\"'<>)]+", re.IGNORECASE)
_SAME: dict[str, Callable[[Parsed], object]] = {
    "the sender": lambda mail: mail.sender.key,
    "the recipients in To": lambda mail: _keys(mail.to),
    "the recipients in Cc": lambda mail: _keys(mail.cc),
    "the Reply-To address": lambda mail: _keys(mail.reply_to),
    "the subject": lambda mail: _spaced(mail.subject),
    "the message it replies to": lambda mail: mail.in_reply_to,
    "the importance": lambda mail: mail.headers.get("importance", ("normal",))[0].strip().casefold(),
    "a header": lambda mail: {name for name in mail.headers if _ACTING.match(name)} - _COMPARED,
    "a header that appears twice": lambda mail: {
        name for name, values in mail.headers.items() if name in _ONCE and len(values) > 1
    },
    "its parsing defects": lambda mail: mail.defects,
}


def check_staged(request: SubmitRequest, staged: Staged) -> None:
    """Raise InternalError unless submitting what is staged sends what was frozen."""
    approved = _keys(map(Address, request.envelope.recipients))
    if _keys(map(Address, staged.recipients)) != approved:
        raise _differs("the recipients")
    ours, theirs = parse(request.raw), parse(staged.raw)
    for what, value in _SAME.items():
        if value(ours) != value(theirs):
            raise _differs(what)
    if not _keys(theirs.bcc) <= approved:
        raise _differs("the Bcc recipients")
    if not set(theirs.references) <= set(ours.references):
        raise _differs("the thread")
    if not _says_the_same(ours.body, theirs.body):
        raise _differs("the text")
    if _files(request.raw, ours) != _files(staged.raw, theirs):
        raise _differs("the attachments")


def _says_the_same(ours: Body, theirs: Body) -> bool:
    """A provider may keep only the HTML version, or generate a new text version from it."""
    if _spaced(ours.html) != _spaced(theirs.html) and _reading(ours.html) != _reading(theirs.html):
        return False
    if _spaced(ours.text) == _spaced(theirs.text):
        return True
    return bool(ours.html) and (not theirs.text or _is_made_of(theirs.text, ours.html))


def _is_made_of(text: str, html: str) -> bool:
    """The words of the HTML, with no link that is not in it."""
    links, source = _LINK.findall(text), unescape(html)
    return _words(_LINK.sub("", text)) == _words(_in_words(html)) and all(link in source for link in links)


def _reading(html: str) -> object:
    """What a person is shown of an HTML body, the signs that change how it is read, and the pictures within it."""
    if not html:
        return None
    from postroom.mime.html.link_hosts import hosts
    from postroom.mime.html.restyling import may_show_other_words
    from postroom.mime.render import render

    shown, source = render(Body(html=html), fmt="markdown", keep_quoted=True), unescape(html)
    unseen = [sign for sign in source if category(sign) == "Cf"], sorted(_DATA.findall(source))
    return _spaced(shown.text), shown.hidden_removed, frozenset(hosts("", html)), may_show_other_words(html), unseen


def _in_words(html: str) -> str:
    from postroom.mime.render import render

    return render(Body(html=html), fmt="words", keep_quoted=True).text


def _files(raw: bytes, mail: Parsed) -> list[tuple[str, str, str]]:
    return sorted(
        (file.filename, file.mime_type.casefold(), hashlib.sha256(extract_part(raw, file.part)).hexdigest())
        for file in mail.attachments
    )


def _keys(addresses: Iterable[Address]) -> set[str]:
    return {address.key for address in addresses}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _differs(what: str) -> InternalError:
    return InternalError(
        f"Not sent: the copy prepared at the provider is not what was approved; it differs in {what}. Somebody, or the "
        "provider, changed it there. Look at it in the mailbox; to send the approved message, request it again."
    )
