"""The letter line by line: what a person reads, in which order and under which names."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.gate import test_letter as letters
from tests.gate.test_letter import BARE, LATER, NOW, ORIGINAL, WHOLE

from postroom.safety.judge import Finding
from postroom.service.sending.approval.letter_file import pending_file
from postroom.service.sending.letter import preview_of, question_text

freeze = letters.freeze
NOTE = "The text and HTML versions do not have the same words. Most recipients are shown the HTML version."
FACTS = f"""\
To: Bob Roe <bob@demo.example>
Cc: carol@demo.example
Bcc: dave@demo.example
Reply-To: erin@demo.example
Subject: Figures of the year
Importance: high
Forwards:
  Quarterly figures
  from Olga <olga@origin.example>
  2027-01-11T08:15:00+01:00
Attachments of the original: salaries.csv (text/csv, 5 bytes)
Attachments:
  plan.pdf (application/pdf, 321 bytes)
  the complete original message ({len(ORIGINAL)} bytes)
Links lead to:
  text-link.example
  html-link.example
Send at: 2027-03-01T09:30:00+00:00
Copy in Sent: no
Note: {NOTE}
"""


@pytest.fixture
async def order(freeze):
    original = ("Quarterly figures", "Olga <olga@origin.example>")
    return await freeze(WHOLE, original=original, send_at=LATER, save_to_sent=False)


async def test_the_question(order):
    asked = question_text(order, (Finding("x", "Never written\nto before."),), "s123")
    assert asked == (
        f"Send this message from Alice Doe <alice@demo.example>?\nAccount: alice\n{FACTS}"
        "Warning: Never written⟨U+000A⟩to before.\n\n"
        "Text (58 characters):\n| Please find them enclosed. See https://text-link.example/x\n\n"
        "HTML, as its readers see it (68 characters):\n| Click [here](https://html-link.example/y) at once.\n\n"
        f"(s123, content {order.digest[:16]})"
    )


async def test_the_approval_file(order):
    file = pending_file(order, NOW, NOW + timedelta(hours=24))
    assert (file.type, file.status, file.action_type) == ("email_forward", "pending", "send_email")
    assert file.to == ("bob@demo.example", "carol@demo.example", "dave@demo.example")
    assert (file.subject, file.thread_id) == ("Figures of the year", "")
    assert (file.created, file.expires) == ("2027-01-15T00:00:00+00:00", "2027-01-16T00:00:00+00:00")
    assert file.content_sha256 == order.digest
    head, facts, text, reading, source, original = file.body.split("\n\n```\n")
    assert head == (
        "# Send this message?\n\nIn the vault: to approve, set `status: approved` at the top of this file and move it "
        "to `Approved`. To reject, move it to `Rejected`."
    )
    assert facts == f"Account: alice\nFrom: Alice Doe <alice@demo.example>\n{FACTS}```\n\n## Text, 58 characters"
    assert text == ("Please find them enclosed. See https://text-link.example/x\n```\n\n## HTML, as its readers see it")
    assert reading == ("Click [here](https://html-link.example/y) at once.\n```\n\n## HTML, 68 characters of source")
    assert source == f"{WHOLE.html}\n```\n\n## The forwarded message, as text"
    assert original == "words of the original\n```\n"


async def test_the_preview(order):
    preview = preview_of(order)
    assert (preview.sender, preview.to) == ("Alice Doe <alice@demo.example>", ("Bob Roe <bob@demo.example>",))
    assert (preview.cc, preview.bcc) == (("carol@demo.example",), ("dave@demo.example",))
    assert (preview.reply_to, preview.subject) == (("erin@demo.example",), "Figures of the year")
    assert (preview.body_excerpt, preview.body_ending, preview.body_chars) == (WHOLE.text, "", 58)
    assert preview.html_excerpt == "Click [here](https://html-link.example/y) at once."
    assert (preview.html_ending, preview.html_chars) == ("", 68)
    assert preview.attachments[0] == "plan.pdf (application/pdf, 321 bytes)"
    assert preview.original_subject == "Quarterly figures"
    assert preview.original_sender == "Olga <olga@origin.example>"
    assert preview.original_date == "2027-01-11T08:15:00+01:00"
    assert preview.original_attachments == ("salaries.csv (text/csv, 5 bytes)",)
    assert preview.link_hosts == ("text-link.example", "html-link.example")
    assert (preview.send_at, preview.importance) == ("2027-03-01T09:30:00+00:00", "high")
    assert (preview.copy_in_sent, preview.notes) == (False, (NOTE,))


async def test_of_a_bare_mail_nothing_is_said_that_is_not_there(freeze):
    order = await freeze(BARE)
    asked = question_text(order, (), "s123")
    assert asked == (
        "Send this message from Alice Doe <alice@demo.example>?\nAccount: alice\nTo: zoe@demo.example\nSubject: S\n\n"
        f"Text (1 characters):\n| T\n\n(s123, content {order.digest[:16]})"
    )
    preview = preview_of(order)
    assert (preview.original_subject, preview.original_sender, preview.original_date) == ("", "", "")
    assert (preview.attachments, preview.original_attachments, preview.notes) == ((), (), ())
    assert (preview.html_excerpt, preview.html_chars, preview.copy_in_sent) == ("", 0, True)


async def test_html_that_says_the_same_as_the_text_is_not_shown_twice(freeze):
    preview = preview_of(await freeze(replace(BARE, text="T", html="<p>T</p>")))
    assert (preview.html_excerpt, preview.html_ending, preview.html_chars) == ("", "", 8)


async def test_an_answer_names_the_mail_it_answers(freeze):
    reply = replace(WHOLE, forwarded=None, html="")
    asked = question_text(await freeze(reply, original=("Old question", "Zoe <zoe@origin.example>")), (), "s123")
    assert "\nIn reply to:\n  Old question\n  Zoe <zoe@origin.example>\nAttachments: plan.pdf" in asked


async def test_an_original_without_subject_and_date_and_html_without_words_are_said_to_be_so(freeze):
    strange = replace(BARE, text="", html="<p></p>", forwarded=b"From: a@b.example\r\n\r\nx")
    order = await freeze(strange)
    asked = question_text(order, (), "s123")
    assert "\nForwards:\n  (no subject)\n  from a@b.example\n  undated\n" in asked
    assert "\nHTML, as its readers see it (7 characters):\n| ⟨no text⟩\n" in asked
    preview = preview_of(order)
    assert (preview.body_excerpt, preview.body_chars) == ("⟨no text⟩", 9)


async def test_the_file_of_an_answer_names_its_thread(freeze):
    threading = replace(WHOLE.threading, thread_ref="t7")
    reply = replace(BARE, threading=threading)
    assert pending_file(await freeze(reply, original=("Old", "Zoe")), NOW, NOW).thread_id == "t7"
    assert pending_file(await freeze(reply), NOW, NOW).thread_id == ""


async def test_hidden_text_and_different_words_are_both_noted_the_difference_first(freeze):
    html = '<p>Hello</p><p style="display:none">secret</p><p style="display:none">more</p>'
    notes = preview_of(await freeze(replace(BARE, text="Bye", html=html))).notes
    assert notes == (
        NOTE,
        "The HTML version contains 2 pieces of text that recipients would not see; its source shows all of it.",
    )


async def test_of_long_bodies_the_preview_shows_both_ends_of_the_text_and_of_the_html(freeze):
    text, html = "begun " + "t" * 3000 + " ended", "<p>opened " + "h" * 3000 + " closed</p>"
    preview = preview_of(await freeze(replace(BARE, text=text, html=html)))
    assert preview.body_excerpt.startswith("begun ttt")
    assert preview.body_ending.endswith("ttt ended")
    assert preview.html_excerpt.startswith("opened hhh")
    assert preview.html_ending.endswith("hhh closed")
    assert (preview.body_chars, preview.html_chars) == (len(text), len(html))


async def test_quoted_history_is_read_as_part_of_the_mail(freeze):
    quoting = replace(
        BARE,
        text="Yes.\n\nOn Monday Bob wrote:\n> pay 900",
        html="<p>Yes.</p><p>On Monday Bob wrote:</p><blockquote>pay 900</blockquote>",
        forwarded=b"From: a@b.example\r\n\r\nSee below.\r\n\r\nOn Monday Bob wrote:\r\n> pay 800\r\n",
    )
    order = await freeze(quoting)
    assert preview_of(order).notes == ()
    assert "pay 900" in question_text(replace(order, draft=replace(order.draft, text="")), (), "s123")
    assert "pay 800" in pending_file(order, NOW, NOW).body
    other = replace(quoting, html=quoting.html.replace("900", "901"))
    assert preview_of(await freeze(other)).notes == (NOTE,)


async def test_all_that_is_odd_about_the_html_is_noted_the_difference_first(freeze):
    html = "<style>p:after{content:' and pay 900'}</style><p>Hello</p><p style='display:none'>secret</p>"
    notes = preview_of(await freeze(replace(BARE, text="Bye", html=html))).notes
    assert [note.split()[4] for note in notes] == [NOTE.split()[4], "1", "styles"]
    assert preview_of(await freeze(replace(BARE, text="HELLO", html="<p>Hello</p>"))).notes == ()


async def test_a_file_tells_its_times_to_the_second_and_only_of_an_original_that_is_there(freeze):
    created = NOW.replace(microsecond=123_456)
    file = pending_file(await freeze(BARE), created, created + timedelta(hours=24))
    assert (file.created, file.expires) == ("2027-01-15T00:00:00+00:00", "2027-01-16T00:00:00+00:00")
    assert "forwarded mail" not in file.body
    assert "HTML" not in file.body


async def test_what_a_message_quotes_is_shown_with_it(freeze):
    said = "On Mon, 4 Jan 2027 at 10:00, Bob <bob@demo.example> wrote:"
    shown = said.replace("<", "&lt;").replace(">", "&gt;")
    html = f'<p>Yes.</p><div class="gmail_quote"><div>{shown}</div><blockquote>until noon?</blockquote></div>'
    original = f"From: a@b.example\r\n\r\nNo.\r\n\r\n{said}\r\n> until dusk?\r\n".encode()
    order = await freeze(replace(BARE, text=f"Yes.\n\n{said}\n> until noon?", html=html, forwarded=original))
    preview = preview_of(order)
    assert preview.notes == ()
    assert "until noon?" in question_text(order, (), "s123").rpartition("HTML, as its readers see it")[2]
    assert "until dusk?" in pending_file(order, NOW, NOW).body
