"""An HTML document as compact Markdown: layout flattened, links short and honest, images as their alt text."""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from postroom.mime.clean import clean_line, clean_text, is_longer
from postroom.mime.html import backgrounds
from postroom.mime.html.doubts import with_even_marks
from postroom.mime.html.links import disguised_host, numbered_link, whole_link
from postroom.mime.html.tags import Tags, tags_in
from postroom.mime.limits import MAX_LINKS, MAX_RENDERED
from postroom.mime.quotes.html import outside_quotes

if TYPE_CHECKING:
    from turbohtml import Document, Element, Markdown

_TABLE_PARTS: Final = ("table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption", "colgroup", "col", "center")
_MAX_CELL: Final = 80  # characters: longer cells are prose in columns, not data
_MEANINGLESS_ALT = re.compile(
    r"(?:\W*|image|img|photo|picture|logo|icon|spacer|banner|header|footer|pixel|blank|divider|null|undefined"
    r"|(?:image|img)[-_ ]?\d+|\S+\.(?:png|jpe?g|gif|webp|svg|bmp))\Z",
    re.IGNORECASE,
)
_NO_SIZE = re.compile(r"(?<![\w-])(?:max-)?(?:width|height)\s*+:\s*+[0-3](?:px)?+\s*+(?:;|!|\Z)", re.IGNORECASE)
# Each starts with what is rare and then looks back: the other way round, every character would be looked back from.
_LINE_ENDS = re.compile(r"[ \t\\](?<![ \t\\]{2})[ \t\\]*+(?=\n|\Z)")
_SPACES = re.compile(r"[ \t](?<=\S[ \t])[ \t]++")
_EMPTY_LINES = re.compile(r"\n\n\n++")
_TWO_SPACES = re.compile("  ")  # found in half the time that `in` takes for two characters
# A bullet, a quote mark or a heading with nothing after it; the line under a table's head does not count.
_WITHOUT_WORDS = re.compile(r"\n(?!\| -)[ \t\-*+#>|\\]++(?=\n|\Z)")
_ODD_LINE = re.compile(rf"\n(?<= \n)|{_WITHOUT_WORDS.pattern}")  # without words, or with a blank at its end
_TAG = re.compile(r"<(?=/?[a-zA-Z][a-zA-Z0-9-]*(?:[\s/][^<>]*)?>|!--|!\[)")  # as text: the author wrote about HTML
_FEW_WORDS: Final = 600  # characters of text up to which a linked picture without words is worth showing
_PICTURE: Final = "picture"
_DEEPEST: Final = 10  # nested quotes and lists that are shown as such
_DEEPEST_PLAIN: Final = 4  # the same in plain text, which indents further
_LISTS: Final = ("ul", "ol", "menu", "dir")
_MARKS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "strike": "~~"}
_STRUCK: Final = 'span[style*="line-through" i],font[style*="line-through" i]'  # an old price, a deleted word
_CODE: Final = ("code", "kbd", "samp", "tt")
_STRESSES: Final = (*_MARKS, *_CODE)
_STRESSED: Final = f":is({','.join(_STRESSES)})"
_DEEPEST_STRESS: Final = 4  # each is rendered separately with its content
_MAX_STRESSED: Final = 4_000  # characters
_BLOCKS: Final = "p,div,ul,ol,blockquote,h1,h2,h3,h4,h5,h6,pre"  # what follows them begins on a line of its own


def to_markdown(document: Document) -> str:
    """Modifies the document: links, images and tables are changed in place."""
    for struck in document.select(_STRUCK):
        struck.tag = "s"
    tags = tags_in(document)
    _flatten_tables(document)
    _flatten_deep(document, tags)
    _flatten_lists(document, tags)
    _tell_images(document)
    _tell_backgrounds(document)
    _tell_links(document)
    return _TAG.sub(r"\\<", compact(document.to_markdown(_options())))


def to_plain_text(document: Document, tags: Tags | None = None) -> str:
    """Words only, for the index, without images. Modifies the document. `tags`: it has no others of these kinds."""
    tags = tags_in(document) if tags is None else tags
    _flatten_deep(document, tags, _DEEPEST_PLAIN)
    _flatten_lists(document, tags)
    parts = [document.select(tag) for tag in _TABLE_PARTS if tag in tags]  # all, before the first is another tag
    for part in chain.from_iterable(parts):
        part.tag = "div"
    return compact(document.to_text())


