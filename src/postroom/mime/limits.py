"""How much of one mail is read, and why so much. Whatever exceeds a bound is left out and named in the mail's defects.

Every step of reading grows no faster than what it is given; these bounds then say how long it can take at most. They
lie well above what people and their programs send.
"""

from __future__ import annotations

from typing import Final

# --- headers: 30 to 200 KB are seen with many relays and thousands of recipients
MAX_HEADER_BYTES: Final = 1_000_000  # the whole header block of one mail, and those of all its parts together
MAX_HEADERS: Final = 2_000  # header fields of one block
MAX_PART_HEADERS: Final = 10_000  # header fields of all parts of one mail together
MAX_VALUE: Final = 131_072  # characters of one header field: 2,000 recipients with their names
MAX_PARAMETERS: Final = 8_192  # characters of one Content-Type or Content-Disposition
MAX_ADDRESSES: Final = 2_000  # of one header
MAX_EMAIL: Final = 998  # characters of one address: as much as one line may have, and no mailbox has a third of it

# --- structure
MAX_PARTS: Final = 1_000  # of one mail, at all depths
MAX_DEPTH: Final = 40  # multiparts within multiparts: every level is looked through once more
MAX_SCANNED: Final = 300_000_000  # bytes that are looked through for boundaries, level by level: 100 MB in three levels
MAX_MARKS: Final = 100_000  # places that look like a boundary; nearly all of those in real mail are one
MAX_TEXT: Final = 2_000_000  # bytes of one reading (all its parts, text or HTML) before their charset is decoded
MAX_FILENAME: Final = 180  # characters
MAX_UU_LINES: Final = 600_000  # of one uuencoded part: 27 MB in full lines, which are decoded one by one

# --- HTML: a long thread in one mail has some 20,000 elements and a depth of 200
MAX_TAGS: Final = 75_000  # that open or close something, in the source
MAX_ELEMENTS: Final = 25_000  # of one document; 1,200 are the most that was seen
MAX_HTML_DEPTH: Final = 400  # elements within elements; browsers draw the line at 512
MAX_STYLE: Final = 300_000  # characters of all style elements together; 25,000 are the most that was seen
MAX_STYLE_RULES: Final = 5_000  # 65 were
MAX_STYLE_DEPTH: Final = 8  # blocks within blocks of a style element: each is one more ``:is()`` around the selectors
MAX_STYLE_WORK: Final = 8_000_000  # elements that all selectors together are compared with, and those around them
MAX_STYLE_DECLARATIONS: Final = 200  # of one rule, of those that have to do with what is seen
MAX_MATCHES: Final = 300_000  # elements that all selectors together match
MAX_CASCADE_WORK: Final = 50_000  # units of working out what styles do (see `css_syntax.work_of`); 3,000 were seen
MAX_VARIABLES: Final = 500  # that hold for one element
MAX_LINKS: Final = 5_000  # of one document whose addresses are told; 170 are the most that was seen
MAX_RENDERED: Final = 2_000_000  # characters of one rendering

# --- quoted history: what is beyond is not known as a copy, and shown
MAX_EARLIER: Final = 600_000  # characters of earlier mail, and words that are compared with it
MAX_NAMES: Final = 2_000  # words of the names and addresses of those who wrote and got it
MAX_HEAD_SUBJECT: Final = 1_000  # characters of a subject that a header block may repeat

# --- reading in a process of its own (see `workers`)
MAX_INLINE_HTML: Final = 65_536  # characters: what is longer is rendered by a worker
MAX_INLINE_TEXT: Final = 524_288  # characters of plain text
MAX_INLINE_MAIL: Final = 2_000_000  # bytes of a whole mail that are taken apart here
MAX_SECONDS: Final = 10.0  # for one mail: ten times what the worst of those that were tried take
MAX_MEMORY: Final = 1_500_000_000  # bytes of address space of one worker
MAX_STRIPPED: Final = 100_000  # characters of what is shown of a mail that could not be read in that time
