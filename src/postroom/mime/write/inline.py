"""Pictures within an HTML text: ``<img src="cid:logo.png">`` shows the attached file of that name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote

from postroom.model.characters import spelt_out
from postroom.model.draft import File
from postroom.model.errors import InvalidRequest

_REFERENCE = re.compile(
    r"""(?P<before>\b(?:src|background|poster)\s{0,9}=\s{0,9}|\burl\(\s{0,9})"""
    r"""(?:"cid:(?P<double>[^"]{1,300})"|'cid:(?P<single>[^']{1,300})'|cid:(?P<bare>[^\s"'>)]{1,300}))""",
    re.IGNORECASE,
)


def with_pictures(html: str, files: Sequence[File]) -> tuple[str, tuple[File, ...]]:
    """The HTML and the files, each picture that the HTML shows under an id of its own, derived from its content.

    A reference may also be the id that a file has already. InvalidRequest for one that names no attached picture.
    """
    kept = list(files)

    def referred(found: re.Match[str]) -> str:
        name = found["double"] or found["single"] or found["bare"]
        place = _place_of(name, kept)
        if not kept[place].content_id:
            kept[place] = replace(kept[place], inline=True, content_id=_content_id(kept[place], place))
        return (
            f'{found["before"]}"cid:{kept[place].content_id}"'
            if found["bare"] is None
            else (f"{found['before']}cid:{kept[place].content_id}")
        )

    return _REFERENCE.sub(referred, html), tuple(kept)


def shown_ids(html: str) -> frozenset[str]:
    """The ids of all pictures that the HTML shows."""
    return frozenset(
        unquote(found["double"] or found["single"] or found["bare"]) for found in _REFERENCE.finditer(html)
    )


def _place_of(name: str, files: Sequence[File]) -> int:
    wanted = unquote(name)
    for place, file in enumerate(files):
        if file.content_id and file.content_id.strip("<>") == wanted:
            return place
    for place, file in enumerate(files):
        if file.filename.casefold() == wanted.casefold() and file.mime_type.lower().startswith("image/"):
            return place
    raise InvalidRequest(
        f"body_html shows cid:{spelt_out(wanted[:100])}, but no attached picture has that name. Attach the picture, or "
        "remove it from body_html.",
        details={"field": "body_html"},
    )


def _content_id(file: File, place: int) -> str:
    return f"{hashlib.sha256(file.content).hexdigest()[:24]}.{place}@inline"
