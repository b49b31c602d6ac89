"""What was read of an attachment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "image", "file"]


class NotReadable(Exception):
    """Why there is no text, as a sentence for whoever wanted to read it."""


@dataclass(frozen=True, slots=True)
class Document:
    """`text` is cleaned. `is_whole`: the text ends where the document ends. `mime_type` is what the bytes are, not what
    they claim to be; of an image it is set only if the image may be shown."""

    kind: Kind
    mime_type: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What a format's reader returns: text that is not cleaned yet."""

    text: str
    notes: tuple[str, ...] = ()
    is_whole: bool = True
