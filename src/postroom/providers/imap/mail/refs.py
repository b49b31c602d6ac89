"""Message refs over IMAP: folder, UIDVALIDITY and UID. Only all three together never identify another message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from postroom.model.errors import NotFound

UIDS = range(1, 2**32)  # what a UID can be (RFC 9051, 2.3.1.1)


@dataclass(frozen=True, slots=True)
class MailRef:
    """`folder` is the server's name for it, decoded; it may contain any character, as the two numbers follow it."""

    folder: str
    validity: int
    uid: int

    def __str__(self) -> str:
        return f"{self.folder}|{self.validity}|{self.uid}"


def read_ref(ref: str) -> MailRef:
    folder, *numbers = ref.rsplit("|", 2)
    if len(numbers) == 2 and folder and all(number.isascii() and number.isdigit() for number in numbers):
        return MailRef(folder, int(numbers[0]), int(numbers[1]))
    raise gone()


def in_renamed(ref: str, folders: Mapping[str, str]) -> str:
    """The same message after these folders were renamed; what is no ref of a message in one of them stays as it is."""
    folder, *numbers = ref.rsplit("|", 2)
    return "|".join([folders[folder], *numbers]) if len(numbers) == 2 and folder in folders else ref


def gone() -> NotFound:
    return NotFound(
        "The email is no longer there: it was moved or deleted. Search again to get its current id.",
        reason="email_gone",
    )


def by_folder(refs: Iterable[str]) -> dict[str, list[MailRef]]:
    """The refs of each folder; strings that are not refs are left out."""
    groups: dict[str, list[MailRef]] = {}
    for text in dict.fromkeys(refs):
        try:
            ref = read_ref(text)
        except NotFound:
            continue
        groups.setdefault(ref.folder, []).append(ref)
    return groups


def uids_of(refs: Sequence[MailRef], validity: int) -> list[int]:
    """The UIDs that are still valid: those assigned under the folder's current UIDVALIDITY."""
    return [ref.uid for ref in refs if ref.validity == validity]
