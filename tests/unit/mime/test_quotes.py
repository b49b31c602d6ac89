"""Quoted history is folded; what was written between quotes, and what was sent on, stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from turbohtml import parse

from postroom.mime.quotes.earlier import Earlier
from postroom.mime.quotes.folding import ThreadContext, context_of, fold_text
from postroom.mime.quotes.html import flag_quotes
from postroom.mime.read.parse import Parsed
from postroom.mime.render import render, search_text, snippet
from postroom.model.message import Body

ATTRIBUTIONS = [
    "On Mon, Jan 1, 2024 at 10:00 AM Bob Doe <bob@example.com> wrote:",
    "On Mon, Jan 1, 2024 at 10:00 AM Bob Doe\n<bob@example.com> wrote:",
    "Am 01.01.2024 um 10:00 schrieb Bob Doe <bob@example.com>:",
    "Am Montag, 1. Januar 2024 schrieb Bob:",
    "Le lun. 1 janv. 2024 à 10:00, Bob <bob@example.com> a écrit :",
    "El lun, 1 ene 2024 a las 10:00, Bob (<bob@example.com>) escribió:",
    "Il giorno lun 1 gen 2024 Bob <bob@example.com> ha scritto:",
    "Op ma 1 jan 2024 schreef Bob <bob@example.com>:",
    "Em seg., 1 de jan. de 2024, Bob <bob@example.com> escreveu:",
    "W dniu 1.01.2024 o 10:00, Bob pisze napisał(a):",
    "2024年1月1日(月) 10:00 Bob <bob@example.com>:",
    "在 2024年1月1日，Bob <bob@example.com> 写道：",
    "1 янв. 2024 г., Bob <bob@example.com> написал(а):",
    "Bob Doe <bob@example.com> wrote:",
]


@pytest.mark.parametrize("attribution", ATTRIBUTIONS)
def test_marked_history_goes_with_its_attribution(attribution: str) -> None:
    text = f"Yes, gladly.\n\n{attribution}\n\n> Shall we?\n> Bob\n"
    folded = fold_text(text)
    assert folded.text == "Yes, gladly."
    assert folded.folded >= len("> Shall we?> Bob")


OLD = "old words\nmore old words of the mail that was answered"
REPLY_BLOCKS = [
    "-----Original Message-----\nFrom: Bob\nSent: Monday\nTo: Al\nSubject: Plan",
    "----- Ursprüngliche Nachricht -----\nVon: Bob\nGesendet: Montag\nAn: Al\nCc: Cy\nBetreff: Plan",
    "________________________________\nFrom: Bob <b@x>\nSent: Monday\nTo: Al\nSubject: Plan",
    "*From:* Bob\n*Sent:* Monday\n*To:* Al\n*Subject:* Plan",
    "Von: Bob\nGesendet: Montag\nAn: Al\nBetreff: Plan",
    "De : Bob\nEnvoyé : lundi\nÀ : Al\nObjet : Plan",
    "差出人: Bob\n送信日時: 2024\n宛先: Al\n件名: Plan",
    "From: Bob <b@x>\nSent: Monday\nTo: Al <al@x.example>; Cy <cy@x.example>;\n Di <di@x.example>\nSubject: Plan",
]
INTRODUCTIONS = [
    *REPLY_BLOCKS,
    "-----Original Message-----\nFrom: Bob\nSubject: Plan",
    "-------- Message d'origine --------",
    "From: Bob\nDate: Monday\nSubject: Plan",
    "On Mon, Jan 1, 2024 at 10:00 AM Bob <bob@example.com> wrote:",
]


@pytest.mark.parametrize("head", INTRODUCTIONS)
def test_unmarked_history_goes_where_it_is_a_copy(head: str) -> None:
    text = f"Fine by me.\n\n{head}\n\n{OLD}"
    folded = fold_text(text, ThreadContext(is_reply=True, subject="Re: Plan", earlier=Earlier([OLD])))
    assert folded.text == "Fine by me."
    assert folded.folded > len(OLD) - 1
    assert fold_text(text, ThreadContext(is_reply=True, earlier=Earlier(["other words altogether"]))).text == text


@pytest.mark.parametrize("head", INTRODUCTIONS)
def test_without_a_look_only_a_programs_own_block_in_an_answer_goes(head: str) -> None:
    text = f"Fine by me.\n\n{head}\n\n{OLD}"
    assert (fold_text(text, ThreadContext(is_reply=True)).text != text) == (head in REPLY_BLOCKS)
    assert fold_text(text, ThreadContext(is_reply=False)).text == text
    assert fold_text(text, ThreadContext(is_reply=True, is_forward=True)).text == text


def test_answers_between_quotes_stay_with_what_they_answer() -> None:
    asked = "Tea or coffee for you and yours?\nOf which sort, and how much of it?\nSugar?\nBye for now, and thanks"
    one, two, three, four = (f"> {line}" for line in asked.split("\n"))
    text = f"On 1 Jan 2024 Bob wrote:\n{one}\n{two}\n{three}\n\nNo thanks.\n{four}"
    folded = fold_text(text, ThreadContext(is_reply=True, earlier=Earlier([asked])))
    assert folded.text == f"> […]\n{two}\n{three}\n\nNo thanks."
    assert (
        fold_text(text, ThreadContext(is_reply=True)).text
        == f"On 1 Jan 2024 Bob wrote:\n{one}\n{two}\n{three}\n\nNo thanks."
    )


@pytest.mark.parametrize("earlier", [None, "only\na quote\nold all there is"])
@pytest.mark.parametrize(
    "text",
    [
        "> only\n> a quote",
        "-----Original Message-----\nFrom: Bob\n\nold",
        "On Mon, Jan 1, 2024 at 10:00 Bob <b@example.com> wrote:\n> all there is",
        "From: Bob\nSent: Monday\nTo: Al\nSubject: x\n\nold",
        "",
    ],
)
def test_a_mail_of_history_alone_is_shown_whole(text: str, earlier: str | None) -> None:
    context = ThreadContext(is_reply=True, earlier=None if earlier is None else Earlier([earlier]))
    folded = fold_text(text, context)
    assert (folded.text, folded.folded) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        "As my grandmother wrote:\n\nRoses are red",
        "Your trip\nFrom: London\nTo: Paris\nDate: 1 May\n\nHave fun",
        "FYI\n\n---------- Forwarded message ---------\nFrom: Bob <b@x>\nDate: Mon\nSubject: Plan\nTo: Al\n\nThe plan",
        "See below\n\nBegin forwarded message:\n\nFrom: Bob\nSubject: x\nDate: y\n\nThe plan",
        "a > b and c < d",
        "-- \nBob",
    ],
)
def test_what_is_no_history_stays(text: str) -> None:
    assert fold_text(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 200_000 + "x",
        "On " * 100_000,
        "On 1 wrote:\n" * 50_000 + ">",
        ">" * 500_000,
        "> x\ny\n" * 60_000,
        "From: a\n" * 60_000,
        "_" * 500_000,
        ("On 1 " + "x" * 480 + " wrote y:\n") * 2_000,
        "-" * 300_000,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_texts_made_to_exhaust_their_reader_are_folded(text: str) -> None:
    assert fold_text(f"hello\n{text}").text.startswith("hello")
    context = ThreadContext(is_reply=True, subject="x", earlier=Earlier([text, "hello"], ["x"]))
    assert fold_text(f"hello\n{text}", context).text.startswith("hello")


ANSWER = ThreadContext(is_reply=True)


def visible(html: str, context: ThreadContext = ANSWER) -> str:
    return render(Body(html=html), fmt="markdown", keep_quoted=False, context=context).text


@pytest.mark.parametrize(
    "history",
    [
        '<div class="gmail_quote"><div class="gmail_attr">On Mon Bob wrote:</div><blockquote>OLD</blockquote></div>',
        '<div class="gmail_quote">On 1 Jan, Bob &lt;<a>b@x</a>&gt; wrote:<br><blockquote>OLD</blockquote></div>',
        '<blockquote type="cite"><div>On 1 Jan 2024, at 10:00, Bob wrote:</div><div>OLD</div></blockquote>',
        '<div class="moz-cite-prefix">On 1/1/24 Bob wrote:</div><blockquote type="CITE" cite="mid:1">OLD</blockquote>',
        '<div class="yahoo_quoted"><div>On Monday Bob wrote: OLD</div></div>',
        '<div class="protonmail_quote">On Monday Bob wrote:<blockquote class="protonmail_quote">OLD</blockquote></div>',
        '<div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>Od kogo:</b> Bob<br></div><div>OLD</div>',
        '<div><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p><b>From:</b> Bob</p></div></div><p>OLD</p>',
        "<p>-----Original Message-----<br>From: Bob<br>Sent: Monday<br>To: Al<br>Subject: x</p><p>OLD</p>",
        "<p><b>From:</b> Bob<br><b>Sent:</b> Monday<br><b>To:</b> Al<br><b>Subject:</b> x</p><p>OLD</p>",
    ],
)
def test_history_in_html_is_folded(history: str) -> None:
    html = f"<html><body><div><p>My answer</p>{history}</div></body></html>"
    rendered = render(Body(html=html), fmt="markdown", keep_quoted=False, context=ANSWER)
    assert rendered.text == "My answer"
    assert rendered.quoted_folded > 0
    assert "OLD" in render(Body(html=html), fmt="markdown", keep_quoted=True).text


def test_answers_between_html_quotes_stay() -> None:
    html = (
        '<div class="gmail_quote"><div class="gmail_attr">On Mon, 1 Jan Bob wrote:</div><blockquote>OLD 1</blockquote>'
        "<div>Yes please.</div><blockquote>OLD 2</blockquote><div>No thanks.</div><blockquote>OLD 3</blockquote></div>"
    )
    assert visible(html) == "On Mon, 1 Jan Bob wrote:\n\n> OLD 1\n\nYes please.\n\n> OLD 2\n\nNo thanks."


def test_the_flags_that_find_quotes_are_never_seen() -> None:
    html = '<table><tr><td>a</td><td>b <blockquote type="cite">c</blockquote> d</td></tr></table><ul><li><blockquote'
    html += ' type="cite">e</blockquote></li></ul><pre><blockquote type="cite">f</blockquote></pre>'
    flag = flag_text()
    for fmt in ("markdown", "text", "html"):
        rendered = render(Body(html=html), fmt=fmt, keep_quoted=False)  # type: ignore[arg-type]
        assert flag not in rendered.text + rendered.whole
    assert flag not in search_text(Body(html=html)) + snippet(Body(html=html))


def flag_text() -> str:
    document = parse('<p>x</p><blockquote type="cite">y</blockquote>')
    flag_quotes(document)
    return document.text.strip()[1:33]


def test_a_forwarded_mail_in_html_stays() -> None:
    html = (
        '<div>FYI</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>'
        "From: Bob</div><div>The plan</div></div>"
    )
    assert "The plan" in visible(html)
    assert "Forwarded message" in visible(html)


def test_an_html_mail_of_history_alone_is_shown_whole() -> None:
    body = Body(html='<blockquote type="cite">all there is</blockquote>')
    rendered = render(body, fmt="markdown", keep_quoted=False, context=ANSWER)
    assert "all there is" in rendered.text
    assert rendered.quoted_folded == 0


def test_a_quotation_that_is_design_stays() -> None:
    assert "Wise words" in visible("<p>Read this:</p><blockquote>Wise words</blockquote>")


def test_nested_quotes_by_the_thousand_are_folded() -> None:
    text = visible("<p>top</p>" + '<blockquote type="cite">x' * 20_000)
    assert text.startswith("top")
    assert "x" not in text


def test_a_prefix_that_forwards_in_one_language_and_answers_in_another_loses_nothing() -> None:
    text = "Til orientering.\n\n> Which door do you mean?"
    mail = Parsed(subject="VS: Door", in_reply_to="<1@x>")
    context = context_of(mail, Earlier(["Which door do you mean?"]))
    assert fold_text(text, context).text == text
    assert fold_text(text, replace(context, is_forward=False)).text == "Til orientering."


@pytest.mark.parametrize("sign", ["id=divRplyFwdMsg", "id=isReplyContent", "class=ms-outlook-mobile-reference-message"])
def test_a_page_that_is_marked_as_a_quote_as_a_whole_is_read_as_any_other(sign: str) -> None:
    body = Body(html=f"<html {sign}><body><p>Hello.</p><p style='display:none'>Hidden.</p></body></html>")
    assert [render(body, fmt=fmt, keep_quoted=False).text for fmt in ("markdown", "words")] == ["Hello.", "Hello."]
    assert render(body, fmt="html", keep_quoted=False).text == "<p>Hello.</p>"
    assert search_text(body) == snippet(body) == "Hello."
