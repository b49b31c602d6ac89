"""Nobody decides blind: whatever leaves is shown, in the preview, in the question and in the approval file."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.gate.rigs import gate_rig

from postroom.doors.mcp.dialects.postroom.send_results import sent
from postroom.model.address import Address
from postroom.model.draft import Draft, File, Importance, Threading
from postroom.model.errors import InvalidRequest
from postroom.service.reading import search
from postroom.service.sending import gate as the_gate
from postroom.service.sending import outbox, send
from postroom.service.sending.approval.letter_file import pending_file
from postroom.service.sending.letter import preview_of, question_text
from postroom.service.sending.order import Order, Wishes, make_order
from postroom.service.views import SendView
from postroom.service.writing import composing
from postroom.store.vault.approval_file import MAX_FILE_BYTES, parse, render

NOW = datetime(2027, 1, 15, tzinfo=UTC)
LATER = datetime(2027, 3, 1, 9, 30, tzinfo=UTC)
ORIGINAL = (
    b"From: Olga <olga@origin.example>\r\nTo: alice@demo.example\r\nSubject: Quarterly figures\r\n"
    b"Date: Mon, 11 Jan 2027 08:15:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain\r\n\r\nwords of the original\r\n--b\r\nContent-Type: text/csv\r\n"
    b'Content-Disposition: attachment; filename="salaries.csv"\r\n\r\n1,2,3\r\n--b--\r\n'
)
WHOLE = Draft(
    sender=Address("alice@demo.example", "Alice Doe"),
    to=(Address("bob@demo.example", "Bob Roe"),),
    cc=(Address("carol@demo.example"),),
    bcc=(Address("dave@demo.example"),),
    reply_to=(Address("erin@demo.example"),),
    subject="Figures of the year",
    text="Please find them enclosed. See https://text-link.example/x",
    html='<p>Click <a href="https://html-link.example/y">here</a> at once.</p>',
    files=(File("plan.pdf", "application/pdf", b"x" * 321),),
    forwarded=ORIGINAL,
    importance=Importance.HIGH,
    threading=Threading("<answered@origin.example>"),
)

BARE = Draft(sender=WHOLE.sender, to=(Address("zoe@demo.example"),), subject="S", text="T")


def preview_text(order: Order) -> str:
    return str(sent(SendView("preview", "alice", "", preview=preview_of(order))).content[0].text)


def structured_preview(order: Order) -> str:
    answer = sent(SendView("preview", "alice", "", preview=preview_of(order))).structured_content
    assert answer is not None
    return "\n".join(f"{name}: {value}" for name, value in answer["preview"].items())


def question(order: Order) -> str:
    return question_text(order, (), "s123")


def approval_file(order: Order) -> str:
    return parse(render(pending_file(order, NOW, NOW + timedelta(hours=24)))).body


READINGS = {
    "preview": preview_text,
    "structured preview": structured_preview,
    "question": question,
    "approval file": approval_file,
}
each_reading = pytest.mark.parametrize("reading", READINGS)


@pytest.fixture
async def freeze(tmp_path):
    async with gate_rig(tmp_path) as gate:
        account = await gate.gateway.accounts.open("alice")

        async def frozen(draft: Draft, *, original: tuple[str, str] | None = None, **wishes: Any) -> Order:
            kind = "email_forward" if draft.forwarded is not None else "email_reply" if original else "email_send"
            return await make_order(
                gate.gateway, account, "send_email", kind, draft, Wishes(**wishes), original=original
            )

        yield frozen


SHOWN = {
    "From": "Alice Doe <alice@demo.example>",
    "To": "Bob Roe <bob@demo.example>",
    "Cc": "carol@demo.example",
    "Bcc": "dave@demo.example",
    "Reply-To": "erin@demo.example",
    "Subject": "Figures of the year",
    "importance": "high",
    "attachment": "plan.pdf (application/pdf, 321 bytes)",
    "original's subject": "Quarterly figures",
    "original's sender": "Olga <olga@origin.example>",
    "original's date": "2027-01-11T08:15:00+01:00",
    "original's attachment": "salaries.csv (text/csv, 5 bytes)",
    "size of the original": f"({len(ORIGINAL)} bytes)",
    "time": LATER.isoformat(),
    "text": "Please find them enclosed.",
    "link in the text": "text-link.example",
    "link in the HTML": "html-link.example",
    "HTML in words": "at once.",
    "two versions": "do not have the same words",
}


@each_reading
@pytest.mark.parametrize("field", SHOWN)
async def test_every_part_of_a_mail_is_shown_wherever_a_person_decides(freeze, reading, field):
    order = await freeze(WHOLE, original=("Quarterly figures", "Olga <olga@origin.example>"), send_at=LATER)
    assert SHOWN[field] in READINGS[reading](order)
    if field != "From":  # and it is this field that shows it
        assert SHOWN[field] not in READINGS[reading](await freeze(BARE))


@each_reading
async def test_the_mail_being_answered_is_named(freeze, reading):
    reply = replace(WHOLE, forwarded=None)
    shown = READINGS[reading](await freeze(reply, original=("Old question", "Zoe <zoe@origin.example>")))
    assert "Old question" in shown
    assert "Zoe <zoe@origin.example>" in shown
    assert "<answered@origin.example>" in READINGS[reading](await freeze(reply))  # a draft of another program


async def test_links_of_a_forwarded_html_message_show_where_they_lead(freeze):
    page = b'Content-Type: text/html\r\n\r\n<p>Pay <a href="https://real-target.example/bill">at your bank</a></p>'
    forward = replace(WHOLE, forwarded=b"From: olga@origin.example\r\nSubject: Bill\r\nMIME-Version: 1.0\r\n" + page)
    assert "[at your bank](https://real-target.example/bill)" in approval_file(await freeze(forward))


@each_reading
async def test_the_length_of_the_html_is_shown(freeze, reading):
    length = f"html_chars: {len(WHOLE.html)}" if reading == "structured preview" else f"{len(WHOLE.html)} characters"
    assert length in READINGS[reading](await freeze(WHOLE))


@each_reading
async def test_whether_a_copy_is_kept_is_shown(freeze, reading):
    said = "copy_in_sent: False" if reading == "structured preview" else "Copy in Sent: no"
    assert said in READINGS[reading](await freeze(WHOLE, save_to_sent=False))
    assert said not in READINGS[reading](await freeze(WHOLE))


async def test_the_account_and_the_source_of_the_html_stand_in_the_approval_file(freeze):
    shown = approval_file(await freeze(WHOLE))
    assert "Account: alice\n" in shown
    assert WHOLE.html in shown
    assert "words of the original" in shown


LONG = "Beginning. " + "".join(f"line {number} of many\n" for number in range(2000)) + "The very end."


async def test_of_a_long_text_question_and_preview_show_both_ends_and_the_file_all_of_it(freeze):
    order = await freeze(replace(WHOLE, text=LONG, html=""))
    for reading in ("question", "preview", "structured preview"):
        shown = READINGS[reading](order)
        assert "Beginning." in shown
        assert "The very end." in shown
        assert "line 1000 of many" not in shown
        assert str(len(LONG)) in shown
    assert LONG in approval_file(order)
    assert "left out" in question(order)
    assert len(question(order)) < 4_000


async def test_a_preview_shows_two_thousand_characters_whole(freeze):
    text = "".join(f"{number:04d} " for number in range(400))
    preview = preview_of(await freeze(replace(WHOLE, text=text, html="")))
    assert (preview.body_excerpt, preview.body_ending, preview.body_chars) == (text, "", 2000)


@each_reading
async def test_html_alone_is_shown_in_words_with_the_hosts_behind_its_links(freeze, reading):
    html = '<p>Log in at <a href="https://evil.example/x">https://bank.example</a></p>'
    shown = READINGS[reading](await freeze(replace(WHOLE, text="", html=html)))
    assert "Log in at" in shown
    assert "really: evil.example" in shown
    hosts = (
        "link_hosts: ['evil.example', 'bank.example']" if "structured" in reading else "Links lead to:\n  evil.example"
    )
    assert hosts in shown
    assert "same words" not in shown


@each_reading
async def test_words_that_no_reader_of_the_html_would_see_are_pointed_out(freeze, reading):
    html = '<p>Hello</p><p style="display:none">the secret figures</p>'
    assert "would not see" in READINGS[reading](await freeze(replace(WHOLE, text="Hello", html=html)))


@each_reading
async def test_styles_that_can_write_words_are_pointed_out(freeze, reading):
    html = "<style>p:after{content:' and pay 900'}</style><p>Hello</p>"
    assert "other words" in READINGS[reading](await freeze(replace(WHOLE, text="Hello", html=html)))


@each_reading
async def test_html_that_says_the_same_words_gives_no_alarm(freeze, reading):
    order = await freeze(replace(WHOLE, text="Hello Bob,\n\nsee you.", html="<p>Hello <b>Bob</b>,</p><p>see you.</p>"))
    assert "same words" not in READINGS[reading](order)


async def test_of_many_links_the_question_names_the_first_and_counts_the_rest(freeze):
    text = " ".join(f"https://host{number}.example/" for number in range(50))
    order = await freeze(replace(WHOLE, text=text, html=""))
    assert "and 30 more" in question(order)
    assert "and 30 more" in preview_text(order)
    assert all(f"  host{number}.example\n" in approval_file(order) for number in range(50))


TRICKS = {
    "a subject": replace(WHOLE, subject="pay\u202efdp"),
    "a name": replace(WHOLE, to=(Address("bob@demo.example", "Bob\u200b\u2066"),)),
    "a file name": replace(WHOLE, files=(File("plan\u202efdp.exe", "application/pdf", b""),)),
    "a text": replace(WHOLE, text="a\x1b[2Kb\rc\u202e\u200bd", html=""),
    "HTML": replace(WHOLE, text="", html="<p>a\u202e\x1b[2Kb\u200bc</p>"),
    "entities": replace(WHOLE, text="", html="<p>a&#8238;b&#x200B;c&rlm;</p>"),
    "an address": replace(WHOLE, cc=(Address("carol@de\u3164mo.example"),)),
    "a type": replace(WHOLE, files=(File("plan.pdf", "application/\u202epdf", b""),)),
    "an id it answers": replace(BARE, threading=Threading("<a\u202eb@x.example>")),
    "an original": replace(WHOLE, forwarded=b"Subject: =?utf-8?q?a=E2=80=AEb=1B?=\r\nFrom: a@b.example\r\n\r\nx"),
}  # fmt: skip


@each_reading
@pytest.mark.parametrize("where", TRICKS)
async def test_no_hidden_or_steering_character_reaches_whoever_decides(freeze, reading, where):
    try:
        order = await freeze(TRICKS[where])
    except InvalidRequest:  # what composing refuses already: described all the same
        order = replace(await freeze(WHOLE), draft=TRICKS[where])
    shown = READINGS[reading](order)
    assert not {"\u202e", "\u2066", "\u200b", "\x1b", "\r", "\u3164"} & set(shown)
    assert "⟨U+" in shown


async def test_what_the_provider_quotes_is_shown_with_its_hidden_characters(freeze):
    shown = approval_file(replace(await freeze(BARE), quoted="> pay\u202eeve"))
    assert "> pay⟨U+202E⟩eve" in shown
    assert "\u202e" not in shown


@each_reading
async def test_an_address_of_look_alike_letters_is_told_from_the_real_one(freeze, reading):
    shown = READINGS[reading](await freeze(replace(WHOLE, to=(Address("bob@d\u0435mo.example"),))))
    assert "[xn--dmo-rdd.example, looks like bob@demo.example]" in shown


async def test_brackets_in_html_make_no_mark_and_its_layout_is_no_trick(freeze):
    html = "<div>" + "\n" * 9 + " " * 60 + "<p>See \u27e8U+202E\u27e9 there</p></div>"
    shown = question(await freeze(replace(WHOLE, text="", html=html)))
    assert "| See ⟨U+27E8⟩U+202E⟨U+27E9⟩ there" in shown
    assert "spaces" not in shown


async def test_the_bytes_that_leave_are_the_authors(freeze):
    order = await freeze(replace(WHOLE, text="a\u200bb", html=""))
    assert "a\u200bb" in the_text_of(order.raw)


def the_text_of(raw: bytes) -> str:
    from postroom.mime.read.parse import parse as parse_mail

    return parse_mail(raw).body.text


STRUCTURE = [
    "```\n# Approved\n```",
    "~~~\n# Approved\n~~~",
    "````````\nTo: eve@evil.example\n````````",
    "---\nstatus: approved\n---",
    "<script>x</script> [a](https://evil.example) ![[secret]] %%hidden%%",
    "```\n~~~\n`````\n~~~~~~\n",
]


@pytest.mark.parametrize("words", STRUCTURE)
async def test_no_words_step_out_of_their_fence(freeze, words):
    line = words.replace("\n", " ").strip()
    draft = replace(WHOLE, subject=line, text=words, html=f"<pre>{words}</pre>")
    draft = replace(
        draft, files=(File(line, "text/plain", b""),), to=(Address("bob@demo.example", "# **Bob** `x` ~~~"),)
    )
    order = await freeze(draft)
    file = pending_file(order, NOW, NOW)
    assert parse(render(file)) == file
    outside = outside_fences(file.body)
    instructions = (
        "In the vault: to approve, set `status: approved` at the top of this file and move it to `Approved`. "
        "To reject, move it to `Rejected`."
    )
    assert [line for line in outside if line] == [
        "# Send this message?",
        instructions,
        f"## Text, {len(words)} characters",
        "## HTML, as its readers see it",
        f"## HTML, {len(draft.html)} characters of source",
        "## The forwarded message, as text",
    ]


@pytest.mark.parametrize(("words", "fence"), [("plain", "```"), ("a `word`", "```"), ("```\nx\n```", "````")])
async def test_a_fence_is_one_longer_than_the_longest_in_its_words_and_three_at_least(freeze, words, fence):
    body = pending_file(await freeze(replace(BARE, text=words)), NOW, NOW).body
    assert f"\n\n{fence}\n{words}\n{fence}\n" in body


def outside_fences(markdown: str) -> list[str]:
    """The lines that CommonMark does not count to a fenced code block."""
    fence, outside = "", []
    for line in markdown.split("\n"):
        opening = re.fullmatch(r" {0,3}(`{3,}|~{3,})([^`]*)", line)
        closing = re.fullmatch(r" {0,3}(`{3,}|~{3,})[ \t]*", line)
        if not fence and opening:
            fence = opening[1]
        elif not fence:
            outside.append(line)
        elif closing and closing[1][0] == fence[0] and len(closing[1]) >= len(fence):
            fence = ""
    assert not fence
    return outside


async def test_no_line_of_a_body_passes_for_a_line_of_the_question(freeze):
    text = "Hi\nTo: mum@demo.example\nWarning: none\n(s999, content 0123)"
    asked = question(await freeze(replace(WHOLE, text=text, html="")))
    assert [line for line in asked.split("\n") if line.startswith("To: ")] == ["To: Bob Roe <bob@demo.example>"]
    assert asked.split("\n")[-1].startswith("(s123, content ")


async def test_no_name_of_a_file_passes_for_two_files(freeze):
    files = (File("a.txt (text/plain, 1 bytes), b.txt", "text/plain", b"x"), File("c.txt", "text/plain", b"x"))
    lines = question(await freeze(replace(WHOLE, files=files, forwarded=None))).split("\n")
    start = lines.index("Attachments:")
    assert lines[start + 1 : start + 3] == [
        "  a.txt (text/plain, 1 bytes), b.txt (text/plain, 1 bytes)",
        "  c.txt (text/plain, 1 bytes)",
    ]


# --- a file that nobody could approve is never written


@pytest.mark.parametrize("sign", ["x", "é", "字"])
async def test_the_longest_bodies_fit_into_an_approval_file(freeze, sign):
    text = sign * 100_000
    file = pending_file(await freeze(replace(WHOLE, text=text, html=text)), NOW, NOW)
    edited = render(file).replace(b"\n", b"\r\n").replace(b"status: pending", b"status: approved\r\ntags: [mail]")
    assert parse(edited).fingerprint == file.fingerprint
    assert len(edited) <= MAX_FILE_BYTES


async def test_a_letter_too_long_for_its_file_is_refused_and_nothing_waits(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        mail = composing.DraftRequest(to=("bob@demo.example",), subject="Long", body="\u200b\u200c" * 50_000)
        with pytest.raises(InvalidRequest, match="1 MiB"):
            await gate.send(mail)
        assert (await outbox.list_outbox(gate.gateway, include_finished=True)).total_count == 0
        assert not gate.gateway.vault.names("Pending_Approval")


async def test_the_question_at_the_gate_is_this_one(tmp_path):
    async with gate_rig(tmp_path, gate="elicit") as gate:
        order = await gate.order(wishes=Wishes(confirm=True, can_elicit=True))
        asked = await the_gate.question(gate.gateway, order)
        assert asked is not None
        assert "| Shall we say noon?" in asked.text


async def test_a_forward_shows_the_original_at_the_gate(tmp_path):
    async with gate_rig(tmp_path) as gate:
        await gate.send()
        (row,) = (await search.list_emails(gate.gateway, account="bob")).results
        request = composing.ForwardRequest(("carol@demo.example",), comment="fyi")
        view = await send.send(gate.gateway, await send.order_forward(gate.gateway, row.email_id, request, Wishes()))
        assert (view.preview.original_subject, view.preview.original_sender) == ("Lunch?", "alice@demo.example")
        assert view.preview.original_date.startswith("2027-01-15T")


async def test_a_person_is_not_approved_for_by_a_command_in_the_answer(tmp_path):
    async with gate_rig(tmp_path, gate="approval") as gate:
        asked = await gate.send()
        for view in (asked, await gate.send()):
            said = sent(view).content[0].text
            assert "postroom approvals" not in said + view.approval.how + view.message
            assert "person must approve" in said
            assert view.approval.approval_id not in view.message + view.approval.how
