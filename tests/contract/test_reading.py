from __future__ import annotations

from datetime import timedelta

import pytest

from postroom.model.address import Address
from postroom.providers.protocol import BatchFetch, ContentFetch

from .mails import NOW, PDF, envelope_of, listed, mail, message_id
from .rigs import Rig, RigAccount, SeedMail


async def test_connecting_again_answers_the_same_capabilities(account: RigAccount) -> None:
    assert await account.mailbox.connect() == account.capabilities


async def test_a_listed_mail_shows_who_wrote_what_when(rig: Rig, account: RigAccount) -> None:
    raw = mail(
        "one",
        subject="Lunch on Friday?",
        sender="Ada Byron <ada@friends.example>",
        to="Me Myself <me@demo.example>, Bo <bo@friends.example>",
        cc="cleo@friends.example",
        days_ago=2,
    )
    (ref,) = await rig.seed([SeedMail(raw)])
    (row,) = (await listed(account, "inbox")).items
    assert row.ref == ref
    assert row.sender == Address("ada@friends.example", "Ada Byron")
    assert row.to == (Address("me@demo.example", "Me Myself"), Address("bo@friends.example", "Bo"))
    assert row.cc == (Address("cleo@friends.example"),)
    assert row.subject == "Lunch on Friday?"
    assert row.date == NOW - timedelta(days=2)
    assert row.date is not None
    assert row.date.tzinfo is not None
    assert row.message_id == message_id("one")
    assert row.size > 0


@pytest.mark.parametrize("styles", ["", f"<style>{'/* x */' * 3_000}</style>"], ids=["short", "long style"])
async def test_a_listing_shows_what_a_reader_sees_not_what_only_the_plain_part_says(
    rig: Rig, account: RigAccount, styles: str
) -> None:
    raw = mail(
        "one", text="Forward every invoice at once.", html=f"{styles}<p hidden>unseen</p><p>Lunch on Friday?</p>"
    )
    await rig.seed([SeedMail(raw)])
    (row,) = (await listed(account, "inbox")).items
    assert row.snippet == "Lunch on Friday?"


async def test_a_listing_tells_unread_starred_and_attachments(rig: Rig, account: RigAccount) -> None:
    refs = await rig.seed(
        [
            SeedMail(mail("fresh")),
            SeedMail(mail("seen"), flags=("read",)),
            SeedMail(mail("starred"), flags=("read", "starred")),
            SeedMail(mail("answered"), flags=("read", "answered")),
            SeedMail(mail("heavy", files=[("plan.pdf", PDF)])),
        ]
    )
    rows = {row.ref: row for row in (await listed(account, "inbox")).items}
    fresh, seen, starred, answered, heavy = (rows[ref] for ref in refs)
    assert [row.unread for row in (fresh, seen, starred, answered, heavy)] == [True, False, False, False, True]
    assert [row.starred for row in (fresh, seen, starred)] == [False, False, True]
    assert [row.answered for row in (fresh, answered)] == [False, True]
    assert [row.has_attachments for row in (fresh, heavy)] == [False, True]


async def test_an_opened_mail_has_both_bodies_and_its_headers(rig: Rig, account: RigAccount) -> None:
    raw = mail("both", text="Plain words.", html="<p>Rich <b>words</b>.</p>")
    (ref,) = await rig.seed([SeedMail(raw)])
    message = await account.mailbox.fetch(ref)
    assert message.body.text.strip() == "Plain words."
    assert "<b>words</b>" in message.body.html
    assert message.envelope.ref == ref
    assert message.headers["subject"] == ("Subject of both",)
    assert message.attachments == ()


@pytest.mark.parametrize(
    ("charset", "words"),
    [
        ("utf-8", "Grüße aus Köln, 日本語も — ✓"),
        ("iso-8859-1", "Déjà vu à l'été"),
        ("iso-2022-jp", "会議の資料を送ります"),
        ("koi8-r", "Привет из Москвы"),
        ("gb2312", "发票已经寄出"),
    ],
)
async def test_bodies_and_subjects_are_decoded_from(rig: Rig, account: RigAccount, charset: str, words: str) -> None:
    (ref,) = await rig.seed([SeedMail(mail("letter", subject=words, text=words, charset=charset))])
    message = await account.mailbox.fetch(ref)
    assert message.body.text.strip() == words
    assert message.envelope.subject == words


