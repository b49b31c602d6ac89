"""Whom Sent shows as written to: what each mail, copy and folder must be for it to count."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from postroom.model.address import Address
from postroom.model.draft import Identity
from postroom.model.errors import ProviderUnavailable
from postroom.model.folder import Folder, Role
from postroom.model.message import Envelope, Page
from postroom.model.query.tree import Correspondent, In, MessageId, Or, Query
from postroom.service.sending.acquaintances import acquainted

ALICE, BOB = Address("alice@demo.example"), Address("bob@demo.example")
INBOX, SENT = Folder("i", "INBOX", Role.INBOX), Folder("s", "Sent", Role.SENT)
DRAFTS, OLD = Folder("d", "Drafts", Role.DRAFTS), Folder("a", "Old", Role.ARCHIVE)
MAIL = Envelope("1", "t1", "Sent", ALICE, to=(BOB,), message_id="<1@demo.example>")


@dataclass
class Mailbox:
    """Answers as a provider may: with more than was asked for, or only a first part."""

    mails: list[Envelope]
    listed: list[Folder] = field(default_factory=lambda: [INBOX, SENT, DRAFTS, OLD])
    is_cut: bool = False
    asked: list[tuple[Query, int, int]] = field(default_factory=list)

    async def folders(self) -> list[Folder]:
        return self.listed

    async def identities(self) -> list[Identity]:
        return [Identity(ALICE), Identity(Address("alice@home.example"))]

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        self.asked.append((query, limit, offset))
        is_for_copies = query.anywhere
        found = self.mails if is_for_copies else [mail for mail in self.mails if mail.folder == "Sent"]
        is_cut = self.is_cut if is_for_copies else len(found) > limit
        return Page(tuple(found[:limit]), None, limit, offset, is_cut)


class Gateway:
    """Of the whole gateway only the journal is asked."""

    def __init__(self, made_by_tools: bool = False) -> None:
        journal = SimpleNamespace(made_folder=lambda account, ref: made_by_tools and (account, ref) == ("mine", "s"))
        self.store = SimpleNamespace(journal=journal)

    async def in_thread(self, call: Any, *arguments: Any) -> Any:
        return call(*arguments)


def opened(mailbox: Mailbox) -> Any:
    return SimpleNamespace(name="mine", mailbox=mailbox, at_server=mailbox, identities_now=mailbox.identities)


async def is_known(mailbox: Mailbox, *, made_by_tools: bool = False) -> bool:
    account = opened(mailbox)
    gateway: Any = Gateway(made_by_tools)
    known = await acquainted(gateway, account, [BOB.key])
    assert known <= {BOB.key}
    return bool(known)


@pytest.mark.parametrize(
    "mail",
    [
        MAIL,
        replace(MAIL, to=(), cc=(BOB,)),
        replace(MAIL, to=(), bcc=(BOB,)),
        replace(MAIL, to=(ALICE, BOB)),
        replace(MAIL, sender=Address("alice@home.example")),
    ],
)
async def test_a_mail_of_ours_in_sent_makes_those_known_whom_it_names(mail: Envelope) -> None:
    assert await is_known(Mailbox([mail]))


@pytest.mark.parametrize(
    "mail",
    [
        replace(MAIL, to=(Address("bobby@demo.example"),)),
        replace(MAIL, to=(), reply_to=(BOB,)),
        replace(MAIL, sender=BOB),
        replace(MAIL, draft=True),
        replace(MAIL, message_id=""),
        replace(MAIL, folder="Old"),
    ],
)
async def test_a_mail_that_is_not_ours_or_not_to_them_proves_nothing(mail: Envelope) -> None:
    assert not await is_known(Mailbox([mail]))


async def test_one_good_mail_among_others_is_enough() -> None:
    assert await is_known(Mailbox([replace(MAIL, sender=BOB, message_id="<0@demo.example>"), MAIL]))


async def test_a_copy_in_drafts_is_ours_as_well() -> None:
    assert await is_known(Mailbox([MAIL, replace(MAIL, folder="Drafts", ref="2")]))


@pytest.mark.parametrize("folder", ["INBOX", "Old", "somewhere"])
async def test_a_copy_anywhere_else_leaves_them_strangers(folder: str) -> None:
    assert not await is_known(Mailbox([MAIL, replace(MAIL, folder=folder, ref="2")]))


async def test_another_mail_that_a_server_adds_to_the_copies_is_passed_over() -> None:
    other = replace(MAIL, folder="INBOX", message_id="<2@demo.example>", sender=BOB)
    assert await is_known(Mailbox([MAIL, other]))


async def test_copies_that_were_not_all_looked_at_leave_them_strangers() -> None:
    assert not await is_known(Mailbox([MAIL], is_cut=True))


async def test_a_mail_whose_copies_cannot_be_found_leaves_them_strangers() -> None:
    class Forgetful(Mailbox):
        async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
            page = await super().search(query, limit=limit, offset=offset)
            return replace(page, items=()) if isinstance(query.node, MessageId) else page

    assert not await is_known(Forgetful([MAIL]))


def to(number: int) -> Address:
    return Address(f"p{number}@demo.example")


def mail(number: int, *recipients: Address, folder: str = "Sent") -> Envelope:
    return replace(MAIL, ref=f"{number}", folder=folder, to=recipients, message_id=f"<m{number}@demo.example>")


async def known_of(mailbox: Mailbox, *people: Address) -> set[str]:
    account = opened(mailbox)
    gateway: Any = Gateway()
    return await acquainted(gateway, account, [person.key for person in people])


async def test_several_recipients_are_looked_up_in_one_search_and_their_copies_in_another() -> None:
    people = [to(number) for number in range(12)]
    mailbox = Mailbox([mail(number, person) for number, person in enumerate(people[:10])])
    assert await known_of(mailbox, *people) == {person.key for person in people[:10]}
    first, second = (query.node for query, _, _ in mailbox.asked)
    assert {leaf.value for leaf in leaves(first) if isinstance(leaf, Correspondent)} == {p.key for p in people}
    assert {leaf.value for leaf in leaves(second)} == {f"<m{number}@demo.example>" for number in range(10)}


def leaves(node: Any) -> list[Any]:
    return [leaf for child in node.nodes for leaf in leaves(child)] if hasattr(node, "nodes") else [node]


async def test_one_mail_that_names_several_is_looked_for_once() -> None:
    mailbox = Mailbox([mail(1, to(1), to(2), to(3))])
    assert len(await known_of(mailbox, to(1), to(2), to(3))) == 3
    assert [query.node for query, _, _ in mailbox.asked[1:]] == [MessageId("<m1@demo.example>")]


async def test_whoever_is_crowded_out_by_mail_to_others_is_looked_up_alone() -> None:
    class Filtering(Mailbox):
        async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
            wanted = {getattr(leaf, "value", "") for leaf in leaves(query.node)}
            found = [one for one in self.mails if wanted & {one.message_id, *(address.key for address in one.to)}]
            return await Mailbox(found).search(query, limit=limit, offset=offset)

    mailbox = Filtering([*(mail(number, to(1)) for number in range(100)), mail(100, to(2))])
    assert await known_of(mailbox, to(1), to(2), to(3)) == {to(1).key, to(2).key}


async def test_a_copy_elsewhere_makes_strangers_of_those_whom_it_alone_names() -> None:
    mailbox = Mailbox([mail(1, to(1)), mail(2, to(2)), mail(2, to(2), folder="INBOX")])
    assert await known_of(mailbox, to(1), to(2)) == {to(1).key}


async def test_an_older_mail_counts_where_the_newest_was_received_as_well() -> None:
    mailbox = Mailbox([mail(1, to(1)), mail(1, to(1), folder="INBOX"), mail(2, to(1)), mail(3, to(2))])
    assert await known_of(mailbox, to(1), to(2)) == {to(1).key, to(2).key}


async def test_more_recipients_than_fit_into_one_question_are_asked_about_in_several() -> None:
    people = [to(number) for number in range(50)]
    mailbox = Mailbox([mail(1, *people)])
    assert await known_of(mailbox, *people) == {person.key for person in people}
    assert len([query for query, _, _ in mailbox.asked if not query.anywhere]) == 3


async def test_sent_is_asked_for_each_recipient_and_every_folder_for_copies() -> None:
    mailbox = Mailbox([MAIL])
    assert await is_known(mailbox)
    to_them = Or((Correspondent("to", BOB.key), Correspondent("cc", BOB.key)))
    assert mailbox.asked == [
        (Query().narrowed(In("s"), to_them), 20, 0),
        (Query(MessageId("<1@demo.example>"), anywhere=True), 20, 0),
    ]


async def test_nobody_asks_about_nobody() -> None:
    mailbox = Mailbox([MAIL])
    account = opened(mailbox)
    gateway: Any = Gateway()
    assert await acquainted(gateway, account, []) == set()
    assert mailbox.asked == []


async def test_a_server_that_does_not_answer_leaves_them_strangers() -> None:
    class Silent(Mailbox):
        async def folders(self) -> list[Folder]:
            raise ProviderUnavailable("no answer")

    assert not await is_known(Silent([MAIL]))


# --- which folder is Sent


async def test_without_a_folder_for_sent_mail_nobody_is_known() -> None:
    assert not await is_known(Mailbox([MAIL], [INBOX, DRAFTS]))


async def test_the_folder_that_the_server_calls_sent_counts_whoever_made_it() -> None:
    assert await is_known(Mailbox([MAIL]), made_by_tools=True)


GUESSED = replace(SENT, is_guess=True)


@pytest.mark.parametrize(
    ("others", "counts"),
    [
        ([INBOX], True),
        ([INBOX, replace(DRAFTS, is_guess=True), Folder("p", "Plans")], True),
        ([INBOX, DRAFTS], False),
        ([INBOX, replace(DRAFTS, is_guess=True), OLD], False),
    ],
)
async def test_a_folder_that_is_only_named_like_sent_counts_where_the_server_names_no_role(
    others: list[Folder], counts: bool
) -> None:
    assert await is_known(Mailbox([MAIL], [*others, GUESSED])) is counts


async def test_a_folder_that_is_only_named_like_sent_and_was_made_by_tools_counts_nowhere() -> None:
    assert not await is_known(Mailbox([MAIL], [INBOX, GUESSED]), made_by_tools=True)


async def test_a_sent_mail_that_lies_in_another_folder_as_well_does_not_count() -> None:
    assert await is_known(Mailbox([MAIL]))
    assert not await is_known(Mailbox([replace(MAIL, other_folders=("INBOX",))]))


async def test_copies_that_crowd_each_other_out_are_looked_for_one_by_one() -> None:
    class Crowded(Mailbox):
        async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
            page = await super().search(query, limit=limit, offset=offset)
            return replace(page, has_more=query.anywhere and isinstance(query.node, Or))

    mailbox = Crowded([mail(1, to(1)), mail(2, to(2)), mail(2, to(2), folder="INBOX")])
    assert await known_of(mailbox, to(1), to(2)) == {to(1).key}
    alone = [query.node for query, _, _ in mailbox.asked if isinstance(query.node, MessageId)]
    assert alone == [MessageId(f"<m{number}@demo.example>") for number in (1, 2)]
