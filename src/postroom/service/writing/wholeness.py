"""Whether a draft that was saved by any program can be written anew without losing anything of it: its old version is
gone afterwards, or was sent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from postroom.mime.clean import clean_line
from postroom.mime.read.parse import Parsed
from postroom.model.errors import InvalidRequest
from postroom.model.message import Body, Message

_PEOPLE = ("to", "cc", "bcc")
_SEALED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_ELSEWHERE = "Edit or send it in the program that it was written in, or write a new one with create_draft"


def check_whole(saved: Parsed | Message, replaced: Collection[str]) -> None:
    """InvalidRequest where something of it could not be read, other than the recipients that are `replaced`."""
    kind = "".join(saved.headers.get("content-type", ())[:1]).partition(";")[0].strip().lower()
    if kind in _SEALED:
        raise _refused("is encrypted, and would be unreadable if it were rewritten", _ELSEWHERE)
    if any("omitted" in defect or "not opened" in defect for defect in saved.defects):
        raise _refused("is too large or too complicated to be read whole, and would lose the rest", _ELSEWHERE)
    if saved.body.starts and not _reads_the_same_in_one(saved.body):
        raise _refused(
            "has several parts, and if it were rewritten, one of them would hide words of another", _ELSEWHERE
        )
    source = saved.envelope if isinstance(saved, Message) else saved
    for field in (name for name in _PEOPLE if name not in replaced):
        for address in getattr(source, field):
            if "@" not in address.email:
                unfinished = clean_line(address.email or address.name)[:80]
                raise _refused(
                    f"names {unfinished!r} in {field}, which is no address and would be lost",
                    f"Give all recipients as `{field}` of update_draft",
                )


def _reads_the_same_in_one(body: Body) -> bool:
    """Whether one HTML part says the same as the several that there are."""
    from postroom.mime.guarded import render

    several, one = (
        render(read, fmt="words", keep_quoted=True) for read in (replace(body, text=""), Body(html=body.html))
    )
    return several.text.split() == one.text.split()


def _refused(why: str, instead: str) -> InvalidRequest:
    return InvalidRequest(f"The draft {why}. {instead}. Nothing was changed or sent.")
