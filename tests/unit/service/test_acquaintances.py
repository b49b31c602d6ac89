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
        is_for_copies = isinstance(query.node, MessageId)
        found = self.mails if is_for_copies else [mail for mail in self.mails if mail.folder == "Sent"]
        return Page(tuple(found), None, limit, offset, self.is_cut and is_for_copies)


class Gateway:
    """Of the whole gateway only the journal is asked."""

    def __init__(self, made_by_tools: bool = False) -> None:
        journal = SimpleNamespace(made_folder=lambda account, ref: made_by_tools and (account, ref) == ("mine", "s"))
        self.store = SimpleNamespace(journal=journal)

    async def in_thread(self, call: Any, *arguments: Any) -> Any:
        return call(*arguments)


async def is_known(mailbox: Mailbox, *, made_by_tools: bool = False) -> bool:
    account: Any = SimpleNamespace(name="mine", mailbox=mailbox)
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
    account: Any = SimpleNamespace(name="mine", mailbox=mailbox)
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
