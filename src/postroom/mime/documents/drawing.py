"""What it takes to read the pages of a PDF, estimated from their bytes before they are read.

The unit is what a byte of text takes that a page shows. A long document may take as long as it has text to show; what
costs much and shows little ends at `MAX_PAGES_WORK`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from postroom.mime.documents.limits import MAX_PAGES_WORK

if TYPE_CHECKING:
    from pypdf import PageObject
    from pypdf.generic import DictionaryObject, StreamObject

_PAGE: Final = 300
_FONT: Final = 100
_STRING: Final = 15
_MAX_REFUSED: Final = 20
_DEEPEST: Final = 100  # of the tree of pages
_PER_LETTER: Final = 2  # what a letter that is shown may cost
_RANGES = re.compile(rb"beginbfrange(.*?)endbfrange", re.DOTALL)
_RANGE = re.compile(rb"<\s*([0-9a-fA-F]{1,8})\s*>\s*<\s*([0-9a-fA-F]{1,8})\s*>\s*[<\[]")


class Drawing:
    """The pages of one document, and the forms that they draw."""

    def __init__(self) -> None:
        self._left = MAX_PAGES_WORK
        self._has_begun = False
        self._forms: dict[int, tuple[object, str]] = {}  # a form may be drawn thousands of times
        self.refused = 0  # forms that were too much work

    def begins(self, page: PageObject) -> bool:
        """Whether a page may be read: the first whatever it draws, unless its fonts are too many, and then as many as
        are paid for. Its forms are counted from then on."""
        contents = page.get_contents()
        fonts = _PAGE + _fonts(page)
        cost = fonts + (_commands(contents.get_data()) if contents is not None else 0)
        if (cost if self._has_begun else fonts) > self._left:
            return False
        self._has_begun = True
        self._left -= cost
        read_form = page.extract_xform_text

        def counted(form: Any, *given: Any, **named: Any) -> str:
            return self._form(form, lambda: read_form(form, *given, **named))

        vars(page)["extract_xform_text"] = counted  # which the library calls for every form that a page draws
        return True

    def has_shown(self, letters: int) -> None:
        self._left += _PER_LETTER * letters

    def _form(self, form: StreamObject, read: Any) -> str:
        """The text of a part that is drawn on several places. The same form has the same text, wherever it is drawn."""
        known = self._forms.get(id(form))
        if known is None and self.refused > _MAX_REFUSED:  # each was unpacked to see what it takes
            return ""
        cost = _STRING + len(known[1]) if known is not None else _fonts(form) + _commands(form.get_data())
        if cost > self._left:
            self.refused += 1
            return ""
        self._left -= cost
        text: str = known[1] if known is not None else read()
        self._forms[id(form)] = form, text
        return text


def _commands(data: bytes) -> int:
    """Lines cost a third of what text costs, and each string some more."""
    return len(data) // 3 + _STRING * (data.count(b"(") + data.count(b"<"))


def _fonts(drawn: DictionaryObject) -> int:
    """What the fonts cost, which are read again for every page and form: by the characters that they map."""
    fonts = _entry(_inherited(drawn, "/Resources"), "/Font")
    return sum(_FONT + _mapped(font.get_object()) for font in fonts.values()) if hasattr(fonts, "values") else 0


def _inherited(drawn: Any, name: str) -> Any:
    """A page without resources uses those of the tree above it."""
    for _ in range(_DEEPEST):
        if name in drawn or "/Parent" not in drawn:
            break
        drawn = _entry(drawn, "/Parent")
    return _entry(drawn, name)


def _entry(dictionary: Any, name: str) -> Any:
    """What a dictionary refers to, if it is one and does."""
    found = dictionary.get(name) if hasattr(dictionary, "get") else None
    return None if found is None else found.get_object()


def _mapped(font: Any) -> int:
    table = _entry(font, "/ToUnicode")
    if not hasattr(table, "get_data"):
        return 0
    data = table.get_data()
    ranges = (pair for block in _RANGES.findall(data) for pair in _RANGE.findall(block))
    return len(data) // 3 + 2 * sum(max(0, int(last, 16) - int(first, 16)) for first, last in ranges)
