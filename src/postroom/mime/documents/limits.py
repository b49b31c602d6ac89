"""How much of one attachment is read."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 25_000_000  # of the attachment: what most providers let through
MAX_CHARS: Final = 2_000_000  # of its text, as of a message
MAX_UNPACKED: Final = 60_000_000  # bytes of all parts of an office document together
MAX_ENTRIES: Final = 20_000  # files in an archive
MAX_WORK: Final = 1_200_000  # elements and attributes of all its parts, an element counting twice
MAX_PART_WORK: Final = 800_000  # of these, of one part: a workbook's strings leave some for its cells
PART_WORK: Final = 200  # what opening a part costs, in the same units
MAX_TOKEN: Final = 1_000_000  # bytes of one tag or comment, about: it is scanned again with every piece
MAX_CELL: Final = 32_767  # characters: as many as a spreadsheet takes
MAX_COLUMNS: Final = 200  # of a row that are shown
MAX_NESTING: Final = 20  # tables within tables
MAX_PAGES: Final = 5_000
MAX_LISTED_PAGES: Final = 20_000  # of a PDF that has more, none is read
MAX_IMAGE: Final = 750_000  # bytes: a megabyte in base64, which is all that some clients take
MAX_SIDE: Final = 8_000  # pixels: a small file may claim a picture that no memory holds
SECONDS: Final = 20.0  # for one attachment
SECONDS_FOR_PAGES: Final = 12.0  # after which no further page of a PDF is begun
WORK_FOR_PAGES: Final = 4.0  # seconds of processor time, likewise
MAX_PAGES_WORK: Final = 400_000  # of a PDF beyond what its text costs, in letters of text (see `drawing`)
MAX_DRAWING: Final = 200_000  # commands and their operands that draw one page of a PDF; a page of text has some 10,000
MAX_STREAM: Final = 20_000_000  # bytes that one part of a PDF unpacks to
MEMORY: Final = 1_500_000_000  # bytes of address space
