"""BODYSTRUCTURE must tell the same story as the bytes: asked of a real server about the same mails."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from email.mime.text import MIMEText

import pytest
from tests.peers.accounts import imap_account, opened
from tests.peers.courier import Courier
from tests.peers.dovecot import Dovecot

from postroom.mime.read.parse import parse
from postroom.providers.imap.mail import structure
from postroom.providers.imap.session.client import Session


def nested() -> bytes:
    inner = EmailMessage()
    inner["Subject"], inner["From"] = "Inner", "in@x.example"
    inner.set_content("inner text")
    inner.add_attachment(b"deep", maintype="application", subtype="zip", filename="deep.zip")
    outer = EmailMessage()
    outer["Subject"], outer["From"], outer["Message-ID"] = "Outer", "out@x.example", "<outer@x.example>"
    outer.set_content("plain words")
    outer.add_alternative("<p>rich <img src='cid:pic'></p>", subtype="html")
    outer.get_payload()[1].add_related(b"\x89PNG", "image", "png", cid="<pic>")  # type: ignore[union-attr]
    outer.add_attachment(b"%PDF" + bytes(4000), maintype="application", subtype="pdf", filename="Übersicht 請求書.pdf")
    outer.add_attachment(inner)
    outer.add_attachment("BEGIN:VCALENDAR", subtype="calendar", filename="invite.ics")
    return outer.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def single(kind: str) -> bytes:
    if kind == "pdf":
        return (
            b"Subject: only a file\r\nContent-Type: application/pdf; name=a.pdf\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n"
        )
    return MIMEText("Grüße", kind, "utf-8").as_bytes().replace(b"\n", b"\r\n")


def _mixed(*kinds: bytes) -> bytes:
    """Files as Apple's programs send them: all are called inline."""
    files = b"".join(
        b"--x\r\nContent-Type: %b\r\nContent-Disposition: inline; filename=a\r\n\r\nx\r\n" % k for k in kinds
    )
    return b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nSee:\r\n" + files + b"--x--\r\n"


MAILS = {
    "nested": nested(),
    "plain": single("plain"),
    "html": single("html"),
    "file": single("pdf"),
    "from a phone": _mixed(b"application/pdf", b"text/calendar", b"image/png"),
    "no subtype": b"Content-Type: text\r\n\r\nwords\r\n",
    "broken": b"Content-Type: multipart/mixed; boundary=x\r\n\r\nno parts here",
    "empty": b"\r\n",
}


@pytest.fixture
def answers(dovecot: Dovecot) -> dict[str, structure.Part]:
    session = Session(imap_account(dovecot))
    try:
        for raw in MAILS.values():
            session.append("INBOX", raw, [])
        session.open("INBOX")
        items = session.fetch(range(1, len(MAILS) + 1), "UID BODYSTRUCTURE")
        return {key: structure.read_structure(items[uid]["BODYSTRUCTURE"]) for uid, key in enumerate(MAILS, 1)}
    finally:
        session.close()


@pytest.mark.parametrize("key", [key for key in MAILS if key != "broken"])
def test_attachments_are_those_of_the_bytes(answers: dict[str, structure.Part], key: str) -> None:
    told, read = structure.attachments(answers[key]), parse(MAILS[key]).attachments
    shape = [(a.part, a.mime_type, a.inline, a.content_id) for a in told]
    assert shape == [(a.part, a.mime_type, a.inline, a.content_id) for a in read]
    assert [a.filename for a in told if a.mime_type != "message/rfc822"] == [
        a.filename for a in read if a.mime_type != "message/rfc822"
    ]
    for mine, theirs in zip(told, read, strict=True):
        assert abs(mine.size - theirs.size) <= max(4, theirs.size // 20)


async def test_a_file_is_the_listed_one_where_the_server_splits_the_mail_differently(
    courier: Courier,
) -> None:
    inner = b"Content-Type: multipart/mixed; boundary=ab2\r\n\r\n--ab2\r\n\r\nwords\r\n--ab2\r\n"
    files = (b"Content-Type: application/pdf; name=%b\r\n\r\n%b\r\n" % (name, name) for name in (b"one", b"two"))
    raw = b"Content-Type: multipart/mixed; boundary=ab\r\n\r\n--ab\r\n" + inner
    raw += next(files) + b"--ab2--\r\n--ab\r\n" + next(files) + b"--ab--\r\n"
    async with opened(imap_account(courier)) as mailbox:
        ref = (await mailbox.create_draft(raw)).message_ref
        listed = (await mailbox.fetch(ref)).attachments
        assert [(await mailbox.fetch_part(ref, file.part)).strip().decode() for file in listed] == ["one", "two"]
        assert [file.filename for file in listed] == ["one", "two"]


async def test_a_large_mail_is_read_without_its_attachments_and_reads_the_same(
    dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(imap_account(dovecot)) as mailbox:
        saved = await mailbox.create_draft(MAILS["nested"])
        whole = await mailbox.fetch(saved.message_ref)
        monkeypatch.setattr("postroom.providers.imap.mail.reading._WHOLE", 0)
        pieced = await mailbox.fetch(saved.message_ref)
        assert pieced.body == whole.body
        assert pieced.headers == whole.headers
        assert [a.part for a in pieced.attachments] == [a.part for a in whole.attachments]
        assert pieced.envelope == whole.envelope
        pdf = next(a for a in pieced.attachments if a.mime_type == "application/pdf")
        assert await mailbox.fetch_part(saved.message_ref, pdf.part) == b"%PDF" + bytes(4000)


@pytest.mark.parametrize("answer", [None, [], [None], [[], b"MIXED"], [[[[b"TEXT"]]]], [b"TEXT", b"PLAIN", b"odd"]])
def test_broken_answers_give_some_part(answer: object) -> None:
    assert structure.attachments(structure.read_structure(answer)) is not None


def test_a_size_of_any_length_is_no_error() -> None:
    node = [b"TEXT", b"PLAIN", None, None, None, b"7BIT", b"9" * 5_000, b"1"]
    assert structure.read_structure(node).end == 0


def _large(boundary: str) -> bytes:
    """With a file of 300 KB; the boundary as its program wrote it."""
    mark, content = "--_Part=1", base64.encodebytes(bytes(300_000)).decode().replace("\n", "\r\n")
    return (
        f"Subject: large\r\nContent-Type: multipart/mixed; {boundary}\r\n\r\n{mark}\r\n\r\nthe words\r\n{mark}\r\n"
        "Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        f"{content}\r\n{mark}--\r\n"
    ).encode()


@pytest.mark.parametrize("boundary", ["boundary=_Part=1", "boundary*=us-ascii''_Part%3D1"])
async def test_a_large_mail_with_a_boundary_that_the_server_reads_differently_reads_whole(
    dovecot: Dovecot, boundary: str
) -> None:
    async with opened(imap_account(dovecot)) as mailbox:
        ref = (await mailbox.create_draft(_large(boundary))).message_ref
        message = await mailbox.fetch(ref)
        assert message.body.text.strip() == "the words"
        (file,) = message.attachments
        assert await mailbox.fetch_part(ref, file.part) == bytes(300_000)
