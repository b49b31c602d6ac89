"""What a server leaves open is decided mail by mail, and what it can say is asked of it once."""

from __future__ import annotations

import pytest

from postroom.model.address import Address
from postroom.model.errors import InvalidRequest
from postroom.model.message import Envelope
from postroom.model.query.tree import And, HasAttachment, Is, Node, Not, Or, Text
from postroom.providers.querying import gmail_words
from postroom.providers.querying.bounds import Bounds, Joints, bounds_of
from postroom.providers.querying.judging import READ_WHOLE, Judge

WITH_FILES = Envelope("1", "1", "INBOX", Address("a@a.example"), has_attachments=True)
WITHOUT = Envelope("2", "2", "INBOX", Address("a@a.example"))


class Server:
    """Knows who is unread (mail 1 is) and nothing of attachments or words."""

    def __init__(self) -> None:
        self.asked: list[Node] = []

    def can_say(self, node: Node) -> bool:
        return isinstance(node, Is)

    def ask(self, node: Node) -> set[str]:
        self.asked.append(node)
        return {"1"}


def test_a_condition_that_every_candidate_fulfils_is_not_asked_again() -> None:
    server = Server()
    judge = Judge(And((Is("unread"), HasAttachment())), server.can_say, server.ask)
    assert judge.accepts("1", WITH_FILES)
    assert not judge.accepts("2", WITHOUT)
    assert server.asked == []


def test_the_servers_part_of_an_or_is_asked_once_for_all_mails() -> None:
    server = Server()
    judge = Judge(Or((Is("unread"), Not(HasAttachment()))), server.can_say, server.ask)
    assert judge.accepts("1", WITH_FILES)
    assert not judge.accepts("3", WITH_FILES)
    assert judge.accepts("2", WITHOUT)
    assert server.asked == [Is("unread")]


def test_too_many_mails_are_not_read_to_find_a_word() -> None:
    server = Server()
    words = Judge(Text("inv", prefix=True), server.can_say, server.ask)
    words.require_few(READ_WHOLE)
    with pytest.raises(InvalidRequest, match="Write out the words"):
        words.require_few(READ_WHOLE + 1)
    Judge(HasAttachment(), server.can_say, server.ask).require_few(READ_WHOLE + 1)


def test_not_swaps_the_bounds_in_any_language() -> None:
    joints = Joints(lambda words: f"-({words})", " ".join, " OR ".join)
    found = bounds_of(Not(HasAttachment()), lambda _: Bounds("maybe", "surely"), joints)
    assert found == Bounds("-(surely)", "-(maybe)")


@pytest.mark.parametrize(
    ("value", "said"), [("a b", 'filename:"a b"'), ('a"b', 'filename:"a b"'), ("\u201d", ""), ("", "")]
)
def test_a_phrase_of_gmails_language_cannot_be_ended_from_within(value: str, said: str) -> None:
    assert gmail_words.phrase(value, gmail_words.FILENAME) == said
