"""Answer an invitation: an email to its organizer that calendars understand, through the gate like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast, get_args

from postroom.mime.calendar.events import Event, parse_calendar
from postroom.mime.calendar.reply import Answer, reply_to
from postroom.mime.calendar.summary import when
from postroom.mime.read.parse import parse
from postroom.mime.sender_facts import judge
from postroom.mime.visible import visible_line
from postroom.mime.write import reply
from postroom.model.address import Address, parse_address
from postroom.model.draft import Draft, Identity
from postroom.model.errors import InvalidRequest, NotFound
from postroom.model.message import Attachment, Message
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import locate
from postroom.service.sending.order import ANSWER, Order, Wishes, make_order
from postroom.service.sending.send import check_wishes, known_by, lasting
from postroom.service.writing import composing

MAX_COMMENT = 1000
_MAX_BYTES = 1_000_000
_TYPES = ("text/calendar", "application/ics")
_SAID = {"accept": "Accepted", "decline": "Declined", "tentative": "Tentatively accepted"}


@dataclass(frozen=True, slots=True)
class _Invitation:
    content: bytes
    event: Event
    organizer: Address
    invited: Identity


async def order_answer(
    gateway: Gateway, email_id: str, answer: str, comment: str, wishes: Wishes, account: str | None = None
) -> Order:
    check_wishes(wishes)
    if answer not in get_args(Answer):
        raise InvalidRequest("answer must be accept, decline or tentative.", details={"field": "answer"})
    if len(comment) > MAX_COMMENT:
        raise InvalidRequest(f"comment is longer than {MAX_COMMENT} characters.", details={"field": "comment"})
    opened, ref = await locate(gateway, email_id, account)
    original = await composing.fetch_original(opened, ref, email_id)
    invitation = await _invitation(gateway, opened, original)
    draft = _draft(gateway, original, invitation, cast("Answer", answer), comment)
    answers = await lasting(gateway, opened, email_id, ref)
    notes = _notes(opened, original, invitation.organizer)
    order = await make_order(
        gateway,
        opened,
        ANSWER,
        "email_reply",
        draft,
        wishes,
        original=known_by(original),
        answers_ref=answers,
    )
    latest = await gateway.in_thread(gateway.store.outbox.latest_answering, opened.name, ANSWER, answers)
    is_taken_back = latest is not None and latest.content_sha256 != order.digest
    return replace(order, notes=notes, was_undone=is_taken_back)


async def _invitation(gateway: Gateway, account: Account, original: Message) -> _Invitation:
    content = await _calendar_of(account, original)
    calendar = await gateway.read(parse_calendar, content)
    event = next((event for event in calendar.events if event.kind == "VEVENT" and "UID" in event.lines), None)
    if calendar.method != "REQUEST" or event is None or event.organizer is None:
        raise InvalidRequest("This calendar file is no invitation that asks for an answer. Nothing was sent.")
    attendees = {person.address.key for person in event.attendees}
    identities = await account.identities.get()
    invited = next((identity for identity in identities if identity.address.key in attendees), None)
    if invited is None:
        raise InvalidRequest(
            "None of this account's addresses is among those invited; reply instead. Nothing was sent."
        )
    return _Invitation(content, event, parse_address(event.organizer.email), invited)


async def _calendar_of(account: Account, original: Message) -> bytes:
    """The part that is a calendar. A provider that lists none may still have it in the message's source."""
    ref = original.envelope.ref
    found = next(filter(_is_calendar, original.attachments), None)
    if found is not None:
        return await account.mailbox.fetch_part(ref, found.part)
    if account.capabilities.has_raw:
        from postroom.mime.read.parse import extract_part

        raw = await account.raw_access.fetch_raw(ref)
        inside = next(filter(_is_calendar, parse(raw).attachments), None)
        if inside is not None:
            return extract_part(raw, inside.part)
    raise NotFound("This message has no invitation: no calendar file is in it.")


def _is_calendar(file: Attachment) -> bool:
    is_one = file.mime_type.lower() in _TYPES or file.filename.lower().endswith(".ics")
    return is_one and file.size <= _MAX_BYTES


def _draft(gateway: Gateway, original: Message, invitation: _Invitation, answer: Answer, comment: str) -> Draft:
    event, me = invitation.event, invitation.invited.address
    title = composing.usable_subject(event.text("SUMMARY")) or "(no title)"
    text = f"{_SAID[answer]}: {title}\nWhen: {' '.join(when(event).split())}"
    return Draft(
        sender=me,
        to=(invitation.organizer,),
        subject=composing.usable_subject(f"{_SAID[answer]}: {title}"),
        text=f"{comment}\n\n{text}" if comment else text,
        calendar=reply_to(invitation.content, event, me, answer, comment, gateway.now()),
        threading=reply.threading_for(original.envelope),
    )


def _notes(account: Account, original: Message, organizer: Address) -> tuple[str, ...]:
    """What a person should know about whom the answer goes to."""
    sender = original.envelope.sender
    own = (account.settings.address.rpartition("@")[2],) if account.settings.address else ()
    other = (
        (f"The answer goes to {visible_line(organizer.email)}, but {visible_line(sender.email)} sent the invitation.",)
        if organizer.key != sender.key
        else ()
    )
    return (*other, *judge({}, organizer, (), own).warnings)
