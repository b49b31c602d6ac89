"""How much of one message is read, and why. What exceeds a limit is omitted and reported in the message's defects.

Every step of reading takes time linear in its input; these limits then bound the total time. They are well above what
people and their programs send.
"""

from __future__ import annotations

from typing import Final

# --- headers: 30 to 200 KB are seen with many relays and thousands of recipients
MAX_HEADER_BYTES: Final = 600_000  # the whole header block of one message, and those of all its parts together
MAX_HEADERS: Final = 2_000  # header fields of one block
MAX_PART_HEADERS: Final = 10_000  # header fields of all parts of one message together
MAX_VALUE: Final = 131_072  # characters of one header field: 2,000 recipients with their names
MAX_PARAMETERS: Final = 8_192  # characters of one Content-Type or Content-Disposition
MAX_ADDRESSES: Final = 2_000  # of one header
MAX_ADDRESS_STEPS: Final = 20_000  # runs of letters, quotes, comments, commas of one header; an address has five
MAX_EMAIL: Final = 998  # characters of one address: as long as a line may be; no mailbox needs a third of it

# --- structure
MAX_PARTS: Final = 1_000  # of one message, at all depths
MAX_DEPTH: Final = 40  # nested multiparts: every level is scanned once more
MAX_SCANNED: Final = 300_000_000  # bytes that are scanned for boundaries, level by level: 100 MB in three levels
MAX_MARKS: Final = 100_000  # places that look like a boundary; in real mail nearly all of them are
MAX_TEXT: Final = 2_000_000  # bytes of one version (all its parts, text or HTML) before charset decoding
MAX_LINES: Final = 20_000  # of a text that are examined one by one: joined if flowed, history or not. The rest is shown
MAX_FILENAME: Final = 180  # characters
MAX_UU_LINES: Final = 600_000  # of one uuencoded part: 27 MB in full lines, decoded one by one

# --- HTML: a long thread in one message has some 10,000 elements and a depth of 200
MAX_TAGS: Final = 75_000  # opening and closing tags in the source
MAX_ELEMENTS: Final = 20_000  # of one document; 1,200 is the most seen
MAX_ATTRIBUTES: Final = 20_000_000  # characters in the attributes of all elements that are reopened in every block
MAX_DOCUMENTS: Final = 200  # HTML parts of one message that are shown one below the other; each is parsed by itself
MAX_HTML_DEPTH: Final = 400  # nested elements; browsers stop at 512
MAX_STYLE: Final = 300_000  # characters of all style elements together; 25,000 is the most seen
MAX_STYLE_RULES: Final = 3_000  # 65 is the most seen
MAX_STYLE_DEPTH: Final = 8  # nested blocks of a style element: each adds one ``:is()`` around the selectors
MAX_STYLE_WORK: Final = 5_000_000  # elements that all selectors together are compared with, and their ancestors
MAX_STYLE_DECLARATIONS: Final = 200  # of one rule, of those that affect what is visible
MAX_MATCHES: Final = 120_000  # elements that all selectors together match
MAX_CASCADE_WORK: Final = 15_000  # units of computing styles (see `css.syntax.work_of`); 3,000 is the most seen
MAX_VARIABLES: Final = 500  # that apply to one element
MAX_LINKS: Final = 5_000  # of one document whose addresses are shown; 170 is the most seen
MAX_RENDERED: Final = 2_000_000  # characters of one rendering

# --- quoted history: what is beyond these is not recognized as a copy, and is shown
MAX_EARLIER: Final = 300_000  # characters of earlier messages, and words that are compared with them
MAX_NAMES: Final = 2_000  # words of the names and addresses of its senders and recipients
MAX_HEAD_SUBJECT: Final = 1_000  # characters of a subject that a header block may repeat

# --- reading in a separate process (see `workers`)
MAX_INLINE_HTML: Final = 65_536  # characters: longer HTML is rendered by a worker
MAX_INLINE_TEXT: Final = 524_288  # characters of plain text
MAX_INLINE_MAIL: Final = 2_000_000  # bytes of a whole message that are parsed in this process
MAX_SECONDS: Final = 10.0  # for one message: ten times what the slowest one tested takes
MAX_MEMORY: Final = 1_500_000_000  # bytes of address space of one worker
MAX_STRIPPED: Final = 100_000  # characters shown of a message that could not be read in that time
