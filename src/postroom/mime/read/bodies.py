"""Which parts are the text and HTML versions of the body, and which are attachments (see RFC 8621, 4.1.4)."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from postroom.mime.limits import MAX_TEXT
from postroom.mime.read.charsets import charset_in_html, decode_text, is_ascii
from postroom.mime.read.decode import begins_plain, decode_transfer, decoded_size, is_plain
from postroom.mime.read.filenames import message_filename, safe_filename
from postroom.mime.read.flowed import unflow
from postroom.mime.read.headers import subject_of
from postroom.mime.read.structure import Part
from postroom.model.message import Attachment, Body
from postroom.model.quickly_built import quickly_built

_OTHER_VERSIONS = "The message has several versions of its text; the last is shown, the others are attachments."
_NOT_ENCODED = "The text claims to be encoded in base64 and is not; it is shown as it is."
_BREAK = re.compile("\r\n")
_BLANK_LINE = re.compile(rb"\S[ \t]*+\r?\n[ \t]*+\r?\n")
_MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,100}\Z")


@quickly_built
@dataclass(frozen=True, slots=True)
class Sorted:
    """Leaves by purpose. A part that is not an alternative of another is in both versions."""

    text: list[Part] = field(default_factory=list)
    html: list[Part] = field(default_factory=list)
    attachments: list[Part] = field(default_factory=list)
    has_other_versions: bool = False  # that readers do not show; they are among the attachments

    def __add__(self, other: Sorted) -> Sorted:
        return Sorted(
            self.text + other.text,
            self.html + other.html,
            self.attachments + other.attachments,
            self.has_other_versions or other.has_other_versions,
        )


_NOTHING = Sorted()


def sort_parts(root: Part) -> Sorted:
    return _sorted(root, _NOTHING)


def _sorted(part: Part, earlier: Sorted) -> Sorted:
    """What this part adds to what came before it."""
    if not part.is_multipart:
        return Sorted([part], [part]) if _is_body(part, earlier) else Sorted(attachments=[part])
    if part.content.value == "multipart/alternative":
        return _shown_versions(part, earlier)
    root = _root_of(part) if part.content.value == "multipart/related" else None
    added = _NOTHING
    for child in part.children:
        is_resource = root is not None and child is not root
        added += Sorted(attachments=list(child.leaves())) if is_resource else _sorted(child, earlier + added)
    return added


def _root_of(related: Part) -> Part | None:
    """The one part of a multipart/related that is shown: the others are what it refers to (RFC 2387)."""
    start = related.content.get("start").strip(" <>")
    named = [child for child in related.children if start and content_id_of(child) == start]
    texts = [child for child in related.children if child.is_multipart or _is_body(child, _NOTHING)]
    return next(iter(named or texts), None)


def _shown_versions(alternative: Part, earlier: Sorted) -> Sorted:
    """Readers show the last version that they can (RFC 2046, 5.1.4). The plain ones stay together: they are read where
    somebody asks for plain text, and compared with what is shown."""
    if _are_usual(alternative.children):
        return Sorted([alternative.children[0]], [alternative.children[1]])
    versions: list[Sorted] = []
    for child in alternative.children:
        found = _sorted(child, earlier)
        versions.append(found)
        plain, rich = ([part for part in found.text if _is_html(part) == wanted] for wanted in (False, True))
        earlier += Sorted(plain, rich)
    rich_ones = [version for version in versions if any(map(_is_html, version.html))]
    plain_ones = [version for version in versions if version.text and not any(map(_is_html, version.html))]
    shown = (rich_ones or plain_ones or [_NOTHING])[-1]
    texts = [part for version in plain_ones for part in version.text] if rich_ones else []
    kept = {part.number for part in (*shown.html, *texts)}
    others = [leaf for leaf in alternative.leaves() if leaf.number not in kept]
    has_more = len(rich_ones or plain_ones) > 1 or any(version.has_other_versions for version in versions)
    return Sorted(texts or shown.text, shown.html, others, has_more)


def _are_usual(versions: tuple[Part, ...]) -> bool:
    """A plain version and an HTML one, as most programs write them."""
    return [version.content.value for version in versions] == ["text/plain", "text/html"] and not any(
        version.disposition.value == "attachment" or filename_of(version) for version in versions
    )


def _is_body(part: Part, earlier: Sorted) -> bool:
    kind = part.content.value
    if kind not in ("text/plain", "text/html") or part.disposition.value == "attachment":
        return False
    if not filename_of(part):
        return True
    # Some programs give even the body a file name, and call it inline; every other named text is a file.
    may_be_named = not part.disposition.value or (part.disposition.value == "inline" and not earlier.attachments)
    return may_be_named and not (earlier.html if _is_html(part) else earlier.text)


def content_id_of(part: Part) -> str:
    return part.headers.first("content-id").strip(" \t<>")[:998]


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

    if found.has_other_versions:
        defects.append(_OTHER_VERSIONS)
    has_html = any(map(_is_html, found.html))
    text_is_whole = not any(map(_is_html, found.text))
    text = "\n".join([text_of(part) for part in found.text]) if text_is_whole else ""
    shown = [(part, text_of(part)) for part in found.html]
    if not has_html:
        return Body(text, "")
    if len(shown) == 1:
        return Body(text, shown[0][1])
    return Body(text, *joined([content if _is_html(part) else _as_html(content) for part, content in shown]))


def joined(documents: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Several parts one after the other, and where those after the first begin."""
    lengths = [len(document) + 1 for document in documents[:-1]]
    return "\n".join(documents), tuple(accumulate(lengths))


