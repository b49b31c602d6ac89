"""Quoted history is folded; what was written between quotes, and what was sent on, stays."""

from __future__ import annotations

import pytest

from postroom.mime.quotes import Folded, fold_text
from postroom.mime.render import render
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


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----\nFrom: Bob\nSubject: x",
        "----- Ursprüngliche Nachricht -----\nVon: Bob",
        "-------- Message d'origine --------",
        "________________________________\nFrom: Bob <b@x>\nSent: Monday\nTo: Al\nSubject: Plan",
        "*From:* Bob\n*Sent:* Monday\n*To:* Al\n*Subject:* Plan",
        "Von: Bob\nGesendet: Montag\nAn: Al\nBetreff: Plan",
        "De : Bob\nEnvoyé : lundi\nÀ : Al\nObjet : Plan",
        "差出人: Bob\n送信日時: 2024\n宛先: Al\n件名: Plan",
        "On Mon, Jan 1, 2024 at 10:00 AM Bob <bob@example.com> wrote:",
    ],
)
def test_unmarked_history_goes_to_the_end(head: str) -> None:
    folded = fold_text(f"Fine by me.\n\n{head}\n\nold words\nmore old words")
    assert folded.text == "Fine by me."
    assert folded.folded > 0


def test_answers_between_quotes_stay() -> None:
    text = "On 1 Jan 2024 Bob wrote:\n> Tea?\n\nYes please.\n\n> Sugar?\n\nNo thanks.\n> Bye"
    folded = fold_text(text).text
    assert "Yes please." in folded
    assert "No thanks." in folded
    assert "Sugar?" not in folded
    assert folded.count("> […]") == 2


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
def test_a_mail_of_history_alone_is_shown_whole(text: str) -> None:
    assert fold_text(text) == Folded(text, 0)


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


def visible(html: str) -> str:
    return render(Body(html=html), fmt="markdown", keep_quoted=False).text


@pytest.mark.parametrize(
    "history",
    [
        '<div class="gmail_quote"><div class="gmail_attr">On Mon Bob wrote:</div><blockquote>OLD</blockquote></div>',
        '<div class="gmail_quote">On 1 Jan, Bob &lt;<a>b@x</a>&gt; wrote:<br><blockquote>OLD</blockquote></div>',
        '<blockquote type="cite"><div>On 1 Jan 2024, at 10:00, Bob wrote:</div><div>OLD</div></blockquote>',
        '<div class="moz-cite-prefix">On 1/1/24 Bob wrote:</div><blockquote type="CITE" cite="mid:1">OLD</blockquote>',
        '<div class="yahoo_quoted"><div>On Monday Bob wrote: OLD</div></div>',
        '<div class="protonmail_quote">On Monday Bob wrote:<blockquote class="protonmail_quote">OLD</blockquote></div>',
        '<div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Bob<br></div><div>OLD</div>',
        '<div><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p><b>From:</b> Bob</p></div></div><p>OLD</p>',
        "<p>-----Original Message-----<br>From: Bob</p><p>OLD</p>",
        "<p><b>From:</b> Bob<br><b>Sent:</b> Monday<br><b>To:</b> Al<br><b>Subject:</b> x</p><p>OLD</p>",
    ],
)
def test_history_in_html_is_folded(history: str) -> None:
    html = f"<html><body><div><p>My answer</p>{history}</div></body></html>"
    rendered = render(Body(html=html), fmt="markdown", keep_quoted=False)
    assert rendered.text == "My answer"
    assert rendered.quoted_folded > 0
    assert "OLD" in render(Body(html=html), fmt="markdown", keep_quoted=True).text


def test_answers_between_html_quotes_stay() -> None:
    html = (
        '<div class="gmail_quote"><div class="gmail_attr">On Mon Bob wrote:</div><blockquote>OLD 1</blockquote>'
        "<div>Yes please.</div><blockquote>OLD 2</blockquote><div>No thanks.</div></div>"
    )
    assert visible(html) == "Yes please.\n\nNo thanks."


def test_a_forwarded_mail_in_html_stays() -> None:
    html = (
        '<div>FYI</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>'
        "From: Bob</div><div>The plan</div></div>"
    )
    assert "The plan" in visible(html)
    assert "Forwarded message" in visible(html)


def test_an_html_mail_of_history_alone_is_shown_whole() -> None:
    rendered = render(Body(html='<blockquote type="cite">all there is</blockquote>'), fmt="markdown", keep_quoted=False)
    assert "all there is" in rendered.text
    assert rendered.quoted_folded == 0


def test_a_quotation_that_is_design_stays() -> None:
    assert "Wise words" in visible("<p>Read this:</p><blockquote>Wise words</blockquote>")


def test_nested_quotes_by_the_thousand_are_folded() -> None:
    text = visible("<p>top</p>" + '<blockquote type="cite">x' * 20_000)
    assert text.startswith("top")
    assert "x" not in text