def to_text_with_links(document: Document) -> str:
    """To be read as text: as `to_plain_text`, with the full address after the words of each link."""
    from turbohtml import Text

    _tell_backgrounds(document)
    for link in document.select("a[href]"):
        words, target = clean_line(link.text), whole_link(link.attr("href") or "")
        says_it = _bare(words) == _bare(target.removeprefix("mailto:"))
        if target and not says_it and (words or link.select_one("img")):
            link.insert_after(Text(f" <{target}>" if words else f"<{target}>"))
    return to_plain_text(document)


def compact(text: str) -> str:
    """Cleaned, no runs of spaces, no trailing spaces."""
    text = f"\n{clean_text(text[:MAX_RENDERED])}\n"
    if "\t" in text or "\\" in text or _ODD_LINE.search(text):
        text = _WITHOUT_WORDS.sub("", _LINE_ENDS.sub("", text))
    if "\t" in text or _TWO_SPACES.search(text):
        text = _SPACES.sub(" ", text)
    text = _EMPTY_LINES.sub("\n\n", text)
    return with_even_marks(text).strip()


@cache
def _options() -> Markdown:
    from turbohtml import Markdown

    return Markdown(
        images=Markdown.Images(mode="alt"),
        escaping=Markdown.Escaping(mode="none", asterisks=False, underscores=False),
        tables=Markdown.Tables(cell_blocks="text"),
        links=Markdown.Links(skip_internal=True),
        converters={
            **{tag: partial(_emphasised, mark) for tag, mark in _MARKS.items()},
            **dict.fromkeys(_CODE, _coded),
        },
    )


def _emphasised(mark: str, element: Element, inner: str) -> str:
    """The library joins what follows several lines to them, without the space or the line break between."""
    marked = _marked(mark, element, inner)
    return marked + _gap_after(element) if "\n" in marked else marked


def _gap_after(element: Element) -> str:
    from turbohtml import Text

    after = element.next_sibling
    if after is not None and element.select_one(_BLOCKS) is not None:
        return "\n\n"
    is_apart = element.text[-1:].isspace() or (isinstance(after, Text) and after.text[:1].isspace())
    return " " if is_apart else ""


def _marked(mark: str, element: Element, inner: str) -> str:
    """The library writes tags where non-ASCII letters or symbols touch the mark: right for a Markdown parser, noise for
    a reader. Several paragraphs stay as they are, and so does what is longer than anybody would emphasize."""
    if len(inner) > _MAX_STRESSED:
        return inner
    if "<br>" in inner and "  \n" not in inner and element.select_one("br") is not None:
        inner = inner.replace("<br>", "\n")  # the library's own, where several follow one another
    words = inner.strip()
    if not words or "\n\n" in words:
        return inner
    start = len(inner) - len(inner.lstrip())
    return f"{inner[:start]}{mark}{words}{mark}{inner[start + len(words) :]}"


def _coded(element: Element, inner: str) -> str:
    """As `_emphasised`: where two pieces of code touch, the library writes tags. Code within code is marked already."""
    return inner if "`" in inner else _emphasised("`", element, inner)


def _flatten_tables(document: Document) -> None:
    """Every table becomes plain blocks, except those that contain data."""
    kept: set[Element] = set()
    for table in document.select("table"):
        if _is_data(table):
            kept.update(table.iter_elements(include_self=True))
    for part in document.select(",".join(_TABLE_PARTS)):
        if part not in kept:
            part.tag = "div"


def _flatten_deep(document: Document, tags: Tags, deepest: int = _DEEPEST) -> None:
    """Every line is indented once for each quote and list around it: without a bound, indentation would make up most
    of the output."""
    for kind in ("blockquote", "ul", "ol"):
        for element in document.select(f"{kind} " * deepest + kind) if kind in tags else ():
            element.tag = "div"
    if sum(len(document.select(tag)) for tag in _STRESSES if tag in tags) > _DEEPEST_STRESS:
        for element in document.select(f"{_STRESSED} " * _DEEPEST_STRESS + _STRESSED):
            element.tag = "span"


