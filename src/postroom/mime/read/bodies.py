"""Which parts are the text and HTML versions of the body, and which are attachments (see RFC 8621, 4.1.4)."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from postroom.mime.limits import MAX_TEXT
from postroom.mime.read.charsets import charset_in_html, decode_text
from postroom.mime.read.decode import decode_transfer, decoded_size
from postroom.mime.read.filenames import message_filename, safe_filename
from postroom.mime.read.flowed import unflow
from postroom.mime.read.headers import subject_of
from postroom.mime.read.structure import Part
from postroom.model.message import Attachment, Body

_MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,100}\Z")


@dataclass(slots=True)
class Sorted:
    """Leaves by purpose. A part that is not an alternative of another is in both versions."""

    text: list[Part] = field(default_factory=list)
    html: list[Part] = field(default_factory=list)
    attachments: list[Part] = field(default_factory=list)


def sort_parts(root: Part) -> Sorted:
    found = Sorted()
    _sort(root, found, in_alternative=False)
    return found


def _sort(part: Part, found: Sorted, *, in_alternative: bool) -> None:
    if part.is_multipart:
        alternative = part.content.value == "multipart/alternative"
        before = len(found.text), len(found.html)
        for child in part.children:
            _sort(child, found, in_alternative=in_alternative or alternative)
        if alternative and not in_alternative:
            _share_only_reading(found, *before)
    elif not _is_body(part, found):
        found.attachments.append(part)
    else:
        if part.content.value == "text/html" or not in_alternative:
            found.html.append(part)
        if part.content.value == "text/plain" or not in_alternative:
            found.text.append(part)


def _share_only_reading(found: Sorted, texts: int, htmls: int) -> None:
    """An alternative with only one version belongs to both."""
    if len(found.text) == texts:
        found.text.extend(found.html[htmls:])
    elif len(found.html) == htmls:
        found.html.extend(found.text[texts:])


def _is_body(part: Part, found: Sorted) -> bool:
    kind = part.content.value
    if kind not in ("text/plain", "text/html") or part.disposition.value == "attachment":
        return False
    if not filename_of(part):
        return True
    # Some programs give even the body a file name; every other named text is a file.
    return not part.disposition.value and not (found.html if _is_html(part) else found.text)


def filename_of(part: Part) -> str:
    return part.disposition.get("filename") or part.content.get("name")


def read_body(raw: bytes, found: Sorted, defects: list[str]) -> Body:
    """Both versions. If only the HTML version is complete, the other is empty."""
    cache: dict[str, str] = {}
    left = {True: MAX_TEXT, False: MAX_TEXT}  # bytes of HTML, and of plain text, that may still be read

    def text_of(part: Part) -> str:
        if part.number not in cache:
            data = _part_bytes(raw, part, left[_is_html(part)], defects)
            left[_is_html(part)] -= len(data)
            cache[part.number] = _part_text(data, part)
        return cache[part.number]

    has_html = any(_is_html(part) for part in found.html)
    text_is_whole = not any(_is_html(part) for part in found.text)
    text = "\n".join(text_of(part) for part in found.text) if text_is_whole else ""
    rich = "\n".join(text_of(part) if _is_html(part) else _as_html(text_of(part)) for part in found.html)
    return Body(text, rich if has_html else "")


def _is_html(part: Part) -> bool:
    return part.content.value == "text/html"


def _as_html(text: str) -> str:
    return f'<div style="white-space:pre-wrap">{html.escape(text, quote=False)}</div>'.replace("\n", "<br>\n")


def _part_bytes(raw: bytes, part: Part, most: int, defects: list[str]) -> bytes:
    # Encodings enlarge text at most threefold: nothing beyond can belong to the allowed bytes.
    end = min(part.end, part.start + 4 * most)
    data = decode_transfer(raw[part.start : end], part.encoding, most)
    if len(data) > most or end < part.end:
        defects.append("The text is too long; the rest was omitted.")
    elif part.encoding == "base64" and _goes_on(raw, part):
        defects.append("Data follows the end of an encoded text; it was omitted.")
    return data[:most]


def _goes_on(raw: bytes, part: Part) -> bool:
    padding = raw.find(b"=", part.start, part.end)
    return padding >= 0 and bool(raw[padding : part.end].strip(b"= \t\r\n"))


def _part_text(data: bytes, part: Part) -> str:
    charset = part.content.get("charset") or (charset_in_html(data) if _is_html(part) else "")
    text = "\n".join(decode_text(data, charset).split("\r\n"))  # twice as fast as replace
    if part.content.get("format").lower() == "flowed" and not _is_html(part):
        text = unflow(text, delete_space=part.content.get("delsp").lower() == "yes")
    return text


def describe(raw: bytes, part: Part) -> Attachment:
    """An attachment as listed: its content is measured, not decoded."""
    kind = part.content.value if _MIME_TYPE.match(part.content.value) else "application/octet-stream"
    content_id = part.headers.first("content-id").strip(" \t<>")[:998]
    return Attachment(
        part=part.number,
        filename=_name(raw, part),
        mime_type=kind,
        size=decoded_size(raw, part.encoding, part.start, part.end),
        inline=is_inline(part, content_id),
        content_id=content_id,
    )


def is_inline(part: Part, content_id: str) -> bool:
    """Shown within the text. Some programs mark every file inline: only pictures and what the HTML can refer to are."""
    if part.disposition.value == "attachment":
        return False
    return bool(content_id) or (part.disposition.value == "inline" and part.content.value.startswith("image/"))


def _name(raw: bytes, part: Part) -> str:
    wanted = filename_of(part)
    if part.content.value != "message/rfc822":
        return safe_filename(wanted, part.content.value, part.number)
    return message_filename(wanted, "" if wanted else subject_of(raw, part.start, part.end))
