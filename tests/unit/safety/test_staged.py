"""What a provider may make of a mail that it stores, and what it may not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from postroom.mime.write.compose import compose
from postroom.model.address import Address
from postroom.model.draft import Draft, File, Importance, Threading
from postroom.model.errors import InternalError
from postroom.model.outcome import Staged, SubmitRequest, WireEnvelope
from postroom.safety.staged import check_staged

HTML = '<p>See <a href="https://plan.example/a">the plan</a> at <b>noon</b>.</p>'
DRAFT = Draft(
    sender=Address("alice@demo.example"),
    to=(Address("bob@demo.example", "Bob"),),
    bcc=(Address("carol@demo.example"),),
    subject="A plan for Thursday",
    text="See the plan at noon.",
    html=HTML,
    files=(File("plan.txt", "text/plain", b"the plan\n"),),
)
EVERYONE = ("bob@demo.example", "carol@demo.example")


def written(draft: Draft, **more: bool) -> bytes:
    return compose(draft, message_id="<1@demo.example>", date=datetime(2027, 1, 1, tzinfo=UTC), **more)


REQUEST = SubmitRequest(WireEnvelope("alice@demo.example", EVERYONE), written(DRAFT), "<1@demo.example>", "s1")


def check(draft: Draft, recipients: tuple[str, ...] = EVERYONE) -> None:
    check_staged(REQUEST, Staged(written(draft, keep_bcc=True), recipients))


META = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
EXCHANGE = f"<html><head>\r\n{META}</head><body>{HTML}</body></html>"
SAME = {
    "as it was given": DRAFT,
    "without its blind copies, which the provider is told of otherwise": replace(DRAFT, bcc=()),
    "another name for a recipient": replace(DRAFT, to=(Address("Bob@demo.example", "Robert"),)),
    "HTML in a frame of its own": replace(DRAFT, html=EXCHANGE),
    "a byte order mark": replace(DRAFT, html="\ufeff" + HTML),
    "other line breaks": replace(DRAFT, text="See the plan\nat noon."),
    "a text made of the HTML": replace(DRAFT, text="See the plan (https://plan.example/a), at *noon*"),
}
OTHER = {
    "other words": replace(DRAFT, text="See the plan at dusk.", html=HTML.replace("noon", "dusk")),
    "other words for readers of text": replace(DRAFT, text="See the plan at dusk."),
    "other words for readers of HTML": replace(DRAFT, html=HTML.replace("noon", "dusk")),
    "a link more for readers of text": replace(DRAFT, text="See the plan (https://plan.example/b) at noon."),
    "a link to elsewhere": replace(DRAFT, html=HTML.replace("plan.example", "evil.example")),
    "a link to another page": replace(DRAFT, html=HTML.replace("plan.example/a", "plan.example/b")),
    "a picture that tells who reads": replace(DRAFT, html=HTML + '<img src="https://evil.example/p.gif" width=1>'),
    "words that nobody sees": replace(DRAFT, html=HTML + '<p style="display:none">obey</p>'),
    "styles that show other words": replace(DRAFT, html=HTML + "<style>b::after{content:'not'}</style>"),
    "words that read backwards": replace(DRAFT, html=HTML.replace("noon", "&#x202e;noon&#x202c;")),
    "words in signs that nobody sees": replace(DRAFT, html=HTML.replace("noon", "noon\U000e006f\U000e0062")),
    "a picture within the HTML": replace(DRAFT, html=HTML + '<img src="data:image/png;base64,AAAA">'),
    "no HTML": replace(DRAFT, html=""),
    "another file": replace(DRAFT, files=(File("plan.txt", "text/plain", b"another\n"),)),
    "a file by another name": replace(DRAFT, files=(File("plan.exe", "text/plain", b"the plan\n"),)),
    "a file of another type": replace(DRAFT, files=(File("plan.txt", "text/html", b"the plan\n"),)),
    "a file more": replace(DRAFT, files=(*DRAFT.files, File("more.txt", "text/plain", b"more\n"))),
    "a recipient in another field": replace(DRAFT, to=DRAFT.bcc, bcc=DRAFT.to),
    "everyone in Cc": replace(DRAFT, to=(), cc=DRAFT.to),
    "no file": replace(DRAFT, files=()),
    "another subject": replace(DRAFT, subject="A plan for Friday"),
    "a blind copy in the headers": replace(DRAFT, bcc=(Address("mallory@evil.example"),)),
}


@pytest.mark.parametrize("way", SAME)
def test_a_provider_may_keep_a_mail_in_its_own_way(way: str) -> None:
    check(SAME[way])


@pytest.mark.parametrize("change", OTHER)
def test_what_says_anything_else_is_not_what_was_approved(change: str) -> None:
    with pytest.raises(InternalError, match="is not what was approved"):
        check(OTHER[change])


@pytest.mark.parametrize(
    ("staged", "named"),
    [
        (replace(DRAFT, sender=Address("eve@demo.example")), "the sender"),
        (OTHER["everyone in Cc"], "the recipients in To"),
        (replace(DRAFT, cc=DRAFT.bcc), "the recipients in Cc"),
        (replace(DRAFT, reply_to=(Address("eve@evil.example"),)), "the Reply-To address"),
        (OTHER["another subject"], "the subject"),
        (replace(DRAFT, threading=Threading(in_reply_to="<1@evil.example>")), "the message it replies to"),
        (replace(DRAFT, importance=Importance.HIGH), "the importance"),
        (OTHER["a blind copy in the headers"], "the Bcc recipients"),
        (OTHER["other words"], "the text"),
        (OTHER["no file"], "the attachments"),
    ],
)
def test_the_operator_is_told_what_differs(staged: Draft, named: str) -> None:
    with pytest.raises(InternalError) as refused:
        check(staged)
    assert f"it differs in {named}." in refused.value.message


@pytest.mark.parametrize(
    ("header", "named"),
    [("Errors-To: x@evil.example", "a header"), ("Subject: Another", "a header that appears twice")],
)
def test_the_operator_is_told_of_a_header(header: str, named: str) -> None:
    staged = written(DRAFT, keep_bcc=True).replace(b"\r\n\r\n", f"\r\n{header}\r\n\r\n".encode(), 1)
    with pytest.raises(InternalError) as refused:
        check_staged(REQUEST, Staged(staged, EVERYONE))
    assert f"it differs in {named}." in refused.value.message


@pytest.mark.parametrize(
    "header", ["Disposition-Notification-To: x@evil.example", "Resent-To: x@evil.example", "Sender: x@evil.example",
               "Reply-To: x@evil.example", "In-Reply-To: <other@evil.example>", "Importance: high",
               "Mail-Followup-To: x@evil.example", "Mail-Reply-To: x@evil.example", "Errors-To: x@evil.example",
               "X-Confirm-Reading-To: x@evil.example", "Return-Path: <x@evil.example>", "Precedence: bulk",
               "Return-Receipt-To: x@evil.example", "References: <other@evil.example>", "Auto-Submitted: no",
               "Content-Base: https://evil.example/", "Content-Location: https://evil.example/",
               "List-Unsubscribe: <https://evil.example/>"]
)  # fmt: skip
def test_a_header_by_which_a_mail_does_more_is_not_what_was_approved(header: str) -> None:
    staged = f"{header}\r\n".encode() + written(DRAFT, keep_bcc=True)
    with pytest.raises(InternalError, match="is not what was approved"):
        check_staged(REQUEST, Staged(staged, EVERYONE))


@pytest.mark.parametrize(
    "header", ["From: x@evil.example", "To: bob@demo.example", "Bcc: carol@demo.example", "Subject: Another",
               "Content-Type: text/html", "Content-Transfer-Encoding: 8bit", "MIME-Version: 1.0"]
)  # fmt: skip
@pytest.mark.parametrize("first", [False, True])
def test_a_header_of_which_there_are_two_is_not_what_was_approved(header: str, first: bool) -> None:
    """Some readers take the first, some the last."""
    whole = written(replace(DRAFT, cc=(Address("carol@demo.example"),)), keep_bcc=True)
    ours = replace(REQUEST, raw=whole.replace(b"Bcc: carol@demo.example\r\n", b""))
    head, end, body = whole.partition(b"\r\n\r\n")
    lines = [header.encode(), head] if first else [head, header.encode()]
    check_staged(ours, Staged(whole, EVERYONE))
    with pytest.raises(InternalError, match="is not what was approved"):
        check_staged(ours, Staged(b"\r\n".join(lines) + end + body, EVERYONE))


@pytest.mark.parametrize(
    "header", ["Cc: carol@demo.example", "Reply-To: alice@demo.example", "In-Reply-To: <2@x.example>",
               "References: <1@x.example>", "Importance: high", "Content-Disposition: inline"]
)  # fmt: skip
def test_a_header_that_was_approved_is_there_once(header: str) -> None:
    line, theirs = f"{header}\r\n".encode(), written(replace(DRAFT, bcc=()))
    ours = replace(REQUEST, raw=line + theirs)
    check_staged(ours, Staged(line + theirs, EVERYONE))
    with pytest.raises(InternalError, match="a header that appears twice"):
        check_staged(ours, Staged(line + line + theirs, EVERYONE))


def test_a_provider_may_drop_the_history_of_a_thread_but_not_add_to_it() -> None:
    history = b"In-Reply-To: <2@x.example>\r\nReferences: <1@x.example> <2@x.example>\r\n"
    shorter = history.replace(b"<1@x.example> ", b"")
    other = history.replace(b"<1@x", b"<3@x")
    ours, theirs = replace(REQUEST, raw=history + written(DRAFT)), written(DRAFT, keep_bcc=True)
    for kept in (history, shorter):
        check_staged(ours, Staged(kept + theirs, EVERYONE))
    with pytest.raises(InternalError, match="the thread"):
        check_staged(ours, Staged(other + theirs, EVERYONE))


def test_a_header_of_the_providers_own_is_fine() -> None:
    theirs = b"X-Provider: 7\r\nReceived: by it\r\nReceived: by it again\r\nImportance: Normal\r\n"
    check_staged(REQUEST, Staged(theirs + written(DRAFT, keep_bcc=True), EVERYONE))


def test_of_two_bodies_the_html_may_stay_alone() -> None:
    draft = replace(DRAFT, files=())
    head = written(draft, keep_bcc=True).partition(b"MIME-Version")[0]
    alone = head + b"MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + EXCHANGE.encode()
    check_staged(replace(REQUEST, raw=written(draft)), Staged(alone, EVERYONE))
    with pytest.raises(InternalError, match="the text"):
        check_staged(replace(REQUEST, raw=written(replace(draft, html=""))), Staged(alone, EVERYONE))


def test_quoted_history_counts_like_the_rest() -> None:
    ours = replace(DRAFT, html=f"{HTML}<blockquote type=cite>Bob wrote: ten</blockquote>")
    theirs = replace(ours, html=ours.html.replace("ten", "nine"))
    with pytest.raises(InternalError, match="the text"):
        check_staged(replace(REQUEST, raw=written(ours)), Staged(written(theirs, keep_bcc=True), EVERYONE))


def test_what_cannot_be_read_to_its_end_is_not_what_was_approved() -> None:
    whole = written(DRAFT, keep_bcc=True)
    torn = whole[: whole.rstrip().rfind(b"\r\n") + 2]
    with pytest.raises(InternalError, match="its parsing defects"):
        check_staged(REQUEST, Staged(torn, EVERYONE))


def test_a_mail_may_go_to_blind_copies_alone() -> None:
    hidden = replace(DRAFT, to=(), bcc=(*DRAFT.to, *DRAFT.bcc))
    request = replace(REQUEST, raw=written(hidden))
    check_staged(request, Staged(written(hidden, keep_bcc=True), EVERYONE))


@pytest.mark.parametrize("recipients", [EVERYONE[:1], (*EVERYONE, "mallory@evil.example"), ()])
def test_it_must_go_to_those_who_were_approved_and_to_all_of_them(recipients: tuple[str, ...]) -> None:
    with pytest.raises(InternalError, match="the recipients"):
        check(DRAFT, recipients)


SAID = "On Mon, 4 Jan 2027 at 10:00, Bob <bob@demo.example> wrote:"
SHOWN = SAID.replace("<", "&lt;").replace(">", "&gt;")
QUOTING = replace(
    DRAFT,
    text=f"Yes.\n\n{SAID}\n> until noon?",
    html=f'<p>Yes.</p><div class="gmail_quote"><div>{SHOWN}</div><blockquote>until noon?</blockquote></div>',
)
QUOTED = replace(REQUEST, raw=written(QUOTING))


@pytest.mark.parametrize(
    "other",
    [
        replace(QUOTING, html=QUOTING.html.replace("noon", "dusk")),
        replace(QUOTING, text=QUOTING.text.replace("noon", "dusk"), html=QUOTING.html.replace("noon", "dusk")),
        replace(QUOTING, text="Yes."),
    ],
)
def test_what_is_quoted_is_compared_as_well(other):
    with pytest.raises(InternalError, match="the text"):
        check_staged(QUOTED, Staged(written(other), EVERYONE))


def test_a_text_made_of_the_html_has_what_that_quotes():
    made = replace(QUOTING, text=f"Yes. {SAID} until noon?")
    check_staged(QUOTED, Staged(written(made), EVERYONE))
