"""People one has written to or heard from, by part of a name or an address.

Found in messages, as every provider has them: those that match anywhere, and the newest in Sent and in the inbox, where
names with accents are found that a server would miss. Bounded, however large the mailbox is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from postroom.model.address import Address
from postroom.model.errors import InvalidRequest, NotFound, PostroomError
from postroom.model.folder import Role
from postroom.model.message import Envelope
from postroom.model.query.tree import Correspondent, In, Or, Query
from postroom.model.query.widening import widened
from postroom.model.words import folded
from postroom.service.concurrently import answers_of
from postroom.service.gateway import Account, Gateway
from postroom.service.presenting import shown_address
from postroom.service.views import PersonView

MAX_PEOPLE = 50
_LOOKED_AT = 100  # messages of each search
_MACHINE = re.compile(r"(?:no|do[-_.]?not|dont)[-_.]?reply|mailer-daemon|bounces?\b|notifications?\b|postmaster")


@dataclass(slots=True)
class _Person:
    name: str = ""
    email: str = ""
    written: int = 0
    heard: int = 0
    latest: float = 0.0


async def find_people(
    gateway: Gateway, text: str = "", *, account: str | None = None, limit: int = 10
) -> tuple[PersonView, ...]:
    """Those written to come first, then the most frequent, then the latest; senders that nobody answers come last."""
    if not 1 <= limit <= MAX_PEOPLE:
        raise InvalidRequest(f"limit must be between 1 and {MAX_PEOPLE}.", details={"field": "limit"})
    names = gateway.accounts.names(account)
    answers = await answers_of([partial(_people_of, gateway, name, text.strip()) for name in names])
    errors = [answer for answer in answers if isinstance(answer, PostroomError)]
    if len(errors) == len(answers):
        raise errors[0]
    people: dict[str, _Person] = {}
    for answer in answers:
        for key, person in answer.items() if not isinstance(answer, PostroomError) else ():
            _merge(people.setdefault(key, _Person()), person)
    ranked = sorted(people.values(), key=_rank)
    return tuple(_view(gateway, person) for person in ranked[:limit])


async def _people_of(gateway: Gateway, name: str, text: str) -> dict[str, _Person]:
    account = await gateway.accounts.open(name)
    own = {identity.address.key for identity in await account.identities.get()}
    in_sent, elsewhere = _queries(text)
    answers = await answers_of([partial(_search, account, query) for query in (*in_sent, *elsewhere)])
    if all(isinstance(answer, PostroomError) for answer in answers):
        raise next(answer for answer in answers if isinstance(answer, PostroomError))
    found = [() if isinstance(answer, PostroomError) else answer for answer in answers]
    sent = {mail.ref: mail for answer in found[: len(in_sent)] for mail in answer}
    others = {mail.ref: mail for answer in found[len(in_sent) :] for mail in answer if mail.ref not in sent}
    return _counted(sent.values(), others.values(), own, folded(text).split())


def _queries(text: str) -> tuple[list[Query], list[Query]]:
    """In Sent, and elsewhere."""
    sent, inbox = (Query(In(role.value)) for role in (Role.SENT, Role.INBOX))
    if not text:
        return [sent], [inbox]
    to = Or((Correspondent("to", text), Correspondent("cc", text)))
    return [Query(to).narrowed(In(Role.SENT.value)), sent], [Query(Correspondent("from", text)), inbox]


async def _search(account: Account, query: Query) -> Sequence[Envelope]:
    query, _ = widened(query, account.capabilities.search_not_applied)
    try:
        return (await account.mailbox.search(query, limit=_LOOKED_AT, offset=0)).items
    except NotFound:  # a mailbox without such a folder
        return ()


def _counted(
    sent: Iterable[Envelope], others: Iterable[Envelope], own: set[str], words: Sequence[str]
) -> dict[str, _Person]:
    """Written to are those whom a message in Sent names. Elsewhere anybody may have written one in our name."""
    people: dict[str, _Person] = {}
    for mails, is_sent in ((sent, True), (others, False)):
        for mail in mails:
            is_ours = is_sent and mail.sender.key in own
            for address in (*mail.to, *mail.cc, *mail.bcc) if is_ours else (mail.sender,):
                if not mail.draft and "@" in address.email and address.key not in own and _matches(address, words):
                    _count(people.setdefault(address.key, _Person()), address, mail, is_ours)
    return people


def _count(person: _Person, address: Address, mail: Envelope, is_ours: bool) -> None:
    moment = mail.date.timestamp() if mail.date else 0.0
    if address.name and (not person.name or moment >= person.latest):
        person.name = address.name
    person.email = person.email or address.email
    person.written += is_ours
    person.heard += not is_ours
    person.latest = max(person.latest, moment)


def _merge(into: _Person, person: _Person) -> None:
    if person.name and (not into.name or person.latest > into.latest):
        into.name = person.name
    into.email = into.email or person.email
    into.written += person.written
    into.heard += person.heard
    into.latest = max(into.latest, person.latest)


def _matches(address: Address, words: Sequence[str]) -> bool:
    text = folded(f"{address.name} {address.email}")
    return all(word in text for word in words)


def _rank(person: _Person) -> tuple[bool, bool, int, float]:
    is_machine = _MACHINE.match(person.email.casefold()) is not None
    return is_machine, not person.written, -(person.written + person.heard), -person.latest


def _view(gateway: Gateway, person: _Person) -> PersonView:
    return PersonView(
        address=shown_address(Address(person.email, person.name)),
        written_to=person.written,
        heard_from=person.heard,
        last=gateway.shown_time(person.latest) if person.latest else "",
    )
