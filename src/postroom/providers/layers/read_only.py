"""Refuses everything that changes the mailbox or sends, before it reaches the provider."""

from __future__ import annotations

from typing import Any, NoReturn

from postroom.model.errors import PermissionDenied
from postroom.providers.layers.layered import Call
from postroom.providers.layers.verbs import WRITING


def read_only(verb: str, call: Call) -> Call:
    """Drafts and `submit` are writes too: a background task cannot do what a tool could not."""
    if verb not in WRITING:
        return call

    async def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise PermissionDenied(
            f"Postroom runs read-only, so {verb} is refused and nothing was changed. "
            "Tell the user; only the operator can start it without read_only.",
            reason="read_only",
            details={"verb": verb},
        )

    return refuse