def _is_html(part: Part) -> bool:
    return part.content.value == "text/html"


def _as_html(text: str) -> str:
    return f'<div style="white-space:pre-wrap">{html.escape(text, quote=False)}</div>'.replace("\n", "<br>\n")


def _part_bytes(raw: bytes, part: Part, most: int, defects: list[str]) -> bytes:
    # Encodings enlarge text at most threefold: nothing beyond can belong to the allowed bytes.
    end = min(part.end, part.start + 4 * most)
    data, encoding = raw[part.start : end], part.encoding
    if encoding == "base64" and is_plain(data):
        defects.append(_NOT_ENCODED)
        encoding = ""
    encoded = _without_footer(data) if encoding == "base64" else data
    goes_on = len(encoded) < len(data) or (encoding == "base64" and _goes_on(raw, part))
    data = decode_transfer(encoded, encoding, most)
    if len(data) > most or end < part.end:
        defects.append("The text is too long; the rest was omitted.")
    elif goes_on:
        defects.append("Data follows the end of an encoded text; it was omitted.")
    return data[:most]


def _without_footer(data: bytes) -> bytes:
    """Some mailing lists add theirs as it is. Where the text needs no padding, nothing but a blank line ends it."""
    blank = _BLANK_LINE.search(data)
    return data[: blank.end()] if blank and begins_plain(data[blank.end() :]) else data


def _goes_on(raw: bytes, part: Part) -> bool:
    padding = raw.find(b"=", part.start, part.end)
    return padding >= 0 and bool(raw[padding : part.end].strip(b"= \t\r\n"))


def _part_text(data: bytes, part: Part) -> str:
    charset = part.content.get("charset")
    if _is_html(part) and (not charset or (is_ascii(charset) and not data.isascii())):
        charset = charset_in_html(data) or charset
    text = "\n".join(_BREAK.split(decode_text(data, charset)))  # twice as fast as replace
    if part.content.get("format").lower() == "flowed" and not _is_html(part):
        text = unflow(text, delete_space=part.content.get("delsp").lower() == "yes")
    return text


def describe(raw: bytes, part: Part) -> Attachment:
    """An attachment as listed: its content is measured, not decoded."""
    kind = part.content.value if _MIME_TYPE.match(part.content.value) else "application/octet-stream"
    content_id = content_id_of(part)
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
