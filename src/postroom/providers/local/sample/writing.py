"""A letter as the bytes another mail program would have sent, in its own charset.

`mime.write.compose` writes what Postroom sends, always in UTF-8; a mailbox full of history needs older habits.
"""

from __future__ import annotations

from base64 import b64encode, encodebytes
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime
from hashlib import sha256
from quopri import encodestring
from urllib.parse import quote

from postroom.model.address import Address
from postroom.providers.local.sample.letters import Enclosure, Letter

_WORD_BYTES = 42  # of text per encoded-word, well under the 75 characters allowed


def write(letter: Letter, dated: Callable[[Letter], datetime], *, received: bool) -> bytes:
    """The message with CRLF line ends. A received one has the header of the server that accepted it."""
    headers = [("From", _address(letter.sender, letter.charset))]
    headers += [
        (name, _addresses(people, letter.charset)) for name, people in (("To", letter.to), ("Cc", letter.cc)) if people
    ]
    headers += [
        ("Subject", _words(letter.subject, letter.charset)),
        ("Date", format_datetime(dated(letter))),
        ("Message-ID", message_id(letter.key)),
    ]
    if letter.answers:
        headers.append(("In-Reply-To", message_id(letter.answers[-1])))
        headers.append(("References", "\r\n ".join(message_id(key) for key in letter.answers)))
    headers += letter.headers
    if received and not any(name == "Authentication-Results" for name, _ in letter.headers):
        headers.insert(0, ("Authentication-Results", _checked(letter.sender.domain)))
    head = "".join(f"{name}: {value}\r\n" for name, value in (*headers, ("MIME-Version", "1.0")))
    return head.encode("ascii") + _body(letter, _text(letter, dated))


def message_id(key: str) -> str:
    return f"<{key}.{sha256(key.encode()).hexdigest()[:12]}@mail.example>"


def _checked(domain: str) -> str:
    return f"mx.demo.example; spf=pass smtp.mailfrom={domain};\r\n dkim=pass header.d={domain}; dmarc=pass"


def _addresses(people: tuple[Address, ...], charset: str) -> str:
    return ",\r\n ".join(_address(person, charset) for person in people)


def _address(person: Address, charset: str) -> str:
    name = f'"{person.name}"' if "@" in person.name or "," in person.name else _words(person.name, charset)
    return f"{name} <{person.email}>" if person.name else person.email


def _words(text: str, charset: str) -> str:
    """As encoded-words where needed, each decodable by itself, in the letter's charset or in UTF-8 failing that."""
    if text.isascii():
        return text
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        charset = "utf-8"
    pieces, piece = [], ""
    for char in text:
        if len((piece + char).encode(charset)) > _WORD_BYTES:
            pieces.append(piece)
            piece = ""
        piece += char
    words = (b64encode(part.encode(charset)).decode() for part in (*pieces, piece))
    return "\r\n ".join(f"=?{charset}?B?{word}?=" for word in words)


def _text(letter: Letter, dated: Callable[[Letter], datetime]) -> str:
    if letter.quotes is None:
        return letter.text
    quoted = "\n".join(f"> {line}".rstrip() for line in letter.quotes.text.split("\n"))
    moment = f"{dated(letter.quotes):%a, %d %b %Y at %H:%M}"
    return f"{letter.text}\n\nOn {moment}, {letter.quotes.sender} wrote:\n{quoted}\n"


def _body(letter: Letter, text: str) -> bytes:
    readings = [_part("text/plain", text, letter.charset)]
    if letter.html:
        readings.append(_part("text/html", letter.html, letter.charset))
    whole = readings[0] if len(readings) == 1 else _multipart("alternative", readings, letter.key + "a")
    if letter.files:
        whole = _multipart("mixed", [whole, *map(_file, letter.files)], letter.key + "m")
    return whole


def _part(kind: str, text: str, charset: str) -> bytes:
    content = text.encode(charset, "replace")
    if charset == "iso-2022-jp":
        coding, body = "7bit", content
    elif charset in ("koi8-r", "gb2312"):
        coding, body = "base64", encodebytes(content)
    else:
        coding, body = "quoted-printable", encodestring(content)
    head = f"Content-Type: {kind}; charset={charset}\r\nContent-Transfer-Encoding: {coding}\r\n\r\n"
    return head.encode("ascii") + body.replace(b"\n", b"\r\n").rstrip() + b"\r\n"


def _multipart(kind: str, parts: list[bytes], salt: str) -> bytes:
    boundary = f"=_{sha256(salt.encode()).hexdigest()[:24]}".encode("ascii")
    head = b'Content-Type: multipart/%s; boundary="%s"\r\n\r\n' % (kind.encode("ascii"), boundary)
    return head + b"".join(b"--%s\r\n%s" % (boundary, part) for part in parts) + b"--%s--\r\n" % boundary


def _file(file: Enclosure) -> bytes:
    name = f'filename="{file.filename}"' if file.filename.isascii() else f"filename*=UTF-8''{quote(file.filename)}"
    head = (
        f"Content-Type: {file.mime_type}\r\nContent-Disposition: attachment; {name}\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\n"
    )
    return head.encode("ascii") + encodebytes(file.content).replace(b"\n", b"\r\n")
