"""Arguments that several tools share, described once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

MAX_BATCH = 1000
MAX_READ = 20

AccountName = Annotated[str, Field(description="Default: first account")]
EmailId = Annotated[str, Field(description="Email id (e...)")]
FewEmailIds = Annotated[
    str | Annotated[list[str], Field(min_length=1, max_length=MAX_READ)],
    Field(description="Email id (e...), or up to 20"),
]
EmailIds = Annotated[
    str | Annotated[list[str], Field(min_length=1, max_length=MAX_BATCH)],
    Field(description="Email id, or a list of up to 1000"),
]
DraftId = Annotated[str, Field(description="Draft id (d...)")]
Limit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0)]
Addresses = Annotated[str | list[str], Field(description="a@example.com, Name <a@example.com>, or a list")]
MoreAddresses = str | list[str]
Paths = Annotated[list[str], Field(description="Paths in allowed folders, or mail:email_id/attachment_id")]
Html = Annotated[str, Field(description="HTML version of body; src=cid:NAME shows an attached image")]
Inline = Annotated[bool, Field(description="Quote the original instead of attaching it")]
Identity = Annotated[str, Field(description="Sender address; see list_identities")]
Template = Annotated[str, Field(description="Template instead of body")]
Variables = Annotated[dict[str, Any] | None, Field(description="For the template")]
Importance = Literal["low", "normal", "high"]


def named(account: str) -> str | None:
    """An empty account name means the default."""
    return account or None


def listed(one_or_many: str | Iterable[str]) -> tuple[str, ...]:
    """One value or several, as a tuple; an empty string gives an empty one."""
    if isinstance(one_or_many, str):
        return (one_or_many,) if one_or_many else ()
    return tuple(one_or_many)
