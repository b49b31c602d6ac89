"""Arguments that several tools share, described once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

MAX_BATCH = 1000

AccountName = Annotated[str, Field(description="Default: the first account")]
EmailId = Annotated[str, Field(description="Id of a mail (e...)")]
EmailIds = Annotated[
    str | Annotated[list[str], Field(min_length=1, max_length=MAX_BATCH)],
    Field(description="One mail id, or a list of up to 1000"),
]
DraftId = Annotated[str, Field(description="Id of a draft (d...)")]
Limit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0)]
Addresses = Annotated[str | list[str], Field(description="a@example.com, Name <a@example.com>, or a list")]
MoreAddresses = str | list[str]
Paths = Annotated[list[str], Field(description="Paths of files in the folders allowed for attaching")]
Html = Annotated[str, Field(description="HTML version of body")]
Identity = Annotated[str, Field(description="Address to write as; see list_identities")]
Importance = Literal["low", "normal", "high"]


def named(account: str) -> str | None:
    """An empty account name means the default."""
    return account or None


def listed(one_or_many: str | Iterable[str]) -> tuple[str, ...]:
    """One value or many as many; an empty string is none."""
    if isinstance(one_or_many, str):
        return (one_or_many,) if one_or_many else ()
    return tuple(one_or_many)
