from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from postroom.mime.read.parse import Parsed, parse
from postroom.mime.sender_facts import judge
from postroom.model.query.text import parse_query
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.local.provider import LocalMailbox, NewMail
from postroom.providers.local.sample import fill
from postroom.providers.local.sample.filling import mails_of, moment, world
from postroom.providers.local.sample.people import ALEX, OWNERS, SAM
from postroom.service.reading.search import search_emails
from postroom.settings import LocalAccount, load_demo
from postroom.wiring import SMALLER_THAN_SAMPLE, open_gateway

MOMENTS = [
    datetime(2026, 11, 15, 0, 1, tzinfo=UTC),
    datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    datetime(2028, 2, 29, 23, 59, tzinfo=UTC),
]
NOW = MOMENTS[0]


@pytest.fixture(scope="module")
def alex() -> list[tuple[NewMail, Parsed]]:
    return [(mail, parse(mail.raw)) for mail in mails_of(ALEX, NOW)]


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[LocalMailbox]:
    account = LocalAccount(name="alex", address=ALEX.email, path=tmp_path / "alex.db")
    opened = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
    await opened.connect()
    yield opened
    await opened.close()


def test_the_same_now_gives_the_same_bytes() -> None:
    assert list(mails_of(SAM, NOW)) == list(mails_of(SAM, NOW))


def test_another_offset_of_the_same_moment_changes_nothing() -> None:
    from datetime import timezone

    elsewhere = NOW.astimezone(timezone(timedelta(hours=9)))
    assert list(mails_of(ALEX, elsewhere)) == list(mails_of(ALEX, NOW))


@pytest.mark.parametrize("now", MOMENTS)
def test_no_mail_is_from_the_future_and_none_older_than_half_a_year(now: datetime) -> None:
    dates = [moment(letter, now) for letter in world(now)]
    assert max(dates) < now
    assert min(dates) > now - timedelta(days=190)


@pytest.mark.parametrize("now", MOMENTS)
def test_an_answer_is_always_later_than_what_it_answers(now: datetime) -> None:
    dates = {letter.key: moment(letter, now) for letter in world(now)}
    for letter in world(now):
        assert all(dates[key] < dates[letter.key] for key in letter.answers), letter.key


def test_keys_are_unique_and_answers_lead_somewhere() -> None:
    letters = world(NOW)
    keys = Counter(letter.key for letter in letters)
    assert [key for key, count in keys.items() if count > 1] == []
    assert {key for letter in letters for key in letter.answers} <= set(keys)


def test_whatever_was_sent_has_recipients() -> None:
    assert [letter.key for letter in world(NOW) if not letter.draft and not letter.to] == []


def test_every_domain_is_reserved_for_examples() -> None:
    for owner in OWNERS:
        for mail in mails_of(owner, NOW):
            parsed = parse(mail.raw)
            text = "\n".join((str(parsed.headers), parsed.body.text, parsed.body.html))
            domains = re.findall(r"(?:@|https?://)([A-Za-z0-9.-]+\.[A-Za-z]{2,})", text)
            assert [domain for domain in domains if not domain.endswith(".example")] == []


def test_every_mail_parses_without_a_defect(alex: list[tuple[NewMail, Parsed]]) -> None:
    assert [(parsed.subject, parsed.defects) for _, parsed in alex if parsed.defects] == []


def test_texts_come_back_from_every_charset(alex: list[tuple[NewMail, Parsed]]) -> None:
    by_subject = {parsed.subject: parsed for _, parsed in alex}
    assert "請求書を添付いたします" in by_subject["請求書の件"].body.text
    assert "Пять тысяч карт" in by_subject["Печать гарантийных карт"].body.text
    assert "新的外壳样品" in by_subject["外壳样品已寄出"].body.text
    assert "J'ai remplacé « à vie »" in by_subject["Étiquettes pour la boîte"].body.text
    assert "Straßenmeisterei" in by_subject["Grüße von der Baustelle"].body.text
    assert by_subject["الشعار الجديد"].sender.name == "عمر حداد"


def test_the_world_is_as_lively_as_promised(alex: list[tuple[NewMail, Parsed]]) -> None:
    assert 180 <= len(alex) <= 240
    folders = Counter(mail.folder for mail, _ in alex)
    assert {"INBOX", "Sent", "Archive", "Projects/Aurora", "請求書", "Drafts", "Junk", "Trash"} == set(folders)
    assert folders["Drafts"] == 3
    kinds = {attachment.mime_type for _, parsed in alex for attachment in parsed.attachments}
    assert {"application/pdf", "image/png", "text/csv", "text/calendar"} <= kinds
    assert 20 <= sum("unread" in mail.flags for mail, _ in alex) <= 60
    assert sum("starred" in mail.flags for mail, _ in alex) >= 5
    assert sum("answered" in mail.flags for mail, _ in alex) >= 20


def test_the_pdfs_and_pictures_are_real(alex: list[tuple[NewMail, Parsed]]) -> None:
    from postroom.mime.read.parse import extract_part

    files = [
        (attachment.mime_type, extract_part(mail.raw, attachment.part))
        for mail, parsed in alex
        for attachment in parsed.attachments
    ]
    for content in (content for kind, content in files if kind == "application/pdf"):
        start = int(content.rsplit(b"startxref\n", 1)[1].split(b"\n")[0])
        assert content[start:].startswith(b"xref")
    for content in (content for kind, content in files if kind == "image/png"):
        length = int.from_bytes(content[33:37], "big")
        assert len(zlib.decompress(content[41 : 41 + length])) % 3 == int.from_bytes(content[20:24], "big") % 3


