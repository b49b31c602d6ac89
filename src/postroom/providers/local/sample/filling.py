"""The world's letters as one person's mailbox."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from postroom.model.address import Address
from postroom.model.query.tree import Flag
from postroom.providers.local.convert import NewMail
from postroom.providers.local.sample import arranged, aurora, languages, life, neighbours, newsletters, notices, work
from postroom.providers.local.sample.letters import Letter
from postroom.providers.local.sample.people import ALEX, OWNERS
from postroom.providers.local.sample.writing import write

if TYPE_CHECKING:
    from postroom.providers.local.provider import LocalMailbox

_FRESH_DAYS = 3  # what is older has been read unless its letter says otherwise


async def fill(mailbox: LocalMailbox, address: str, *, now: datetime | None = None) -> int:
    """Put the sample into a new mailbox, as the owner of `address` sees it; returns the number of messages.

    One transaction: it is all there or not at all. A mailbox that is not empty is left as it is.
    """
    if any(folder.total for folder in await mailbox.folders()):
        return 0
    return len(await mailbox.add_to_empty(mails_of(owner_of(address), now or datetime.now(UTC))))


def owner_of(address: str) -> Address:
    """Whose point of view a mailbox has: Sam's for Sam's address, else Alex's."""
    return next((owner for owner in OWNERS if owner.key == address.casefold()), ALEX)


def world(now: datetime) -> list[Letter]:
    """Every letter there is, oldest first."""
    letters = arranged.letters(now)
    for part in (aurora, work, life, neighbours, newsletters, notices, languages):
        letters += part.letters()
    return sorted(letters, key=lambda letter: -letter.days_ago)


def moment(letter: Letter, now: datetime) -> datetime:
    """When it was written. What is older than yesterday moves into working hours, order kept."""
    date = (now - timedelta(days=letter.days_ago)).replace(microsecond=0)
    if date.date() >= (now - timedelta(days=1)).date():
        return date
    midnight = date.replace(hour=0, minute=0, second=0)
    return midnight + timedelta(hours=8, seconds=(date - midnight).seconds * 10 // 24)


def mails_of(owner: Address, now: datetime) -> Iterator[NewMail]:
    """What the owner wrote is in Sent or Drafts, what was written to them is where they keep it, oldest first."""
    now = now.astimezone(UTC)
    letters = world(now)
    answered = {letter.answers[-1] for letter in letters if letter.answers and letter.sender == owner}
    seen = {key for letter in letters if letter.sender == owner for key in letter.answers}
    for letter in letters:
        sent = letter.sender == owner
        if not sent and owner not in (*letter.to, *letter.cc):
            continue
        received = not sent and letter.sender not in OWNERS
        yield NewMail(
            raw=write(letter, lambda any_letter: moment(any_letter, now), received=received),
            folder=_folder(letter, sent),
            flags=_flags(letter, sent, letter.key in answered, letter.key in seen),
            labels=() if sent else letter.labels,
            date=moment(letter, now),
        )


def _folder(letter: Letter, sent: bool) -> str:
    if letter.draft:
        return "Drafts"
    return "Sent" if sent else letter.folder


def _flags(letter: Letter, sent: bool, answered: bool, seen: bool) -> tuple[Flag, ...]:
    unread = letter.unread if letter.unread is not None else letter.days_ago < _FRESH_DAYS and not seen
    flags: list[Flag] = ["unread" if unread and not sent else "read"]
    if answered and not sent:
        flags.append("answered")
    if letter.starred and not sent:
        flags.append("starred")
    if letter.draft:
        flags.append("draft")
    return tuple(flags)
