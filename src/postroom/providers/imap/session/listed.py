"""What a line of LIST says of a folder."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from postroom.providers.imap.session import wire

if TYPE_CHECKING:
    from postroom.providers.imap.session.client import Session


def read_row(session: Session, line: wire.Raw) -> tuple[list[str], str, str] | None:
    """Its attributes in lower case, the separator of levels and its name; None where it is no such line."""
    tokens = wire.read_tokens([line])
    if len(tokens) < 3 or not isinstance(tokens[0], list):
        return None
    flags = [flag.decode("ascii", "replace").lower() for flag in tokens[0] if isinstance(flag, bytes)]
    return flags, (tokens[1] or b"").decode("ascii", "replace"), session.read_name(tokens[2])


def can_be_opened(flags: Collection[str]) -> bool:
    return not {"\\noselect", "\\nonexistent"}.intersection(flags)
