"""What a real server does once UTF8=ACCEPT is enabled: the facts that `speech` relies on, and what it makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.courier import Courier
from tests.peers.raw_imap import RawImap, raw_imap

from postroom.model.query.tree import In, Query, Subject

ERROR = "NO Error in IMAP command received by server."
LETTER = "From: Ada <ada@friends.example>\r\nTo: jürgen@bücher.example\r\nSubject: Grüße\r\n\r\nHallo.\r\n".encode()
ENCODED = b"From: ada@friends.example\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHallo.\r\n"


@pytest.fixture
def plain(courier: Courier) -> Iterator[RawImap]:
    with raw_imap(courier.imap, courier.new_user()) as client:
        yield client


@pytest.fixture
def client(plain: RawImap) -> RawImap:
    assert plain.ask("ENABLE UTF8=ACCEPT") == ["* ENABLED UTF8=ACCEPT", "OK Options enabled"]
    return plain


def names(client: RawImap) -> set[str]:
    return {line.rpartition(' "')[2].rstrip('"') for line in client.ask('LIST "" "INBOX.*"')[:-1]}


def append(client: RawImap, mail: bytes, before: str = "() ") -> list[str]:
    return client.ask(f"APPEND INBOX {before}UTF8 (~{{{len(mail)}}}", mail + b")")


def test_names_come_in_modified_utf7_before_and_in_utf8_after(plain: RawImap) -> None:
    plain.ask("CREATE INBOX.Entw&APw-rfe")
    assert "INBOX.Entw&APw-rfe" in names(plain)
    plain.ask("ENABLE UTF8=ACCEPT")
    assert "INBOX.Entwürfe" in names(plain)
    assert plain.ask('STATUS "INBOX.Entwürfe" (MESSAGES)')[0] == '* STATUS "INBOX.Entwürfe" (MESSAGES 0)'


def test_modified_utf7_is_a_name_like_any_other_afterwards(client: RawImap) -> None:
    client.ask('CREATE "INBOX.Entwürfe"')
    assert client.ask("STATUS INBOX.Entw&APw-rfe (MESSAGES)")[-1].startswith("NO Mailbox does not exist")
    client.ask('CREATE "INBOX.Entw&APw-rfe"')
    client.ask('CREATE "INBOX.Bed & Breakfast"')
    assert {"INBOX.Entwürfe", "INBOX.Entw&APw-rfe", "INBOX.Bed & Breakfast"} <= names(client)


def test_a_name_beyond_ascii_is_taken_in_quotes_or_as_a_literal_but_not_bare(client: RawImap) -> None:
    name = "INBOX.日本語"
    assert client.ask(f"CREATE {name}")[-1].startswith("NO")
    assert client.ask(f"CREATE {{{len(name.encode())}}}", name)[-1].startswith("OK")
    assert client.ask(f'RENAME "{name}" "INBOX.Köln"')[-1].startswith("OK")
    assert "INBOX.Köln" in names(client)


@pytest.mark.parametrize("keys", ["CHARSET UTF-8 ALL", "CHARSET US-ASCII ALL", "CHARSET UTF-8 SUBJECT {7}"])
def test_a_search_that_names_a_charset_is_refused(client: RawImap, keys: str) -> None:
    client.ask("SELECT INBOX")
    assert client.ask(f"UID SEARCH {keys}", "Grüße") == ["NO CHARSET is not valid in UTF8 mode as per RFC 6855"]


def test_a_search_without_charset_finds_words_in_quotes_and_as_literals(client: RawImap) -> None:
    append(client, LETTER)
    append(client, ENCODED)
    client.ask("SELECT INBOX")
    assert client.ask('UID SEARCH SUBJECT "grüße"')[0] == "* SEARCH 1 2"
    assert client.ask("UID SEARCH SUBJECT {7}", "Grüße")[0] == "* SEARCH 1 2"
    assert client.ask('UID SEARCH TO "jürgen"')[0] == "* SEARCH 1"


def test_sorting_still_names_its_charset_and_only_utf8_will_do(client: RawImap) -> None:
    append(client, LETTER)
    client.ask("SELECT INBOX")
    assert client.ask('UID SORT (REVERSE DATE) UTF-8 SUBJECT "Grüße"')[0] == "* SORT 1"
    assert client.ask("UID SORT (REVERSE DATE) US-ASCII ALL")[-1].startswith("BAD [BADCHARSET]")
    assert client.ask("UID SORT (REVERSE DATE) ALL") == [ERROR]


@pytest.mark.parametrize("before", ["() ", "(\\Seen) ", '"01-Jun-2026 10:00:00 +0000" '])
def test_a_mail_announced_as_utf8_is_taken_where_flags_or_a_date_stand_before(client: RawImap, before: str) -> None:
    (answer,) = append(client, LETTER, before)
    assert answer.startswith("OK [APPENDUID ")


def test_a_mail_announced_as_utf8_is_refused_without_flags_and_without_enable(plain: RawImap) -> None:
    assert append(plain, LETTER) == [ERROR]
    plain.ask("ENABLE UTF8=ACCEPT")
    assert append(plain, LETTER, before="") == [ERROR]


@pytest.mark.parametrize("enabled", [False, True])
def test_an_unannounced_mail_is_taken_with_a_complaint(plain: RawImap, enabled: bool) -> None:
    if enabled:
        plain.ask("ENABLE UTF8=ACCEPT")
    complaint, answer = plain.ask(f"APPEND INBOX () {{{len(LETTER)}}}", LETTER)
    assert complaint.startswith("* OK [ALERT] Your IMAP client does not appear to correctly implement Unicode")
    assert answer.startswith("OK [APPENDUID ")
    assert plain.ask(f"APPEND INBOX () {{{len(ENCODED)}}}", ENCODED)[0].startswith("OK [APPENDUID ")


def test_an_envelope_hides_letters_beyond_ascii_before_and_shows_them_after(plain: RawImap) -> None:
    plain.ask(f"APPEND INBOX () {{{len(LETTER)}}}", LETTER)
    plain.ask("SELECT INBOX")
    assert plain.ask("UID FETCH 1 ENVELOPE")[0].isascii()
    plain.ask("ENABLE UTF8=ACCEPT")
    shown = plain.ask("UID FETCH 1 ENVELOPE")[0]
    assert '"Grüße"' in shown
    assert '((NIL NIL "jürgen" "bücher.example"))' in shown


def test_a_folder_open_for_reading_only_takes_no_mail(client: RawImap) -> None:
    client.ask("EXAMINE INBOX")
    assert client.ask(f"APPEND INBOX () {{{len(ENCODED)}}}", ENCODED) == ["NO Current box is selected READ-ONLY."]


async def test_a_mail_with_headers_in_utf8_is_saved_byte_for_byte_and_found(courier: Courier) -> None:
    async with opened(imap_account(courier)) as mailbox:
        saved = await mailbox.create_draft(LETTER)
        assert await mailbox.fetch_raw(saved.message_ref) == LETTER
        page = await mailbox.search(Query(Subject("Grüße")), limit=10, offset=0)
        assert [row.ref for row in page.items] == [saved.message_ref]
        assert [address.email for address in page.items[0].to] == ["jürgen@bücher.example"]


@pytest.mark.parametrize("name", ["Köln", "Bed & Breakfast", "K&APY-ln", "日本語", 'say "hi" \\ now'])
async def test_a_folder_of_any_name_is_made_listed_and_filled(courier: Courier, name: str) -> None:
    async with opened(imap_account(courier)) as mailbox:
        made = await mailbox.create_folder(name)
        assert made.ref == f"INBOX.{name}"
        assert name in [folder.name for folder in await mailbox.folders()]
        draft = await mailbox.create_draft(ENCODED)
        (moved,) = await mailbox.move([draft.ref], made.ref)
        page = await mailbox.search(Query(In(name)), limit=10, offset=0)
        assert [row.ref for row in page.items] == [moved.new_ref]


async def test_a_draft_is_saved_over_a_connection_that_has_only_read_the_drafts(courier: Courier) -> None:
    async with opened(imap_account(courier, max_connections=1)) as mailbox:
        first = await mailbox.create_draft(ENCODED)
        await mailbox.fetch_raw(first.message_ref)
        second = await mailbox.update_draft(first.ref, LETTER)
        page = await mailbox.list_drafts(limit=10, offset=0)
        assert [item[0].ref for item in page.items] == [second.ref]
