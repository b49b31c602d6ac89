"""PDF: the text of its pages, in order, as far as time and need go."""

from __future__ import annotations

import logging
import time
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal

from postroom.mime.documents.document import NotReadable, Reading
from postroom.mime.documents.drawing import Drawing
from postroom.mime.documents.limits import (
    MAX_DRAWING,
    MAX_LISTED_PAGES,
    MAX_PAGES,
    MAX_STREAM,
    SECONDS_FOR_PAGES,
    WORK_FOR_PAGES,
)

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_LOCKED = "The PDF is protected by a password and cannot be read."
_DAMAGED = "The PDF is damaged and cannot be read."
_TOO_MANY = "The PDF has more pages or parts than are read here. Download it to open it with its own program."
_FORMS_CUT = "Parts that its pages repeat too often, or that are too large, were left out."
_SCANNED = "No text was found in it: probably pictures of pages, a scan. Download it to look at it."
_LIMITS: Final[dict[str, Any]] = {
    "zlib_maximum_output_length": MAX_STREAM,
    "lzw_maximum_output_length": MAX_STREAM,
    "run_length_maximum_output_length": MAX_STREAM,
    "array_based_stream_maximum_output_length": MAX_STREAM,
    "stream_parsing_work_maximum_count": MAX_DRAWING,
    "page_tree_maximum_entries": MAX_LISTED_PAGES,
}


def read_pdf(content: bytes, enough: int, seconds: float = SECONDS_FOR_PAGES) -> Reading:
    """Text that is drawn invisibly is included: that is how scans carry the words of their pictures."""
    from pypdf import PdfReader, apply_configuration  # 100 ms to import: only where there is a PDF
    from pypdf.errors import LimitReachedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # its warnings repeat what is in the file
    until = time.monotonic() + seconds, time.process_time() + WORK_FOR_PAGES
    with apply_configuration(**_LIMITS):
        try:
            reader = PdfReader(BytesIO(content))
            is_locked = reader.is_encrypted and not reader.decrypt("")
            count = 0 if is_locked else len(reader.pages)
        except LimitReachedError:
            raise NotReadable(_TOO_MANY) from None
        except (PyPdfError, RecursionError):
            raise NotReadable(_DAMAGED) from None
        if is_locked:
            raise NotReadable(_LOCKED)
        return _read_pages(reader, count, enough, until)


def _read_pages(reader: PdfReader, count: int, enough: int, until: tuple[float, float]) -> Reading:
    said: list[str] = []
    notes: list[str] = []
    drawing = Drawing()
    chars = read = found = 0
    for number in range(min(count, MAX_PAGES)):
        if chars > enough or time.monotonic() > until[0] or time.process_time() > until[1]:
            break
        page = _begun(reader, number, drawing)
        if page is False:
            break
        words = _text(page)
        read += 1
        if words is None:
            notes.append(f"Page {number + 1} is damaged or too large and was left out.")
            continue
        found += bool(words.strip())
        said += [f"[page {number + 1} of {count}]", words.strip(), ""]
        chars += len(words)
        drawing.has_shown(len(words))
    if read == count and not found:
        raise NotReadable(notes[0] if notes and len(notes) == count else _SCANNED)
    if read < count and chars <= enough:
        notes.append(f"Only the first {read} of {count} pages could be read in the time allowed.")
    notes += [_FORMS_CUT] if drawing.refused else []
    return Reading("\n".join(said), tuple(notes[:20]), read == count)


def _begun(reader: PdfReader, number: int, drawing: Drawing) -> PageObject | Literal[False] | None:
    """The page; nothing where it is damaged; False where it is too much work, like all that follow."""
    try:
        page = reader.pages[number]
        return page if drawing.begins(page) else False
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - one page that breaks the library costs nobody the others
        return None


def _text(page: PageObject | None) -> str | None:
    try:
        return page.extract_text() if page is not None else None
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - as above
        return None
