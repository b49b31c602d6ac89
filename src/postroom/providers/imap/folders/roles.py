"""What a folder is for, as the server says it (SPECIAL-USE)."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.model.folder import Role

SPECIAL_USE = {
    "\\sent": Role.SENT,
    "\\drafts": Role.DRAFTS,
    "\\trash": Role.TRASH,
    "\\junk": Role.JUNK,
    "\\archive": Role.ARCHIVE,
    "\\all": Role.ALL,
    "\\flagged": Role.FLAGGED,
}


def special_use(attributes: Iterable[str]) -> Role | None:
    return next((role for name in attributes if (role := SPECIAL_USE.get(name.lower()))), None)
