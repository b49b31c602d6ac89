from __future__ import annotations

from typing import Any

import pytest

from postroom.model.errors import InvalidRequest
from postroom.model.folder import Role
from postroom.model.role_names import role_by_name
from postroom.providers.imap.folders.listing import Tree, list_folders
from postroom.providers.imap.session.encoding import Speech


class FakeSession:
    """A server that lists what it is given and knows no extension."""

    opened = None

    def __init__(self, *lines: bytes, prefix: str = "", capabilities: tuple[str, ...] = ()) -> None:
        self._lines, self._prefix, self._capabilities = list(lines), prefix, capabilities

    def has(self, capability: str) -> bool:
        return capability in self._capabilities

    def namespace_prefix(self) -> str:
        return self._prefix

    def read_name(self, raw: Any) -> str:
        return Speech(None).read_name(raw)

    def can_name(self, folder: str) -> bool:
        return Speech(None).can_write_name(folder)

    def list_folders(self, *returning: str) -> tuple[list[Any], list[Any]]:
        return self._lines, []

    def status(self, folder: str, *what: str) -> dict[str, int]:
        return {"MESSAGES": 3, "UNSEEN": 1}


def listed(*lines: bytes, prefix: str = "") -> dict[str, Role | None]:
    return {folder.name: folder.role for folder in list_folders(FakeSession(*lines, prefix=prefix), counted=False)}  # type: ignore[arg-type]


def test_the_servers_word_counts_more_than_a_name() -> None:
    roles = listed(b'() "/" INBOX', b'(\\Drafts) "/" "Concepts"', b'() "/" "Drafts"', b'(\\sent) "/" "Elsewhere"')
    assert roles == {"INBOX": Role.INBOX, "Concepts": Role.DRAFTS, "Drafts": None, "Elsewhere": Role.SENT}


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Entwürfe", Role.DRAFTS),
        ("Brouillons", Role.DRAFTS),
        ("下書き", Role.DRAFTS),
        ("Gesendete Objekte", Role.SENT),
        ("Éléments envoyés", Role.SENT),
        ("Отправленные", Role.SENT),
        ("Papierkorb", Role.TRASH),
        ("ゴミ箱", Role.TRASH),
        ("Correo no deseado", Role.JUNK),
        ("Archiv", Role.ARCHIVE),
        ("Recipes", None),
    ],
)
def test_roles_are_known_in_many_languages(name: str, role: Role | None) -> None:
    assert role_by_name(name) == role


def test_of_two_folders_with_a_telling_name_the_topmost_plays_the_role() -> None:
    roles = listed(b'() "/" INBOX', b'() "/" "Old/Sent"', b'() "/" "Sent"')
    assert roles == {"INBOX": Role.INBOX, "Old/Sent": None, "Sent": Role.SENT}


def test_of_two_folders_on_one_level_the_plain_name_plays_the_role() -> None:
    roles = listed(b'() "/" INBOX', b'() "/" "Entw&APw-rfe"', b'() "/" "Drafts"', b'() "/" "Brouillons"')
    assert roles == {"INBOX": Role.INBOX, "Entwürfe": None, "Drafts": Role.DRAFTS, "Brouillons": None}


def test_what_cannot_be_opened_is_not_listed() -> None:
    lines = [
        b'() "/" INBOX',
        b'(\\Noselect \\HasChildren) "/" "Bills"',
        b'() "/" "Bills/2026"',
        b'(\\NonExistent) "/" X',
    ]
    assert set(listed(*lines)) == {"INBOX", "Bills/2026"}


def test_names_are_decoded_from_modified_utf7_and_from_bare_utf8() -> None:
    names = listed(b'() "/" "&istsQmb4-"', b'() "/" "B&APw-ro &- S&APY-hne"', '() "/" "経理"'.encode())
    assert set(names) == {"請求書", "Büro & Söhne", "経理"}


def test_a_name_sent_as_a_literal_is_a_name_too() -> None:
    assert set(listed((b'() "/" {9}', b'with "q"'), b"")) == {'with "q"'}  # type: ignore[arg-type]


def test_a_prefix_of_the_servers_own_is_not_shown_and_is_put_back() -> None:
    roles = listed(b'() "." INBOX', b'() "." INBOX.Sent', b'() "." INBOX.Work.2026', prefix="INBOX.")
    assert roles == {"INBOX": Role.INBOX, "Sent": Role.SENT, "Work/2026": None}
    assert Tree(".", "INBOX.").written("Work/2027") == "INBOX.Work.2027"


def test_a_name_that_holds_the_servers_separator_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        Tree(".", "").written("v1.2")


def test_folders_are_counted_one_by_one_where_the_server_cannot_do_it_at_once() -> None:
    (inbox,) = list_folders(FakeSession(b'() "/" INBOX'), counted=True)  # type: ignore[arg-type]
    assert (inbox.total, inbox.unread) == (3, 1)


def test_a_role_that_only_a_name_speaks_for_is_said_to_be_a_guess() -> None:
    session: Any = FakeSession(b'() "/" INBOX', b'(\\Drafts) "/" "Drafts"', b'() "/" "Sent"')
    assert {folder.name: folder.is_guess for folder in list_folders(session, counted=False)} == {
        "INBOX": False,
        "Drafts": False,
        "Sent": True,
    }


def test_two_folders_are_never_shown_by_one_name() -> None:
    roles = listed(b'() "." INBOX', b'() "." INBOX.INBOX', b'(\\Sent) "." INBOX.Sent', b'() "." Sent', prefix="INBOX.")
    assert roles == {"INBOX": Role.INBOX, "INBOX.INBOX": None, "INBOX.Sent": Role.SENT, "Sent": None}
