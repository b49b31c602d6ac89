"""A folder that sends: Courier can be set to mail whatever is put into one, to everybody whom its headers name."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.model.errors import PermissionDenied

_ANNOUNCED = "XCOURIEROUTBOX="


def require_no_sending(capabilities: Iterable[str], folder: str) -> None:
    """PermissionDenied for the folder that the server announces as such. Names are compared without regard to case:
    capabilities come in upper case."""
    if f"{_ANNOUNCED}{folder}".upper() in (name.upper() for name in capabilities):
        raise PermissionDenied(
            "This mail server sends whatever is put into that folder, and nothing is sent without the gate. Nothing "
            "was changed. Use another folder, and the tools that send."
        )
