"""An HTML document as compact Markdown: layout flattened, links short and honest, images by their words only."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from postroom.mime.clean import clean_line, clean_text
from postroom.mime.limits import MAX_RENDERED
from postroom.mime.links import disguised_host, short_link

if TYPE_CHECKING:
    from turbohtml import Document, Element, Markdown

_TABLE_PARTS: Final = "table,tbody,thead,tfoot,tr,td,th,caption,colgroup,col,center"
_MAX_CELL: Final = 80  # characters: longer cells are prose in columns, not data
_MEANINGLESS_ALT = re.compile(
    r"(?:\W*|image|img|photo|picture|logo|icon|spacer|banner|header|footer|pixel|blank|divider|null|undefined"
    r"|(?:image|img)[-_ ]?\d+|\S+\.(?:png|jpe?g|gif|webp|svg|bmp))\Z",
    re.IGNORECASE,
)
_SPACES = re.compile(r"(?<=\S)[ \t]{2,}")


def to_markdown(document: Document) -> str:
    """The document is used up: links, images and tables are changed in place on the way."""
    _flatten_tables(document)
    _tell_images(document)
    _tell_links(document)
    return compact(document.to_markdown(_options()))


def to_plain_text(document: Document) -> str:
    """Words only, for reading as text and for the index: images say nothing. The document is used up."""
    for part in document.select(_TABLE_PARTS):
        part.tag = "div"
    return compact(document.to_text())


def compact(text: str) -> str:
    """Cleaned once more (entities may have been hiding something), no blank runs, no trailing blanks."""
    lines = [line.rstrip(" \t\\") for line in clean_text(text[:MAX_RENDERED]).split("\n")]
    text = "\n".join([line for line in lines if not line or line[-1].isalnum() or not _is_empty(line)])
    if "  " in text or "\t" in text:
        text = _SPACES.sub(" ", text)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()


def _is_empty(line: str) -> bool:
    """A bullet, a quote mark or a heading with nothing behind it; the line under a table's head is none."""
    return not line.strip(" \t-*+#>|\\") and not line.startswith("| -")


@cache
def _options() -> Markdown:
    from turbohtml import Markdown

    return Markdown(
        images=Markdown.Images(mode="alt"),
        escaping=Markdown.Escaping(mode="none", asterisks=False, underscores=False),
        tables=Markdown.Tables(cell_blocks="text"),
        links=Markdown.Links(skip_internal=True),
    )


def _flatten_tables(document: Document) -> None:
    """Every table becomes plain blocks, except those that hold data."""
    kept: set[Element] = set()
    for table in document.select("table"):
        if _is_data(table):
            kept.update(table.iter_elements(include_self=True))
    for part in document.select(_TABLE_PARTS):
        if part not in kept:
            part.tag = "div"


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
    for image in document.select("img"):
        alt = _alt(image)
        if alt:
            image.attrs["alt"] = alt
        else:
            image.decompose()


def _alt(image: Element) -> str:
    """What an image says in words; empty for tracking pixels, spacers and names of files."""
    alt = "" if is_pixel(image) else clean_line(image.attr("alt") or "")[:150]
    return "" if len(alt) < 3 or _MEANINGLESS_ALT.match(alt) else alt


def is_pixel(image: Element) -> bool:
    """An image that nobody sees is there to tell its sender that the mail was opened."""
    sides = [(image.attr(side) or "").strip(" px")[:6] for side in ("width", "height")]
    return any(side.isdecimal() and int(side) <= 3 for side in sides)


def _tell_links(document: Document) -> None:
    from turbohtml import Text

    for link in document.select("a"):
        href = link.attr("href") or ""
        words = clean_line(link.text)
        shown = short_link(href)
        if not shown or not (words or link.select_one("img")):
            link.unwrap()
            continue
        real = disguised_host(words, href)
        link.attrs["href"] = shown
        if "title" in link.attrs:
            del link.attrs["title"]
        if real:
            link.insert_after(Text(f" (really: {real})"))
        elif words.removeprefix("https://").removeprefix("http://").rstrip("/") == shown.partition("://")[2].rstrip(
            "/"
        ):
            link.set_text(shown)
