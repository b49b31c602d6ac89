"""How much of one mail is read. Whatever exceeds a bound is left out and named in the mail's defects."""

from __future__ import annotations

from typing import Final

MAX_HEADER_BYTES: Final = 1_000_000  # the whole header block of one part
MAX_HEADERS: Final = 2_000  # header fields of one part
MAX_VALUE: Final = 65_536  # bytes of one header field
MAX_PARAMETERS: Final = 8_192  # characters of one Content-Type or Content-Disposition
MAX_ADDRESSES: Final = 2_000  # of one header
MAX_PARTS: Final = 1_000  # of one mail, at all depths
MAX_DEPTH: Final = 40  # multiparts within multiparts
MAX_TEXT: Final = 2_000_000  # bytes of one reading (text or HTML) before its charset is decoded
MAX_FILENAME: Final = 180  # characters
MAX_ELEMENTS: Final = 60_000  # of one HTML document
MAX_STYLE: Final = 200_000  # characters of all style elements together
MAX_STYLE_RULES: Final = 1_000
MAX_STYLE_WORK: Final = 3_000_000  # rules times elements
MAX_RENDERED: Final = 2_000_000  # characters of one rendering
