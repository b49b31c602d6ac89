from __future__ import annotations

import pytest

from postroom.index.reading import ReadMail, read_all, words_as_texts
from postroom.mime import render
from postroom.mime.quotes.folding import context_of
from postroom.mime.read.parse import parse

LETTER = b"Subject: Lighthouse\r\n\r\nThe lamp is lit.\r\n\r\nOn Monday, Ada wrote:\r\n> Is it lit?\r\n"
REPLY = b"Subject: Re: Lighthouse\r\nIn-Reply-To: <1@example.com>\r\n\r\n" + LETTER.partition(b"\r\n\r\n")[2]
PAGE = (
    b"Subject: Offers\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    b'<p style="display:none">preheader</p><p>Amber lamps</p><blockquote type="cite">older</blockquote>'
)
FILE = (
    b"Subject: Plan\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nAs promised.\r\n--b\r\n"
    b'Content-Type: application/pdf; name="Plan.pdf"\r\n\r\n%PDF\r\n--b--\r\n'
)
MAILS = [LETTER, PAGE, b"", REPLY, FILE, PAGE]


def alone(raw: bytes) -> ReadMail:
    parsed = parse(raw)
    snippet = render.snippet(parsed.body, context=context_of(parsed))
    return ReadMail(parsed, snippet, words_as_texts(parsed, render.search_text(parsed.body)))


def test_messages_read_together_are_read_as_each_alone() -> None:
    assert read_all(MAILS) == [alone(raw) for raw in MAILS]


def test_what_is_read_are_the_visible_words_with_quotes_and_the_names_of_files() -> None:
    _, page, empty, reply, file, _ = read_all(MAILS)
    assert " ".join(reply.texts.body.split()) == "The lamp is lit. On Monday, Ada wrote: > Is it lit?"
    assert page.texts.body.split() == ["Amber", "lamps", "older"]
    assert (reply.snippet, empty.snippet) == ("The lamp is lit.", "")
    assert file.texts.filenames == ("plan.pdf",)


def test_one_that_cannot_be_read_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_html: str) -> str:
        raise RecursionError

    monkeypatch.setattr(render, "open_html", refuse)
    unread = PAGE.replace(b"Amber", b"Copper")  # HTML that was opened lately is not opened again
    with pytest.raises(RecursionError):
        read_all([*MAILS, unread])
