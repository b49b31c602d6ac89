"""Text documents and slides: paragraphs, tables, headings. Word and PowerPoint use the same names for them.

Left out as readers leave it out: deleted and moved text, hidden text (`w:vanish`, also by a style), field codes, and
the second version of what has two (`mc:Fallback`). White and tiny text stays, because it may be on a dark ground, and
is counted.
"""

from __future__ import annotations

from typing import Final

from postroom.mime.documents.archive import Archive
from postroom.mime.documents.document import Reading
from postroom.mime.documents.limits import MAX_NESTING
from postroom.mime.documents.markup import Attributes, Handler, relations, walk

_MAIN: Final = "word/document.xml"
_NOTES: Final = ("word/footnotes.xml", "word/endnotes.xml")
_SHOW: Final = "ppt/presentation.xml"
_OFF: Final = frozenset({"0", "false", "off"})
_LEFT_OUT: Final = frozenset({"Fallback", "moveFrom"})
_STYLES: Final = "word/styles.xml"
_TINY: Final = frozenset("1234")  # half points
_BREAKS: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class Paragraphs(Handler):
    def __init__(self, enough: int, hiding: frozenset[str] = frozenset()) -> None:
        """`hiding` are the styles whose text is not shown."""
        self._enough, self._hiding = enough, hiding
        self._chars = 0
        self._lines: list[list[str]] = [[]]  # of the document, then of each cell that is open
        self._rows: list[list[str]] = []
        self._words: list[list[str]] = []  # of each paragraph that is open: a text box is one within another
        self._prefix = ""
        self._skipping = 0  # elements open within one that is left out
        self._in_run = self._is_hidden = self._is_faint = self._in_text = False
        self._in_hiding = False  # a paragraph
        self.hidden = self.faint = 0

    @property
    def said(self) -> str:
        return "\n".join(self._lines[0])

    @property
    def chars(self) -> int:
        return self._chars

    def start(self, name: str, attributes: Attributes) -> None:
        if self._skipping or name in _LEFT_OUT or (name == "tc" and len(self._lines) > MAX_NESTING):
            self._skipping += 1
        elif name == "p":
            self._words.append([])
            self._prefix, self._in_hiding = "", False
        elif name == "r":
            self._in_run, self._is_hidden, self._is_faint = True, self._in_hiding, False
        elif self._in_run and name in ("vanish", "rStyle", "color", "sz"):
            self._look(name, attributes.get("val", ""))
        elif name == "t":
            self._in_text = True
        elif name in _BREAKS and (self._in_run or name == "br"):
            self._add(_BREAKS[name])
        else:
            self._structure(name, attributes)

    def _look(self, name: str, value: str) -> None:
        """How the text of a run looks."""
        if name == "vanish":
            self._is_hidden = value not in _OFF
        elif name == "rStyle":
            self._is_hidden = self._is_hidden or value in self._hiding
        else:
            self._is_faint |= value.upper() == "FFFFFF" if name == "color" else value in _TINY

    def _structure(self, name: str, attributes: Attributes) -> None:
        if name == "pStyle":
            self._in_hiding = attributes.get("val", "") in self._hiding
            level = attributes.get("val", "").removeprefix("Heading")
            self._prefix = "#" * int(level) + " " if level in set("123456") else self._prefix
        elif name == "numPr":
            self._prefix = self._prefix or "- "
        elif name == "tr":
            self._rows.append([])
        elif name == "tc":
            self._lines.append([])

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
        elif name == "t":
            self._in_text = False
        elif name == "r":
            self._in_run = self._is_hidden = False
        elif name == "p" and self._words:
            self._paragraph("".join(self._words.pop()))
        elif name == "tc" and len(self._lines) > 1:
            cell = " ".join(" ".join(self._lines.pop()).split())
            if self._rows:
                self._rows[-1].append(cell)
        elif name == "tr" and self._rows:
            self._lines[-1].append(" | ".join(self._rows.pop()))

    def cut(self) -> None:
        while self._words:
            self._paragraph("".join(self._words.pop()))

    def text(self, data: str) -> None:
        if self._skipping or not self._in_text:
            return
        if self._is_hidden:
            self.hidden += 1
        else:
            self.faint += self._is_faint
            self._add(data)

    def _add(self, data: str) -> None:
        if self._words:
            self._words[-1].append(data)
            self._count(len(data))

    def _count(self, chars: int) -> None:
        self._chars += chars
        self.is_done = self.is_done or self._chars > self._enough

    def _paragraph(self, words: str) -> None:
        self._lines[-1].append(f"{self._prefix}{words}" if words.strip() else words)
        self._prefix = ""
        self._count(1)


class _Styles(Handler):
    """Which styles hide their text."""

    def __init__(self) -> None:
        self._style = ""
        self.hiding: set[str] = set()

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "style":
            self._style = attributes.get("styleId", "")
            return
        value = attributes.get("val", "")
        if (name == "vanish" and value not in _OFF) or (name == "basedOn" and value in self.hiding):
            self.hiding.add(self._style)


def read_word(archive: Archive, enough: int) -> Reading:
    styles = _Styles()
    if archive.has(_STYLES):
        walk(archive, _STYLES, styles)
    said: list[str] = []
    hidden = faint = 0
    for name in (_MAIN, *filter(archive.has, _NOTES)):
        part = Paragraphs(enough, frozenset(styles.hiding))
        walk(archive, name, part)
        if name == _MAIN or part.said.strip():
            said += [part.said] if name == _MAIN else ["", "Notes:", part.said]
        hidden, faint = hidden + part.hidden, faint + part.faint
        if part.is_done:
            break
    notes = (*_about_hidden(hidden, "piece", "text"), *((f"White or tiny pieces of text: {faint}.",) if faint else ()))
    return Reading("\n".join(said), notes, not part.is_done)


class _Slides(Handler):
    def __init__(self) -> None:
        self.ids: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sldId":
            self.ids.append(attributes.get("id", ""))


class _Slide(Paragraphs):
    is_shown = True

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sld" and attributes.get("show") in _OFF:
            self.is_shown, self.is_done = False, True
        super().start(name, attributes)


def read_slides(archive: Archive, enough: int) -> Reading:
    order, parts = _Slides(), relations(archive, _SHOW)
    walk(archive, _SHOW, order)
    said: list[str] = []
    chars = hidden = 0
    for number, ref in enumerate(order.ids, 1):
        if chars > enough:
            return Reading("\n".join(said), _about_hidden(hidden, "slide"), is_whole=False)
        slide = _Slide(enough - chars)
        if archive.has(parts.get(ref, "")):
            walk(archive, parts[ref], slide)
        hidden += not slide.is_shown
        if slide.is_shown:
            said += [f"## Slide {number}", slide.said, ""]
            chars += slide.chars
    return Reading("\n".join(said), _about_hidden(hidden, "slide"), chars <= enough)


def _about_hidden(count: int, what: str, of: str = "") -> tuple[str, ...]:
    if not count:
        return ()
    pieces = f"1 hidden {what}" if count == 1 else f"{count} hidden {what}s"
    return (f"{pieces}{f' of {of}' if of else ''} left out.",)