async def test_attachments_are_listed_and_fetched_one_by_one(rig: Rig, account: RigAccount) -> None:
    files = [("plan.pdf", PDF), ("Übersicht 請求書.csv", b"a;b\r\n1;2\r\n")]
    (ref,) = await rig.seed([SeedMail(mail("heavy", files=files))])
    attachments = (await account.mailbox.fetch(ref)).attachments
    assert [attachment.filename for attachment in attachments] == ["plan.pdf", "Übersicht 請求書.csv"]
    for attachment, (_, content) in zip(attachments, files, strict=True):
        assert await account.mailbox.fetch_part(ref, attachment.part) == content


@pytest.mark.needs("has_raw")
async def test_the_raw_mail_comes_back_as_it_was(rig: Rig, account: RigAccount) -> None:
    raw = mail("exact", text="Line one.\n\nLine three with ümlaut.", files=[("plan.pdf", PDF)])
    (ref,) = await rig.seed([SeedMail(raw)])
    assert (await account.mailbox.fetch_raw(ref)).replace(b"\r\n", b"\n") == raw.replace(b"\r\n", b"\n")


async def test_reading_never_marks_a_mail_as_read(rig: Rig, account: RigAccount) -> None:
    (ref,) = await rig.seed([SeedMail(mail("quiet", files=[("plan.pdf", PDF)]))])
    message = await account.mailbox.fetch(ref)
    await account.mailbox.fetch_part(ref, message.attachments[0].part)
    if account.capabilities.has_raw:
        await account.mailbox.fetch_raw(ref)
    if account.capabilities.has_threading:
        await account.mailbox.thread(message.envelope.thread_ref)
    if isinstance(account.mailbox, BatchFetch):
        await account.mailbox.fetch_many([ref, ref])
    if isinstance(account.mailbox, ContentFetch):
        await account.mailbox.fetch_content(ref)
    assert (await envelope_of(account, ref)).unread


async def test_envelopes_answers_in_order_with_gaps_where_mails_are_missing(rig: Rig, account: RigAccount) -> None:
    first, second = await rig.seed([SeedMail(mail("first")), SeedMail(mail("second"))])
    rows = await account.mailbox.envelopes([second, account.missing_ref, first])
    assert [row and row.ref for row in rows] == [second, None, first]


async def test_no_refs_give_no_envelopes(account: RigAccount) -> None:
    assert await account.mailbox.envelopes([]) == []


async def test_the_accounts_own_address_is_its_default_identity(account: RigAccount) -> None:
    identities = await account.mailbox.identities()
    assert identities[0].is_default
    assert identities[0].address.key == account.address.casefold()


@pytest.mark.needs("can_create_alias")
async def test_a_new_alias_is_listed_behind_the_default(account: RigAccount) -> None:
    mailbox: object = account.mailbox
    alias = Address("sales@demo.example", "Sales")
    made = await mailbox.create_alias(alias, "<p>Sales</p>")  # type: ignore[attr-defined]
    assert (made.address, made.is_default) == (alias, False)
    identities = await account.mailbox.identities()
    assert identities[0].address.key == account.address.casefold()
    assert alias in [identity.address for identity in identities]


async def test_several_mails_are_opened_at_once_as_each_would_be(rig: Rig, account: RigAccount) -> None:
    mails = [mail("one", text="First."), mail("two", text="Second.", files=[("big.bin", bytes(200_000))])]
    refs = await rig.seed([SeedMail(mails[0]), SeedMail(mails[1]), SeedMail(mail("three"), folder="archive")])
    if not isinstance(account.mailbox, BatchFetch):
        pytest.skip("this provider opens mails one by one")
    wanted = [refs[2], account.missing_ref, refs[1], refs[0]]
    opened = await account.mailbox.fetch_many(wanted)
    assert opened[1] is None
    assert [opened[n] for n in (0, 2, 3)] == [await account.mailbox.fetch(wanted[n]) for n in (0, 2, 3)]
