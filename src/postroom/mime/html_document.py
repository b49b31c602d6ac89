"""A mail's HTML, opened: capped, cleaned of invisible characters, parsed, rid of what no reader could have seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from postroom.mime.clean import clean_text, hidden_runs
from postroom.mime.hidden import drop_hidden
from postroom.mime.limits import MAX_TEXT

if TYPE_CHECKING:
    from turbohtml import Document


@dataclass(frozen=True, slots=True)
class OpenedHtml:
    document: Document
    hidden_removed: int
    was_cut: bool


def open_html(html: str) -> OpenedHtml:
    from turbohtml import parse

    source = html[:MAX_TEXT]
    cleaned = clean_text(source)
    document = parse(cleaned, positions=False, allow_declarative_shadow_roots=False)
    removal = drop_hidden(document)
    runs = 0 if cleaned is source else hidden_runs(source)
    return OpenedHtml(document, removal.pieces + runs, removal.was_cut or len(html) > MAX_TEXT)
