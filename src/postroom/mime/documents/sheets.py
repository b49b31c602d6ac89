"""Workbooks: each sheet as lines of cells. Numbers with a date format are shown as dates; formulas by their results."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from postroom.mime.documents.archive import Archive
from postroom.mime.documents.document import NotReadable, Reading
from postroom.mime.documents.limits import MAX_CELL, MAX_COLUMNS
from postroom.mime.documents.markup import Attributes, Handler, relations, walk

_BOOK: Final = "xl/workbook.xml"
_DATES: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})  # the built-in formats
_LITERAL: Final = re.compile(r'"[^"]*+(?:"|\Z)|\[[^\]]*+(?:\]|\Z)|\\.')
_COLUMN: Final = re.compile(r"[A-Z]{1,3}")


class _Book(Handler):
    def __init__(self) -> None:
        self.sheets: list[tuple[str, str, bool]] = []  # name, reference, whether it is shown
        self.starts_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            is_shown = attributes.get("state", "visible") == "visible"
            self.sheets.append((attributes.get("name", ""), attributes.get("id", ""), is_shown))
        elif name == "workbookPr":
            self.starts_1904 = attributes.get("date1904") in ("1", "true")


class _Strings(Handler):
    """The texts that cells refer to by number, without their phonetic readings."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._words: list[str] = []
        self._chars = 0
        self._in_text = self._in_reading = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "rPh":
            self._in_reading = True
        elif name == "t":
            self._in_text = not self._in_reading

    def end(self, name: str) -> None:
        if name == "rPh":
            self._in_reading = False
        elif name == "t":
            self._in_text = False
        elif name == "si":
            self.strings.append("".join(self._words)[:MAX_CELL])
            self._words.clear()
            self._chars = 0

    def text(self, data: str) -> None:
        if self._in_text and self._chars < MAX_CELL:
            self._words.append(data)
            self._chars += len(data)


class _Styles(Handler):
    """Which styles show a number as a date."""

    def __init__(self) -> None:
        self._own: set[int] = set()
        self._in_cells = False
        self.dates: list[bool] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "numFmt" and _shows_date(attributes.get("formatCode", "")):
            self._own.add(_number(attributes.get("numFmtId")))
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            form = _number(attributes.get("numFmtId"))
            self.dates.append(form in _DATES or form in self._own)

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._in_cells = False


class _Sheet(Handler):
    def __init__(self, strings: list[str], dates: list[bool], origin: datetime, enough: int) -> None:
        self._strings, self._dates, self._origin, self._enough = strings, dates, origin, enough
        self._row: dict[int, str] = {}
        self._cell: Attributes = {}
        self._value: list[str] = []
        self._in_value = self._is_hidden = False
        self._columns: set[int] = set()  # those that are not shown
        self.lines: list[str] = []
        self.chars = self.hidden = self.beyond = 0

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "row":
            self._row, self._is_hidden = {}, _is_unseen(attributes)
        elif name == "c":
            self._cell, self._value = attributes, []
        elif name == "col" and _is_unseen(attributes):
            last = min(_number(attributes.get("max")), MAX_COLUMNS)
            self._columns.update(range(_number(attributes.get("min")) - 1, last))
        elif name in ("v", "t"):
            self._in_value = True

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._in_value = False
        elif name == "c":
            self._keep("".join(self._value)[:MAX_CELL])
        elif name == "row" and self._row:
            cells = [self._row.get(column, "") for column in range(max(self._row) + 1)]
            self.lines.append(" | ".join(cells))
            self._row = {}
            self._count(3 * len(cells))

    def text(self, data: str) -> None:
        if self._in_value:
            self._value.append(data)

    def cut(self) -> None:
        self.end("row")

    def _keep(self, value: str) -> None:
        found = _COLUMN.match(self._cell.get("r", ""))
        column = _column(found[0]) if found else len(self._row)
        if not value or self.is_done:
            return
        if column >= MAX_COLUMNS:
            self.beyond += 1
        elif self._is_hidden or column in self._columns:
            self.hidden += 1
        else:
            self._row[column] = " ".join(self._shown(value).split())
            self._count(len(self._row[column]))

    def _count(self, chars: int) -> None:
        self.chars += chars
        self.is_done = self.chars > self._enough

    def _shown(self, value: str) -> str:
        kind = self._cell.get("t", "n")
        if kind == "s":
            place = _number(value)
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        style = _number(self._cell.get("s", "0"))
        is_date = kind == "n" and 0 <= style < len(self._dates) and self._dates[style]
        return _date(value, self._origin) if is_date else value


def read_sheets(archive: Archive, enough: int) -> Reading:
    book, parts = _Book(), relations(archive, _BOOK)
    walk(archive, _BOOK, book)
    strings, styles = _Strings(), _Styles()
    for name, handler in (("xl/sharedStrings.xml", strings), ("xl/styles.xml", styles)):
        if archive.has(name):
            walk(archive, name, handler)
    origin = datetime(1904, 1, 1) if book.starts_1904 else datetime(1899, 12, 30)  # noqa: DTZ001 (cells have no zone)
    said: list[str] = []
    chars = cells = beyond = 0
    for name, ref, is_shown in book.sheets:
        if not is_shown or not archive.has(parts.get(ref, "")):
            continue
        sheet = _Sheet(strings.strings, styles.dates, origin, enough - chars)
        walk(archive, parts[ref], sheet)
        said += [f"## {' '.join(name.split())}", *sheet.lines, ""]
        chars += sheet.chars + len(name)
        cells, beyond = cells + sheet.hidden, beyond + sheet.beyond
        if chars > enough:
            break
    hidden = sum(not is_shown for _, _, is_shown in book.sheets)
    left_out = {"Hidden sheets": hidden, "Cells in hidden rows and columns": cells}
    left_out[f"Cells beyond the first {MAX_COLUMNS} columns"] = beyond
    notes = tuple(f"{what} left out: {count}." for what, count in left_out.items() if count)
    if not said and not hidden:
        raise NotReadable("The workbook has no sheets that can be read.")
    return Reading("\n".join(said), notes, chars <= enough)


def _is_unseen(attributes: Attributes) -> bool:
    """Of a row or a column: hidden, or with neither height nor width."""
    no_size = any(_is_zero(attributes.get(side, "")) for side in ("ht", "width"))
    return attributes.get("hidden") in ("1", "true") or no_size


def _is_zero(size: str) -> bool:
    return bool(size) and not size.strip("0.")


def _shows_date(form: str) -> bool:
    bare = _LITERAL.sub("", form).lower()
    return any(letter in bare for letter in "ydh") or "mm" in bare


def _date(value: str, origin: datetime) -> str:
    try:
        moment = origin + timedelta(seconds=round(float(value) * 86_400))
    except (ValueError, OverflowError):
        return value
    if 0 <= float(value) < 1:
        return f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d}" if float(value).is_integer() else f"{moment:%Y-%m-%d %H:%M}"


def _column(letters: str) -> int:
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else -1
