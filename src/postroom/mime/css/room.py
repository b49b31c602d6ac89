"""Whether the content of a box fits into it, by estimating the letters' width and what displaces them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

from postroom.mime.css.effects import Effect
from postroom.mime.css.stylesheet import Stylesheet
from postroom.mime.css.visibility import Look

if TYPE_CHECKING:
    from turbohtml import Element, Node

_FILLS_ANY_BOX: Final = 10_000  # characters
_COLLAPSED: Final = " \t\r\n\f"  # other spaces take room
_NODES: Final = 3  # that are measured in one unit of work
BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"),
        *(
            "legend",
            "li",
            "listing",
            "main",
            "marquee",
            "menu",
            "nav",
            "ol",
            "p",
            "plaintext",
            "pre",
            "search",
            "section",
        ),
        *("summary", "ul", "xmp", "caption", "button", "select", "textarea", "input"),
    }
)
_SPACED: Final = frozenset({"p", "h1", "h2", "h3", "h4", "ul", "ol", "dl", "blockquote", "pre"})  # by a browser
_OWN_LINES: Final = _SPACED | {"div", "li", "tr", "dt", "dd", "h5", "h6", "section", "article", "header", "footer"}
CELLS: Final = frozenset({"table", "tbody", "thead", "tfoot", "tr", "td", "th"})


@dataclass(slots=True)
class _Content:
    """What comes before a word: letters, and pixels taken by other things."""

    letters: int = 0
    breaks: float = 0  # lines that ended, and the space between blocks
    is_fresh: bool = True  # nothing is in the line yet
    right: float = 0.0
    down: float = 0.0


def fits(element: Element, look: Look, effect: Effect, tag: str, sheet: Stylesheet) -> bool:
    """Whether a box that hides the rest shows at least half of its text."""
    from turbohtml import Element as ElementType
    from turbohtml import Text

    boxed = effect.is_block if effect.is_block is not None else tag in BLOCKS
    if not boxed or tag in CELLS or effect.room is None:
        return True
    content = _Content(right=max(0.0, effect.indent or 0.0), down=effect.leading)
    rights: dict[Node | None, float] = {}  # pixels to the left of what is within an element
    pushed = 0.0  # by the box before
    for number, node in enumerate(element.descendants):
        if content.letters > _FILLS_ANY_BOX or (number % _NODES == 0 and not sheet.spend(1)):
            return False
        if node.parent is element:
            content.down += pushed
            pushed = _height_of(node, sheet) if isinstance(node, ElementType) else 0.0
        if isinstance(node, ElementType):
            _add(content, node, sheet)
            own = sheet.effect_on(node)
            rights[node] = rights.get(node.parent, 0.0) + (own.takes[0] if own is not None else 0.0)
        elif isinstance(node, Text) and (words := node.text.strip(_COLLAPSED)):
            content.letters += 1 + len(words)
            content.is_fresh = False
            if effect.room[1] == inf:
                if rights.get(node.parent, 0.0) >= effect.room[0]:
                    return False
            elif any(map(str.isalnum, words)) and not _is_within(content, effect.room, look.font):
                return False
    return True


def _add(content: _Content, element: Element, sheet: Stylesheet) -> None:
    tag = element.tag
    content.breaks += tag == "br"
    effect = sheet.effect_on(element)
    if (
        not content.is_fresh
        and tag in _OWN_LINES
        and (effect is None or (effect.is_block is None and not effect.position))
    ):
        content.breaks += 2 if effect is None and tag in _SPACED else 1
        content.is_fresh = True
    height = _said_height(element) or (effect.height if effect is not None else 0.0)
    if height and (tag == "img" or not element.text.strip()):
        content.down += height
    if effect is None:
        return
    content.right += effect.takes[0]
    if effect.position not in ("", "static") or effect.is_block or tag in BLOCKS or tag in CELLS or tag == "hr":
        content.down += effect.takes[1] + effect.leading


def _height_of(element: Element, sheet: Stylesheet) -> float:
    """Of a block with words in it; those without are counted where they begin."""
    effect = sheet.effect_on(element)
    is_block = effect is not None and (effect.is_block or (effect.is_block is None and element.tag in BLOCKS))
    is_apart = effect is not None and effect.position in ("absolute", "fixed")
    return effect.height if effect is not None and is_block and not is_apart and element.text.strip() else 0.0


def _said_height(element: Element) -> float:
    """By the legacy attribute."""
    said = (element.attr("height") or "").strip(" px")[:5]
    return float(said) if said.isdecimal() else 0.0


def _is_within(content: _Content, room: tuple[float, float], font: float) -> bool:
    width, height = room
    lines = 1 + content.breaks + content.letters * font * 0.5 / max(width, 1.0)
    above = (content.breaks + 0.25) * font * 1.15  # at least this much is above the last line
    return lines * font * 1.15 <= 2 * height + font and max(content.down, above) < height and content.right < width