def test_invitations_name_whom_they_invite_so_that_they_can_be_answered(alex: list[tuple[NewMail, Parsed]]) -> None:
    from postroom.mime.calendar.events import parse_calendar
    from postroom.mime.read.parse import extract_part

    invited = [
        {person.address.email for person in parse_calendar(extract_part(mail.raw, file.part)).events[0].attendees}
        for mail, parsed in alex
        for file in parsed.attachments
        if file.mime_type == "text/calendar" and mail.folder == "INBOX"
    ]
    assert len(invited) == 4
    assert all(ALEX.email in guests for guests in invited)


def test_newsletters_can_be_left_by_mail(alex: list[tuple[NewMail, Parsed]]) -> None:
    letters = [mail.raw for mail, _ in alex if b"\r\nList-Unsubscribe: " in mail.raw]
    assert letters
    assert all(b"\r\nList-Unsubscribe: <mailto:" in raw for raw in letters)


def test_the_phishing_try_shows_every_warning_sign(alex: list[tuple[NewMail, Parsed]]) -> None:
    (phish,) = (parsed for _, parsed in alex if parsed.sender.domain == "dem0.example")
    facts = judge(phish.headers, phish.sender, phish.reply_to, ["demo.example"])
    assert (facts.spf, facts.dmarc) == ("fail", "fail")
    assert len(facts.warnings) >= 3
    assert "display:none" in phish.body.html


def test_mail_between_the_two_is_in_both_mailboxes() -> None:
    boxes = {owner: {parse(mail.raw).message_id: mail.folder for mail in mails_of(owner, NOW)} for owner in OWNERS}
    shared = [letter for letter in world(NOW) if letter.sender in OWNERS and set(OWNERS) & set(letter.to + letter.cc)]
    assert len(shared) >= 20
    for folder in ("Sent", "INBOX"):
        assert any(boxes[ALEX].get(key) == "Sent" and boxes[SAM].get(key) == folder for key in boxes[ALEX]) == (
            folder == "INBOX"
        )


async def test_a_new_mailbox_is_filled_and_a_used_one_left_alone(mailbox: LocalMailbox) -> None:
    filled = await fill(mailbox, ALEX.email, now=NOW)
    assert filled == len(list(mails_of(ALEX, NOW)))
    assert await fill(mailbox, ALEX.email, now=NOW) == 0
    assert sum(folder.total or 0 for folder in await mailbox.folders()) == filled


async def test_the_filled_mailbox_answers_lively_questions(mailbox: LocalMailbox) -> None:
    await fill(mailbox, ALEX.email, now=NOW)

    async def total(text: str) -> int:
        found = (await mailbox.search(parse_query(text, now=NOW), limit=1, offset=0)).total
        assert found is not None
        return found

    assert await total("newer_than:7d") >= 20
    assert await total("is:unread in:inbox") >= 10
    assert await total("from:sam subject:sensor") == 2
    assert await total("filename:receipt") >= 12
    assert await total("in:請求書") >= 15
    assert await total("label:newsletters is:unread") >= 3


async def test_the_begun_reply_to_the_lawyer_belongs_to_her_thread(mailbox: LocalMailbox) -> None:
    await fill(mailbox, ALEX.email, now=NOW)
    drafts = (await mailbox.search(Query(In("drafts")), limit=10, offset=0)).items
    (reply,) = (row for row in drafts if row.subject.startswith("Re: Warranty"))
    assert len(await mailbox.thread(reply.thread_ref)) == 3


async def test_of_two_who_fill_a_new_mailbox_at_once_one_does(mailbox: LocalMailbox, tmp_path: Path) -> None:
    account = LocalAccount(name="alex", address=ALEX.email, path=tmp_path / "alex.db")
    twin = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
    await twin.connect()
    filled: list[int] = []

    async def fill_one(one: LocalMailbox) -> None:
        filled.append(await fill(one, ALEX.email))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fill_one, mailbox)
        tasks.start_soon(fill_one, twin)
    await twin.close()
    assert min(filled) == 0
    assert sum(folder.total for folder in await mailbox.folders()) == max(filled) == len(list(mails_of(ALEX, NOW)))


async def test_a_first_start_that_was_cut_short_is_completed_by_the_next(tmp_path: Path) -> None:
    settings = load_demo(environ={"POSTROOM_HOME": str(tmp_path)})
    for account in settings.accounts:  # made, but not filled
        mailbox = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
        await mailbox.connect()
        await mailbox.close()
    sizes = []
    for _ in range(2):
        async with open_gateway(settings) as gateway:
            sizes.append(
                [
                    (await search_emails(gateway, "after:2000-01-01", account=name)).total_count
                    for name in ("alex", "sam")
                ]
            )
    assert min(sizes[0]) > 20
    assert sizes[1] == sizes[0]
    assert min(account.path.stat().st_size for account in settings.accounts) > SMALLER_THAN_SAMPLE
