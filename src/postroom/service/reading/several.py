"""Open several messages in one call. Together they are about as long as one long message: what short ones leave, long
ones get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.ids import Kind
from postroom.service.gateway import Gateway
from postroom.service.presenting import error_view, gone
from postroom.service.reading.fetching import fetch_each
from postroom.service.reading.read import open_message, read_email
from postroom.service.reading.rendering import Reading
from postroom.service.views import OpenEmail, ReadItem

MAX_READ = 20
TOTAL_CHARS = 20_000  # of all bodies together, unless more is asked for


async def read_one(gateway: Gateway, email_id: str, reading: Reading, *, account: str | None = None) -> OpenEmail:
    return await read_email(
        gateway,
        email_id,
        account=account,
        body_format=reading.body_format,
        include_quoted=reading.include_quoted,
        max_chars=reading.max_chars,
        offset=reading.offset,
    )


async def read_emails(
    gateway: Gateway, email_ids: Sequence[str], reading: Reading, *, account: str | None = None
) -> tuple[ReadItem, ...]:
    """One item for each id, in order, whichever accounts they belong to. What is wrong with one is said of that one."""
    wanted = list(dict.fromkeys(email_ids))
    if not 1 <= len(wanted) <= MAX_READ:
        raise InvalidRequest(f"Read between 1 and {MAX_READ} messages in one call.", details={"field": "email_id"})
    if reading.offset:
        raise InvalidRequest(
            "offset applies to one message. Read the one to continue by itself.", details={"field": "offset"}
        )
    found = dict(zip(wanted, await gateway.ids.find(gateway, Kind.EMAIL, wanted, account), strict=True))
    items = {shown: ReadItem(shown, error=error_view(handle)) for shown, handle in found.items()
             if isinstance(handle, PostroomError)}  # fmt: skip
    refs: dict[str, dict[str, str]] = {}
    for shown, handle in found.items():
        if not isinstance(handle, PostroomError):
            refs.setdefault(handle.account, {})[shown] = handle.ref
    for name, of_account in refs.items():
        items |= await _read_from(gateway, name, of_account, reading)
    total = max(reading.max_chars, min(TOTAL_CHARS, reading.max_chars * len(wanted)))
    return _shared([items[shown] for shown in wanted], total)


async def _read_from(gateway: Gateway, name: str, refs: dict[str, str], reading: Reading) -> dict[str, ReadItem]:
    try:
        account = await gateway.accounts.open(name)
        messages = await fetch_each(account, list(refs.values()))
    except PostroomError as error:
        return {shown: ReadItem(shown, error=error_view(error)) for shown in refs}
    items: dict[str, ReadItem] = {}
    whole = replace(reading, max_chars=max(reading.max_chars, TOTAL_CHARS))
    for shown, message in zip(refs, messages, strict=True):
        try:
            if message is None:
                raise gone(shown)
            if isinstance(message, PostroomError):
                raise message
            items[shown] = ReadItem(shown, await open_message(gateway, account, message, whole))
        except PostroomError as error:
            items[shown] = ReadItem(shown, error=error_view(error))
    return items


def _shared(items: Sequence[ReadItem], total: int) -> tuple[ReadItem, ...]:
    """Each body cut to its share."""
    share = _share([len(item.email.body) for item in items if item.email], total)
    return tuple(replace(item, email=_cut(item.email, share)) if item.email else item for item in items)


def _share(lengths: Sequence[int], total: int) -> int:
    """The largest length for which all bodies, cut to it, have no more than `total` characters."""
    left = total
    for place, length in enumerate(sorted(lengths)):
        even = left // (len(lengths) - place)
        if length > even:
            return even
        left -= length
    return max(lengths, default=0)


def _cut(email: OpenEmail, share: int) -> OpenEmail:
    return replace(email, body=email.body[:share], truncated=True) if len(email.body) > share else email