def _flatten_lists(document: Document, tags: Tags) -> None:
    """A list with anything other than items in it is a way to indent; the library would drop that."""
    if tags.isdisjoint(_LISTS):
        return
    from turbohtml import Element as ElementType

    for listed in (element for tag in _LISTS if tag in tags for element in document.select(tag)):
        if any(
            child.tag != "li" if isinstance(child, ElementType) else not child.text.isspace()
            for child in listed.children
        ):
            listed.tag = "div"


def _is_data(table: Element) -> bool:
    if (table.attr("role") or "").lower() in ("presentation", "none"):
        return False
    if table.select_one("table, img, p, div, h1, h2, h3, ul, ol, blockquote") is not None:
        return False
    rows = [row.select("td, th") for row in table.select("tr")]
    if len(rows) < 2 or len(rows) > 500 or min(map(len, rows)) < 2:
        return False
    return all(len(cell.text) <= _MAX_CELL for row in rows for cell in row)


def _tell_images(document: Document) -> None:
    images = document.select("img")
    if not images:
        return
    own, words = outside_quotes(document)
    is_wordy = is_longer(words, _FEW_WORDS)
    named: set[str] = set()  # one picture cut into pieces leads to the same place
    untold: list[Element] = []
    for image in images:
        if alt := _alt(image) or ("" if is_wordy or is_pixel(image) else _linked(image, named)):
            image.attrs["alt"] = alt
        else:
            untold.append(image)
    if not any(map(str.isalnum, words)) and set(own) <= set(untold):
        _say_that_there_are_pictures(own)
    for image in untold:
        image.decompose()


def _tell_backgrounds(document: Document) -> None:
    links = backgrounds.pictured_links(document)
    if links and not is_longer(document.text, _FEW_WORDS):
        for link in links:
            link.set_text(_PICTURE)


def _linked(image: Element, named: set[str]) -> str:
    """A picture with a link is a button, whatever it shows."""
    link = image.closest("a[href]")
    target = link.attr("href") or "" if link is not None else ""
    if link is None or not target or target in named:
        return ""
    named.add(target)
    return "" if any(map(str.isalnum, link.text)) else _PICTURE


def _say_that_there_are_pictures(images: list[Element]) -> None:
    from turbohtml import Text

    shown = next((image for image in images if not is_pixel(image)), None)
    if shown is not None:
        shown.insert_before(Text(f"[{_PICTURE}]"))


def _alt(image: Element) -> str:
    """An image's alt text; empty for tracking pixels, spacers and file names."""
    alt = "" if is_pixel(image) else clean_line(image.attr("alt") or "")[:150]
    return "" if len(alt) < 3 or _MEANINGLESS_ALT.match(alt) else alt


def is_pixel(image: Element) -> bool:
    """An invisible image is there to tell the sender that the message was opened."""
    sides = [(image.attr(side) or "").strip(" px")[:6] for side in ("width", "height")]
    if any(side.isdecimal() and int(side) <= 3 for side in sides):
        return True
    return _NO_SIZE.search((image.attr("style") or "")[:2_000]) is not None


def _numbered(document: Document) -> dict[str, int]:
    """Every address once, in the order of the message."""
    numbers: dict[str, int] = {}
    for link in document.select("a[href]")[:MAX_LINKS]:
        numbers.setdefault(link.attr("href") or "", len(numbers) + 1)
    return numbers


def has_more_links(document: Document) -> bool:
    """More links than are shown."""
    return len(document.select("a[href]")) > MAX_LINKS


def to_links(document: Document) -> str:
    """Every link in full, by the number that it has in Markdown where it is shortened."""
    listed = ((number, whole_link(href)) for href, number in _numbered(document).items())
    return "\n".join(f"{number}. {href}" for number, href in listed if href)


def _tell_links(document: Document) -> None:
    from turbohtml import Text

    numbers = _numbered(document)
    for link in document.select("a"):
        href = link.attr("href") or ""
        if href and href not in numbers:
            link.unwrap()
            continue
        words = clean_line(link.text)
        shown = numbered_link(href, numbers.get(href, 0), len(words))
        if not shown or not (words or link.select_one("img")):
            link.unwrap()
            continue
        real = disguised_host(words, href)
        link.attrs["href"] = shown
        if "title" in link.attrs:
            del link.attrs["title"]
        if real:
            link.insert_after(Text(f" (really: {real})"))
        elif _bare(words) == _bare(shown):
            link.set_text(shown)


def _bare(address: str) -> str:
    return address.removeprefix("https://").removeprefix("http://").rstrip("/")
