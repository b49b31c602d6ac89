"""A mail that another program takes away between the look at a folder and the move out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from postroom.model.errors import NotFound
from postroom.providers.imap.mail import organising
from postroom.providers.imap.mail.refs import MailRef
from postroom.providers.imap.session.opened import Opened

REFS = [MailRef("INBOX", 1, uid) for uid in (1, 2, 3)]


class Overtaken:
    """A server that has only the first two by the time of the move, and passes over what it does not have."""

    def __init__(self, *capabilities: str, tells: bool) -> None:
        self._capabilities = capabilities
        self._tells = tells

    def has(self, capability: str) -> bool:
        return capability in self._capabilities

    def open(self, folder: str, *, write: bool = False) -> Opened:
        return Opened(folder, write, 1, 4, 3, (), True)

    def fetch(self, uids: Sequence[int], what: str) -> dict[int, dict[str, Any]]:
        return {uid: {"FLAGS": ()} for uid in uids}

    def move(self, uids: Sequence[int], folder: str) -> tuple[int, dict[int, int]]:
        return (9, {1: 11, 2: 12}) if self._tells else (0, {})

    copy = move

    def store(self, *args: Any) -> None: ...

    def expunge(self, uids: Sequence[int]) -> None: ...


@pytest.mark.parametrize("capabilities", [("MOVE", "UIDPLUS"), ("UIDPLUS",)], ids=["MOVE", "COPY"])
def test_what_the_server_does_not_name_among_the_moved_is_told_as_gone(capabilities: tuple[str, ...]) -> None:
    session: Any = Overtaken(*capabilities, tells=True)
    first, second, third = organising.move(session, "INBOX", REFS, "Archive").values()
    assert [first.new_ref, second.new_ref] == ["Archive|9|11", "Archive|9|12"]
    assert isinstance(third.error, NotFound)


def test_a_server_that_names_nothing_has_moved_them_all() -> None:
    session: Any = Overtaken("MOVE", "UIDPLUS", tells=False)
    assert all(result.ok for result in organising.move(session, "INBOX", REFS, "Archive").values())
