"""How much of one attachment is read."""

from __future__ import annotations

from typing import Final

MAX_BYTES: Final = 25_000_000  # of the attachment: what most providers let through
MAX_CHARS: Final = 2_000_000  # of its text, as of a message
MAX_UNPACKED: Final = 60_000_000  # bytes of all parts of an office document together
MAX_ENTRIES: Final = 20_000  # files in an archive
MAX_SHARED: Final = 300_000  # strings that a workbook's cells refer to
MAX_COLUMNS: Final = 200  # of a row that are shown
MAX_NESTING: Final = 20  # tables within tables
MAX_PAGES: Final = 5_000
MAX_IMAGE: Final = 750_000  # bytes: a megabyte in base64, which is all that some clients take
MAX_SIDE: Final = 8_000  # pixels: a small file may claim a picture that no memory holds
SECONDS: Final = 20.0  # for one attachment
SECONDS_FOR_PAGES: Final = 12.0  # after which no further page of a PDF is begun
MEMORY: Final = 1_500_000_000  # bytes of address space
