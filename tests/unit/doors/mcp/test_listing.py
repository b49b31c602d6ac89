"""A listing costs what it may, whatever the mails are called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postroom.doors.mcp.dialects.postroom import results, text
from postroom.service.views import EmailPage, EmailRow


def row(number: int = 0, **fields: Any) -> EmailRow:
    usual: dict[str, Any] = {
        "email_id": f"e{number:010}",
        "thread_id": f"t{number:010}",
        "account": "work",
        "mailbox": "INBOX",
        "sender": "Ada Lovelace <ada@example.com>",
        "to": ("Alex Rivera <alex@demo.example>",),
        "subject": "Notes on the engine",
        "date": "2026-11-02T12:00:00+00:00",
        "snippet": "The engine might act upon other things besides number, were objects found. " * 2,
        "unread": True,
        "starred": False,
        "has_attachments": False,
        "labels": (),
        "size": 12345,
    }
    return EmailRow(**{**usual, **fields})


def page(*rows: EmailRow, total: int | None = None) -> EmailPage:
    return EmailPage(rows, total if total is not None else len(rows), 20, 0, has_more=False)


def text_of(shown: EmailPage) -> str:
    block = results.email_page(shown).content[0]
    assert block.type == "text"
    return block.text


def structured(shown: EmailPage) -> dict[str, Any]:
    content = results.email_page(shown).structured_content
    assert content is not None
    return content


@pytest.mark.parametrize("letter", ["x", "ü", "請", "🎉"])
def test_twenty_mails_with_endless_names_in_any_script_stay_within_the_text_budget(letter: str) -> None:
    rows = [row(n, subject=letter * 400, sender=f"{letter * 90} <a@example.com>") for n in range(20)]

    assert len(text_of(page(*rows)).encode()) < 2_500


def test_twenty_ordinary_mails_stay_within_the_budget_of_the_whole_answer() -> None:
    answer = results.email_page(page(*(row(n) for n in range(20)), total=20_000))

    assert len(answer.model_dump_json(by_alias=True, exclude_none=True).encode()) < 9_000


def test_a_hundred_mails_are_all_listed() -> None:
    shown = page(*(row(n) for n in range(100)))

    assert text_of(shown).count("Notes on the engine") == 100
    assert len(structured(shown)["results"]) == 100


def test_a_single_mail_shows_its_snippet_in_both_forms() -> None:
    assert "act upon other things" in text_of(page(row()))
    assert "act upon other things" in structured(page(row()))["results"][0]["snippet"]


def test_many_recipients_are_counted_rather_than_listed() -> None:
    shown = structured(page(row(to=tuple(f"p{n}@example.com" for n in range(50)))))

    assert shown["results"][0]["to"] == ["p0@example.com", "p1@example.com", "p2@example.com", "and 47 more"]


def test_a_name_dressed_up_as_an_address_is_replaced_by_the_real_one() -> None:
    shown = text_of(page(row(sender="boss@work.example <mallory@evil.example>")))

    assert "mallory@evil.example" in shown
    assert "boss@work.example" not in shown


def test_no_mail_is_said_in_words() -> None:
    assert text_of(page()) == "No emails found."


def test_filters_that_were_not_applied_are_said_in_both_forms() -> None:
    shown = EmailPage((row(),), None, 20, 0, has_more=True, filters_not_applied=("larger",))

    assert "Filters not applied: larger." in text_of(shown)
    assert structured(shown)["filters_not_applied"] == ["larger"]


@pytest.mark.parametrize(
    ("given", "room"), [("x" * 50, 20), ("請" * 50, 20), ("🎉" * 9, 11), ("short", 20), ("x" * 50, 5)]
)
def test_a_cut_text_fits_its_room_and_stays_valid(given: str, room: int) -> None:
    shown = text.cut(given, room)

    assert len(shown.encode()) <= room
    assert json.loads(json.dumps(shown)) == shown
    assert shown == given or shown.endswith("…") or shown == ""


def test_a_page_of_one_out_of_many_is_counted_as_one() -> None:
    assert text_of(page(row(), total=104)).startswith("Email 1 of 104.")
    assert text_of(page(row(1), row(2), total=104)).startswith("Emails 1-2 of 104.")


def test_a_draft_among_mails_is_marked_and_the_mark_explained_only_there() -> None:
    written, came = row(1, is_draft=True, unread=False), row(2)
    _, _, _, first, second, _ = text_of(page(written, came)).splitlines()

    assert " ~ Ada Lovelace | " in first
    assert " * Ada Lovelace | " in second
    assert "~ draft, not sent." in text_of(page(written, came))
    assert "draft" not in text_of(page(came))
