"""From what a caller asked to write to a Draft: identities, recipients, reply and forward rules, files, limits.

Drafts and sends are written by the same functions, so that a rule that holds for one holds for the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from postroom.mime.write import reply
from postroom.mime.write.inline import with_pictures
from postroom.model.address import Address, parse_address, refuse_line_breaks
from postroom.model.characters import spelt_out
from postroom.model.draft import Draft, File, Identity, Importance
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.message import Envelope, Message
from postroom.safety.limits import MAX_BODY, MAX_RECIPIENTS, MAX_SUBJECT
from postroom.service.attachment_files import EncodedFile
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import gone, locate
from postroom.service.writing.files import files_of
from postroom.service.writing.forwarding import quoted_forward, words_to_quote
from postroom.service.writing.signatures import signed

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # one without an end goes on to the end


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """A message in the caller's words. Attachments are named as `files` has it."""

    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str = ""
    body: str = ""
    body_html: str = ""
    attachments: tuple[str, ...] = ()
    importance: str = "normal"
    identity: str = ""
    reply_to: tuple[str, ...] = ()
    in_reply_to: str = ""  # the id of the message that it answers
    encoded_files: tuple[EncodedFile, ...] = ()  # given within the call, beside those named by path
    signature: bool = True


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    body: str
    body_html: str = ""
    reply_all: bool = False
    attachments: tuple[str, ...] = ()
    identity: str = ""
    quote: bool = True
    importance: str = "normal"
    encoded_files: tuple[EncodedFile, ...] = ()
    to_author: bool = False  # to the author, ignoring Reply-To
    signature: bool = True


@dataclass(frozen=True, slots=True)
class ForwardRequest:
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    comment: str = ""
    identity: str = ""
    importance: str = "normal"
    inline: bool = False  # quote it, instead of attaching it whole


def checked(request: DraftRequest) -> Draft:
    """As far as it can be written without the account: no sender, no files, no thread yet."""
    check_text(request.subject, request.body, request.body_html)
    return Draft(
        sender=Address(""),
        to=parse_addresses(request.to, "to"),
        cc=parse_addresses(request.cc, "cc"),
        bcc=parse_addresses(request.bcc, "bcc"),
        reply_to=parse_addresses(request.reply_to, "reply_to"),
        subject=request.subject,
        text=request.body,
        html=request.body_html,
        importance=parse_importance(request.importance),
    )


async def new_mail(gateway: Gateway, account: Account, request: DraftRequest, kept: tuple[File, ...] = ()) -> Draft:
    """`kept` are files that the message has already."""
    draft, wanted = checked(request), request.identity
    if request.in_reply_to:
        original = await _answered(gateway, account, request.in_reply_to)
        subject = reply.reply_subject(usable_subject(draft.subject))
        draft = replace(draft, subject=subject, threading=reply.threading_for(original))
        wanted = wanted or addressed_as(original, await account.identities.get())
    identity = await find_identity(account, wanted)
    files = await files_of(gateway, account, request.attachments, request.encoded_files)
    html, files = with_pictures(draft.html, (*kept, *files))
    text, html = await signed(gateway, account, identity, draft.text, html, wanted=request.signature)
    return replace(draft, sender=identity.address, text=text, html=html, files=files)


async def _answered(gateway: Gateway, account: Account, email_id: str) -> Envelope:
    _, ref = await locate(gateway, email_id, account.name)
    original = (await account.mailbox.envelopes([ref]))[0]
    if original is None:
        raise gone(email_id)
    return original


async def reply_to(gateway: Gateway, account: Account, original: Message, request: ReplyRequest) -> Draft:
    """To the sender (and, for all, to the other recipients), in the same thread, under one ``Re:``."""
    check_text("", request.body, request.body_html)
    identities = await account.identities.get()
    own = [identity.address.email for identity in identities]
    chosen = reply.author_and_others if request.to_author else reply.reply_recipients
    to, cc = chosen(original.envelope, own, request.reply_all)
    if not to:
        raise InvalidRequest("The original has no address to reply to. Call create_draft with a recipient instead.")
    if len(to) > MAX_RECIPIENTS or len(cc) > MAX_RECIPIENTS:
        raise InvalidRequest(
            f"The original has {len(to) + len(cc)} people to reply to; at most {MAX_RECIPIENTS} are allowed. Reply "
            "without reply_all, or write to those who matter.",
            details={"field": "reply_all"},
        )
    identity = await find_identity(account, request.identity or addressed_as(original.envelope, identities))
    quoted = await gateway.read(quoted_text, original) if request.quote else ""
    files = await files_of(gateway, account, request.attachments, request.encoded_files)
    html, files = with_pictures(request.body_html, files)
    said = (request.body, html)
    text, html = await signed(gateway, account, identity, *said, wanted=request.signature, is_quoted_below=bool(quoted))
    return Draft(
        sender=identity.address,
        to=to,
        cc=cc,
        subject=reply.reply_subject(usable_subject(original.envelope.subject)),
        text=f"{text}\n\n{quoted}" if quoted else text,
        html=_html_with_quote(html, quoted),
        files=files,
        importance=parse_importance(request.importance),
        threading=reply.threading_for(original.envelope),
    )


