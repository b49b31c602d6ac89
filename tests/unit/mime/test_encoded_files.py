"""What plainly are files in a message need not be read to know what it says."""

from __future__ import annotations

import base64

import pytest

from postroom.mime.read.encoded_files import bytes_to_read

TEXT = b"Content-Type: text/plain\r\n\r\nSee the file, please.\r\n"
FILE = base64.encodebytes(bytes(range(256)) * 300).replace(b"\n", b"\r\n")
AS_FILE = b"Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n"


def mail(*parts: bytes, kind: bytes = b'multipart/mixed; boundary="b"') -> bytes:
    head = b"From: ann@example.com\r\nContent-Type: " + kind + b"\r\n\r\n"
    return head + b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--\r\n"


def test_a_file_does_not_count() -> None:
    assert len(mail(TEXT)) < bytes_to_read(mail(TEXT, AS_FILE + FILE)) < len(mail(TEXT)) + 200
    assert bytes_to_read(mail(TEXT, AS_FILE + FILE, AS_FILE + FILE)) < len(mail(TEXT)) + 400


def test_a_letter_without_files_counts_as_it_is() -> None:
    assert bytes_to_read(mail(TEXT)) == len(mail(TEXT))
    assert bytes_to_read(b"") == 0


@pytest.mark.parametrize(
    "raw",
    [
        mail(TEXT, AS_FILE.replace(b"application/pdf", b"text/plain") + FILE),
        mail(TEXT, AS_FILE.replace(b"application/pdf", b"message/rfc822") + FILE),
        mail(TEXT, AS_FILE.replace(b"base64", b"quoted-printable") + FILE),
        mail(TEXT, b"Content-Type: text/html\r\n" + AS_FILE + FILE),
        mail(TEXT, AS_FILE + FILE + b"And more words."),
        mail(TEXT, AS_FILE + FILE + b"\r--b\rContent-Type:text/html\r\r<p>words" * 100),
        mail(TEXT, b"X: y\r\n" * 1_000 + AS_FILE + FILE),
        mail(*[TEXT] * 50, AS_FILE + FILE),
        mail(AS_FILE + FILE, kind=b"text/plain\r\nContent-Transfer-Encoding: x-uuencode"),
    ],
    ids=[
        *("text", "mail", "not base64", "two types", "words behind it", "boundaries after a bare CR"),
        *("long head", "many parts", "within uuencode"),
    ],
)
def test_what_may_be_anything_else_counts_whole(raw: bytes) -> None:
    assert bytes_to_read(raw) == len(raw)
