"""Small real files made in code: a PDF that opens, a PNG that shows, a table, a calendar entry."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from datetime import datetime

from postroom.providers.local.sample.letters import Enclosure


def pdf(filename: str, *lines: str) -> Enclosure:
    """One page of Helvetica. Lines are ASCII."""
    shown = " ".join(f"({line.translate(_ESCAPES)}) Tj T*" for line in lines)
    page = f"BT /F1 12 Tf 18 TL 72 760 Td {shown} ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    return Enclosure(filename, "application/pdf", _pdf_file(objects))


_ESCAPES = str.maketrans({"(": r"\(", ")": r"\)", "\\": r"\\"})


def _pdf_file(objects: list[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def png(filename: str, width: int, height: int, colour: tuple[int, int, int]) -> Enclosure:
    """A vertical fade from the colour to black."""
    rows = bytearray()
    for y in range(height):
        shade = bytes(part * (height - y) // height for part in colour)
        rows += b"\0" + shade * width
    content = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    content += _chunk(b"IDAT", zlib.compress(bytes(rows))) + _chunk(b"IEND", b"")
    return Enclosure(filename, "image/png", content)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def csv(filename: str, *rows: str) -> Enclosure:
    return Enclosure(filename, "text/csv", ("\r\n".join(rows) + "\r\n").encode())


def invitation(
    uid: str, summary: str, place: str, organiser: str, invited: Sequence[str], start: datetime, end: datetime
) -> Enclosure:
    """A meeting request as calendar programs send it."""
    stamp = "%Y%m%dT%H%M%SZ"
    lines = (
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Postroom//Sample//EN",
        "METHOD:REQUEST",
        "BEGIN:VEVENT",
        f"UID:{uid}@calendar.example",
        f"DTSTAMP:{start:{stamp}}",
        f"DTSTART:{start:{stamp}}",
        f"DTEND:{end:{stamp}}",
        f"SUMMARY:{summary}",
        f"LOCATION:{place}",
        f"ORGANIZER:mailto:{organiser}",
        *(f"ATTENDEE;RSVP=TRUE:mailto:{guest}" for guest in invited),
        "END:VEVENT",
        "END:VCALENDAR",
    )
    return Enclosure("invite.ics", "text/calendar; method=REQUEST", ("\r\n".join(lines) + "\r\n").encode())