async def forward_of(gateway: Gateway, account: Account, original: Message, request: ForwardRequest) -> Draft:
    """The original goes along whole, attachments and all, as it came, but for blind copies that it names. If
    wanted, or where the provider does not hand it out, its text is quoted below the comment, with its files."""
    check_text("", request.comment, "")
    wanted = request.identity or addressed_as(original.envelope, await account.identities.get())
    identity = await find_identity(account, wanted)
    is_attached = account.capabilities.has_raw and not request.inline
    comment, _ = await signed(gateway, account, identity, request.comment, "", is_quoted_below=not is_attached)
    draft = Draft(
        sender=identity.address,
        to=parse_addresses(request.to, "to"),
        cc=parse_addresses(request.cc, "cc"),
        bcc=parse_addresses(request.bcc, "bcc"),
        subject=reply.forward_subject(usable_subject(original.envelope.subject)),
        text=comment,
        importance=parse_importance(request.importance),
    )
    if is_attached:
        raw = await account.raw_access.fetch_raw(original.envelope.ref)
        return replace(draft, forwarded=reply.without_blind_copies(raw))
    return await quoted_forward(gateway, account, original, draft)


async def fetch_original(account: Account, ref: str, email_id: str) -> Message:
    try:
        return await account.mailbox.fetch(ref)
    except NotFound:
        raise gone(email_id) from None


async def find_identity(account: Account, wanted: str) -> Identity:
    identities = await account.identities.get()
    if not wanted:
        return identities[0]
    key = parse_address(wanted).key
    if not any(identity.address.key == key for identity in identities):
        identities = await account.identities.ask_anew()  # it may have been made just now
    for identity in identities:
        if identity.address.key == key:
            return identity
    known = ", ".join(identity.address.email for identity in identities)
    raise InvalidRequest(
        f"Account {account.name} may not write as {spelt_out(wanted[:100])}. Use one of its identities: {known}.",
        details={"field": "identity"},
    )


def parse_addresses(texts: Sequence[str], field: str) -> tuple[Address, ...]:
    if len(texts) > MAX_RECIPIENTS:
        raise InvalidRequest(
            f"{field} has {len(texts)} recipients; at most {MAX_RECIPIENTS} are allowed.", details={"field": field}
        )
    for text in texts:
        _refuse_several(text, field)
    return tuple(parse_address(text) for text in texts)


def split_addresses(text: str) -> tuple[str, ...]:
    """Several addresses in one string, where a contract has them so. A comma inside a quoted name separates nothing."""
    parts, is_quoted = [""], False
    for char in text:
        is_quoted ^= char == '"'
        if char in ",;" and not is_quoted:
            parts.append("")
        else:
            parts[-1] += char
    return tuple(part for part in parts if part.strip())


def _refuse_several(text: str, field: str) -> None:
    """Where one address ends and the next begins is never guessed. A comma within a quoted name separates nothing."""
    bare = _QUOTED.sub("", text)
    if bare.count("@") > 1 and ("," in bare or ";" in bare):
        raise InvalidRequest(
            f'{field} contains several addresses in one string. Use a list: ["a@example.com", "Name <b@example.com>"].',
            reason="invalid_address",
            details={"field": field, "address": spelt_out(text[:100])},
        )


def parse_importance(text: str) -> Importance:
    try:
        return Importance(text)
    except ValueError:
        raise InvalidRequest("importance must be low, normal or high.", details={"field": "importance"}) from None


def check_text(subject: str, body: str, body_html: str) -> None:
    refuse_line_breaks(subject, "subject")
    if len(subject) > MAX_SUBJECT:
        raise InvalidRequest(f"The subject is longer than {MAX_SUBJECT} characters.", details={"field": "subject"})
    for field, text in (("body", body), ("body_html", body_html)):
        if len(text) > MAX_BODY:
            raise InvalidRequest(f"{field} is longer than {MAX_BODY} characters.", details={"field": field})
        if "\0" in text:
            raise InvalidRequest(f"{field} contains a NUL character. Remove it.", details={"field": field})


def addressed_as(original: Envelope, own: Sequence[Identity]) -> str:
    """Answer from the address the message was sent to; one of our own messages, from the address it was sent from."""
    emails = {identity.address.key: identity.address.email for identity in own}
    if original.sender.key in emails:
        return emails[original.sender.key]
    received = {address.key for address in (*original.to, *original.cc)}
    return next((email for key, email in emails.items() if key in received), "")


def usable_subject(subject: str) -> str:
    """An untrusted subject may hold anything; what we write into a header may not."""
    from postroom.mime.clean import clean_line

    return clean_line(subject)[: MAX_SUBJECT - 6]


def quoted_text(original: Message) -> str:
    words = words_to_quote(original.body, "words")
    return reply.quote(words, original.envelope.sender, original.envelope.date)


def _html_with_quote(html: str, quoted: str) -> str:
    if not html or not quoted:
        return html
    return f'{html}<blockquote type="cite"><pre style="white-space:pre-wrap">{escape(quoted)}</pre></blockquote>'
