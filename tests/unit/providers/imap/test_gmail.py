from __future__ import annotations

from typing import Any

import pytest

from postroom.model.errors import InvalidRequest, ProviderError, ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.model.query.tree import Correspondent, Filename, HasAttachment, Is, Label, Leaf, Subject, Text
from postroom.providers.imap.flavours import criteria, gmail
from postroom.providers.imap.flavours.criteria import ALL, NONE, Keys, searchable


class FakeSession:
    """Keeps what is stored, or refuses it."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.stored: list[tuple[Any, ...]] = []
        self._refusal = refusal

    def store(self, *arguments: Any) -> None:
        if self._refusal is not None:
            raise self._refusal
        self.stored.append(arguments)

    def read_name(self, raw: Any) -> str:
        return raw.decode() if isinstance(raw, bytes) else "NIL"


def raw(query: str) -> Keys:
    return Keys((b"X-GM-RAW", searchable(f"in:anywhere {query}")))


@pytest.mark.parametrize(
    ("leaf", "query"),
    [
        (Text("blue"), '"blue"'),
        (Text("blue sky", phrase=True), '"blue sky"'),
        (Text("-from:x OR (y)"), '"-from:x OR (y)"'),
        (Text('say "hi"'), '"say  hi"'),
        (Text("a\\"), '"a"'),
        (Text("“quoted”"), '"quoted"'),
        (HasAttachment(), "has:attachment"),
    ],
)
def test_words_and_attachments_are_gmails_to_find(leaf: Leaf, query: str) -> None:
    found = gmail.said(leaf)
    assert found.are_exact
    assert found.upper == raw(query)


@pytest.mark.parametrize("text", ['"', "***", "", "\x00", "“”", "🎉"])
@pytest.mark.parametrize("prefix", [False, True])
def test_text_without_a_word_matches_nothing(text: str, prefix: bool) -> None:
    assert gmail.said(Text(text, prefix=prefix)).upper == NONE


def test_the_beginning_of_a_word_may_be_in_any_mail_and_surely_is_where_it_is_the_word() -> None:
    found = gmail.said(Text("invoi", prefix=True))
    assert (found.upper, found.lower) == (ALL, raw('"invoi"'))


def test_a_part_of_a_file_name_may_be_in_any_attachment() -> None:
    found = gmail.said(Filename("voice-47"))
    assert found.lower == raw('filename:"voice-47"')
    assert found.upper.words == (b"OR", *found.lower.words, *raw("has:attachment").words)


@pytest.mark.parametrize("leaf", [Subject("x"), Correspondent("from", "ann"), Is("unread")])
def test_everything_else_is_said_as_to_any_server(leaf: Leaf) -> None:
    assert gmail.said(leaf) == criteria.said(leaf)


@pytest.mark.parametrize(("name", "word"), [("to do", b'"to do"'), ('a"b', b'"a\\"b"'), ("Grüße", "Grüße".encode())])
def test_a_label_is_looked_for_as_it_is(name: str, word: bytes) -> None:
    assert gmail.said(Label(name)).upper.words == (b"X-GM-LABELS", word)


def test_labels_are_read_without_gmails_own_marks_and_with_the_open_folders_name() -> None:
    item = {"X-GM-LABELS": [b"\\Important", b"work", "Grüße".encode(), None, b"Archive 2"]}
    session: Any = FakeSession()
    assert gmail.read_labels(session, item, "INBOX") == ("Archive 2", "Grüße", "NIL", "work")
    assert gmail.read_labels(session, {"X-GM-LABELS": []}, "Clients/North") == ("Clients/North",)
    assert gmail.read_labels(session, {}, "[Gmail]/Sent Mail") == ()


def test_every_folder_is_a_label_but_gmails_own() -> None:
    session: Any = FakeSession()
    folders = [Folder(name, name, None) for name in ("work", "[Gmail]/Drafts", "[Google Mail]/Spam")]
    folders.append(Folder("INBOX", "INBOX", Role.INBOX))
    assert [gmail.known_labels(session, folder) for folder in folders] == [("work",), (), (), ()]


@pytest.mark.parametrize(("wanted", "change"), [(True, "+X-GM-LABELS"), (False, "-X-GM-LABELS")])
def test_a_label_is_set_and_taken_away_in_quotes_it_cannot_leave(wanted: bool, change: str) -> None:
    session: Any = FakeSession()
    gmail.set_label(session, [1], 'a" \\Deleted', wanted)
    assert session.stored == [([1], change, ['"a\\" \\\\Deleted"'])]


@pytest.mark.parametrize("label", ["a\r\nb", "\\Important", "x\x00"])
def test_what_is_no_name_never_reaches_the_server(label: str) -> None:
    session: Any = FakeSession()
    with pytest.raises(InvalidRequest):
        gmail.set_label(session, [1], label, True)
    assert session.stored == []


def test_a_refused_label_is_the_callers_to_mend_and_a_broken_server_is_not() -> None:
    refusing: Any = FakeSession(ProviderError("The mail server refused the command."))
    with pytest.raises(InvalidRequest, match="Choose another one"):
        gmail.set_label(refusing, [1], "Inbox", True)
    for refusal in (ProviderUnavailable("Later."), ProviderError("No.", details={"response_code": "SERVERBUG"})):
        broken: Any = FakeSession(refusal)
        with pytest.raises(type(refusal)):
            gmail.set_label(broken, [1], "work", True)
