"""What an attachment is: by its first bytes; only plain text has none and is known by what it claims to be."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from postroom.mime.documents import archive, images

PDF, CALENDAR, MESSAGE, HTML, TEXT = "application/pdf", "text/calendar", "message/rfc822", "text/html", "text/plain"
OLD_OFFICE: Final = "application/x-ole-storage"  # also how an encrypted document of today is stored
BINARY: Final = "application/octet-stream"

_OLE: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_BY_ENDING: Final = {
    ".ics": CALENDAR,
    ".ical": CALENDAR,
    ".eml": MESSAGE,
    ".html": HTML,
    ".htm": HTML,
    **dict.fromkeys((".txt", ".csv", ".tsv", ".md", ".log", ".json", ".xml", ".yaml", ".yml", ".ini", ".vcf"), TEXT),
}
_BY_TYPE: Final = {
    "text/calendar": CALENDAR,
    "application/ics": CALENDAR,
    "message/rfc822": MESSAGE,
    "text/html": HTML,
    "application/xhtml+xml": HTML,
    **dict.fromkeys(("application/json", "application/xml", "application/csv", "application/yaml"), TEXT),
}
_LOOKED_AT: Final = 8_192


def kind_of(content: bytes, filename: str, claimed: str) -> str:
    """A MIME type; `BINARY` for what cannot be read."""
    if b"%PDF-" in content[:1024]:
        return PDF
    if content.startswith(b"PK\x03\x04"):
        return archive.office_type(content) or "application/zip"
    if content.startswith(_OLE):
        return OLD_OFFICE
    image = images.type_of(content)
    if image:
        return image
    if content.lstrip(b"\xef\xbb\xbf\r\n ")[:15].upper() == b"BEGIN:VCALENDAR":
        return CALENDAR
    return _text_kind(filename, claimed.lower()) if _is_text(content) else BINARY


def _text_kind(filename: str, claimed: str) -> str:
    ending = PurePath(filename.lower()).suffix
    return _BY_TYPE.get(claimed) or _BY_ENDING.get(ending) or TEXT


def _is_text(content: bytes) -> bool:
    """No zero bytes, unless they are those of UTF-16, and hardly any controls."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    beginning = content[:_LOOKED_AT]
    controls = sum(beginning.count(bytes([code])) for code in (*range(1, 9), *range(14, 27), *range(28, 32)))
    return b"\x00" not in beginning and controls * 100 <= len(beginning)
