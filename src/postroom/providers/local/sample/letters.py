"""The shape of a sample message, before it is bytes: who writes what to whom, and how long ago."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postroom.model.address import Address


@dataclass(frozen=True, slots=True)
class Enclosure:
    filename: str
    mime_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """`folder`, `labels` and `starred` say how its recipients keep it; the sender keeps it in Sent.

    `unread` None leaves that to its age. `answers` are the keys of its ancestors, oldest first; `quotes`
    is the one shown below the text.
    """

    key: str
    sender: Address
    to: tuple[Address, ...]
    subject: str
    text: str
    days_ago: float
    cc: tuple[Address, ...] = ()
    html: str = ""
    files: tuple[Enclosure, ...] = ()
    charset: str = "utf-8"
    answers: tuple[str, ...] = ()
    quotes: Letter | None = None
    headers: tuple[tuple[str, str], ...] = ()
    folder: str = "INBOX"
    labels: tuple[str, ...] = ()
    starred: bool = False
    unread: bool | None = None
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, `hours` after the one before it."""

    who: Address
    text: str
    hours: float = 0
    files: tuple[Enclosure, ...] = ()


def conversation(
    key: str,
    subject: str,
    days_ago: float,
    turns: Sequence[Turn],
    *,
    also: Iterable[Address] = (),
    folder: str = "INBOX",
    labels: tuple[str, ...] = (),
    starred: bool = False,
    charset: str = "utf-8",
) -> list[Letter]:
    """Everyone who writes in it, and everyone named in `also`, gets every message of it."""
    people = tuple(dict.fromkeys((*(turn.who for turn in turns), *also)))
    letters: list[Letter] = []
    elapsed = 0.0
    for place, turn in enumerate(turns):
        elapsed += turn.hours / 24
        previous = letters[-1] if letters else None
        to, cc = _recipients(turn.who, previous, people)
        letters.append(
            Letter(
                key=f"{key}-{place + 1}",
                sender=turn.who,
                to=to,
                cc=cc,
                subject=f"Re: {subject}" if previous else subject,
                text=turn.text,
                days_ago=days_ago - elapsed,
                files=turn.files,
                charset=charset,
                answers=tuple(letter.key for letter in letters),
                quotes=previous,
                folder=folder,
                labels=labels,
                starred=starred and place == len(turns) - 1,
            )
        )
    return letters


def _recipients(
    who: Address, previous: Letter | None, people: Sequence[Address]
) -> tuple[tuple[Address, ...], tuple[Address, ...]]:
    others = tuple(person for person in people if person != who)
    if previous is None or previous.sender == who:
        return others[:1], others[1:]
    return (previous.sender,), tuple(person for person in others if person != previous.sender)
