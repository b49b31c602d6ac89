"""The parts of an office document: files in a ZIP archive, unpacked piece by piece and never beyond a total."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Final

from postroom.mime.documents.document import NotReadable
from postroom.mime.documents.limits import MAX_ENTRIES, MAX_PART_WORK, MAX_UNPACKED, MAX_WORK, PART_WORK

WORD: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEETS: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SLIDES: Final = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
# Every document has its main part under this name; it stands in the archive's list, uncompressed.
_MAIN: Final = {b"word/document.xml": WORD, b"xl/workbook.xml": SHEETS, b"ppt/presentation.xml": SLIDES}
_ENTRY: Final = b"PK\x01\x02"  # begins each line of the archive's list
_PIECE: Final = 65_536
# All that the format allows. The library unpacks others without a bound: a kilobyte becomes a gigabyte in one piece.
_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED: Final = "The document is damaged and cannot be read."
TOO_LARGE: Final = "The document unpacks to more than is read here. Download it to open it with its own program."


def office_type(content: bytes) -> str:
    """Which kind of office document it is, without opening it; empty for other archives."""
    return next((kind for name, kind in _MAIN.items() if name in content), "")


class Archive:
    def __init__(self, content: bytes) -> None:
        if content.count(_ENTRY) > MAX_ENTRIES:  # before the library makes an object of each
            raise NotReadable(TOO_LARGE)
        try:
            self._zip = zipfile.ZipFile(BytesIO(content))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            raise NotReadable(_DAMAGED) from None
        self._left = MAX_UNPACKED
        self._work = MAX_WORK
        self.is_cut = False  # a part was too much work to be read to its end

    def has(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def work_for_part(self) -> int:
        """How much one part may cost that is opened now."""
        self.spend(PART_WORK)
        return min(self._work, MAX_PART_WORK)

    def spend(self, work: int) -> None:
        self._work = max(0, self._work - work)

    def pieces(self, name: str) -> Iterator[bytes]:
        """A part, piece by piece. What the archive says about sizes is not believed; what comes out is counted."""
        if not self.has(name):
            return
        entry = self._zip.getinfo(name)
        if entry.compress_type not in _COMPRESSIONS:
            raise NotReadable(_DAMAGED)
        if entry.flag_bits & 1:
            raise NotReadable("The document is protected by a password and cannot be read.")
        try:
            with self._zip.open(name) as part:
                while piece := part.read(_PIECE):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise NotReadable(TOO_LARGE)
                    yield piece
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError):
            raise NotReadable(_DAMAGED) from None


def target_of(source: str, target: str) -> str:
    """The name of a part that another refers to, relative to it or from the root."""
    return (
        target.lstrip("/")
        if target.startswith("/")
        else posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    )
