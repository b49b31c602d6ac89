"""Whether a message fulfils a rule, decided here from the message alone: every provider gives the same answer.

Case is ignored, accents are not. `contains` looks for whole words in a row, as a search does, because that is what mail
servers can find; parts of words are matched by a glob. Addresses are compared without the name, except that `contains`
without an @ also looks at names. A message without a date has no age, whatever is asked about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postroom.model.address import Address
from postroom.model.errors import InvalidRequest
from postroom.model.folder import Folder, match_folder
from postroom.model.glob import alike, glob_matches
from postroom.model.message import Envelope
from postroom.model.rule import Condition, Operator
from postroom.model.words import spaced

READ_FIELDS = ("body", "list_id")  # what only an opened message shows
_WORD = re.compile(r"[^\W_]+")
_LIST_ID = re.compile(r"<([^<>]*)>\s*\Z")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message as far as it is known. `text` and `list_ids` are of an opened one."""

    envelope: Envelope
    folders: Sequence[Folder]  # of the whole account
    now: datetime
    text: str = ""
    list_ids: tuple[str, ...] = ()

    @property
    def age_days(self) -> float | None:
        return (self.now - self.envelope.date).total_seconds() / 86_400 if self.envelope.date else None


def fulfils(conditions: Iterable[Condition], mail: Candidate) -> bool:
    return all(_holds(condition, mail) for condition in conditions)


def row_of_words(text: str) -> str:
    """The words with a space around each, so that words in a row are a substring."""
    return f" {' '.join(_WORD.findall(spaced(alike(text))))} "


def folders_named(condition: Condition, folders: Sequence[Folder]) -> list[Folder]:
    """The folders that a condition on `folder` is about. InvalidRequest where it names one that does not exist."""
    if condition.operator in ("matches", "contains"):
        found = [folder for folder in folders if _compare(condition, folder.name)]
        return found if found or condition.negated else [_named(folders, condition.values[0])]
    return [_named(folders, name) for name in condition.values]


def _holds(condition: Condition, mail: Candidate) -> bool:
    if condition.field == "age_days" and mail.age_days is None:
        return False
    return _is_so(condition, mail) is not condition.negated


def _is_so(condition: Condition, mail: Candidate) -> bool:  # noqa: C901 - one arm per field
    envelope = mail.envelope
    match condition.field:
        case "from":
            return _by_address(condition, [envelope.sender])
        case "to":
            return _by_address(condition, envelope.to)
        case "cc":
            return _by_address(condition, envelope.cc)
        case "subject":
            return _compare(condition, envelope.subject)
        case "body":
            return _compare(condition, mail.text)
        case "list_id":
            return any(_by_list_id(condition, value) for value in mail.list_ids)
        case "labels":
            return any(_by_label(condition, label) for label in envelope.labels)
        case "folder":
            return bool({folder.name for folder in folders_named(condition, mail.folders)} & set(envelope.folders))
        case "has_attachment":
            return envelope.has_attachments is (condition.values[0] == "true")
        case "size":
            return _by_number(condition.operator, envelope.size, float(condition.values[0]))
        case "age_days":
            age = mail.age_days or 0.0
            return _by_number(
                condition.operator, int(age) if condition.operator == "equals" else age, float(condition.values[0])
            )


def _by_number(operator: Operator, value: float, bound: float) -> bool:
    return {"greater_than": value > bound, "less_than": value < bound, "equals": value == bound}[operator]


def _by_address(condition: Condition, people: Sequence[Address]) -> bool:
    if condition.operator != "contains":
        return any(_compare(condition, person.email) for person in people)
    with_names = "@" not in condition.values[0]
    return any(
        _compare(condition, person.email) or (with_names and _compare(condition, person.name)) for person in people
    )


def _by_list_id(condition: Condition, value: str) -> bool:
    """The id is what stands between the angle brackets; `contains` also looks at the description before them."""
    bare = _LIST_ID.search(value)
    return _compare(condition, bare[1] if bare and condition.operator != "contains" else value)


def _by_label(condition: Condition, label: str) -> bool:
    """`contains` is about the labels of the message, not about the letters of one."""
    if condition.operator == "contains":
        return alike(label) == alike(condition.values[0])
    return _compare(condition, label)


def _compare(condition: Condition, text: str) -> bool:
    compare: Callable[[str], bool]
    if condition.operator == "matches":
        compare = lambda value: glob_matches(value, text)  # noqa: E731
    elif condition.operator == "contains":
        row = row_of_words(text)
        compare = lambda value: row_of_words(value) in row  # noqa: E731
    else:
        compare = lambda value: alike(value) == alike(text.strip())  # noqa: E731
    return any(map(compare, condition.values))


def _named(folders: Sequence[Folder], name: str) -> Folder:
    found = match_folder(list(folders), name)
    if found is None:
        names = ", ".join(folder.name for folder in folders[:30])
        raise InvalidRequest(
            f"The rule's condition on folder names {name[:80]!r}, which does not exist. Folders: {names}.",
            reason="folder_unknown",
            details={"field": "rule_yaml", "path": "conditions"},
        )
    return found
