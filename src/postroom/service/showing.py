"""From a provider's envelopes to what is shown: refs become handles, strangers' text is cleaned, dates are ISO 8601."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postroom.mime.clean import clean_line
from postroom.model.address import Address
from postroom.model.errors import InvalidRequest, NotFound, PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.service.house import Account, House
from postroom.service.views import EmailRow, ErrorView


async def rows(house: House, account: Account, envelopes: Sequence[Envelope]) -> tuple[EmailRow, ...]:
    """One row per envelope, with handles issued for mails and threads."""
    if not envelopes:
        return ()
    ids = _known(house, account.name, envelopes)
    if ids is None:
        ids = await house.stored(_issue, house, account.name, envelopes)
    return tuple(
        _row(account.name, envelope, email_id, thread_id)
        for envelope, email_id, thread_id in zip(envelopes, *ids, strict=True)
    )


async def row(house: House, account: Account, envelope: Envelope) -> EmailRow:
    return (await rows(house, account, [envelope]))[0]


async def locate(house: House, email_id: str, account: str | None) -> tuple[Account, str]:
    """The account and the provider's ref behind a mail's handle. A wrong account is an error, never a guess."""
    handle = await house.stored(house.store.handles.resolve, email_id, Kind.EMAIL)
    require_account(house, handle.account, account, email_id)
    return await house.accounts.open(handle.account), handle.ref


def require_account(house: House, owner: str, wanted: str | None, shown_id: str) -> None:
    if wanted is not None and house.accounts.named(wanted).name != owner:
        raise InvalidRequest(
            f"{shown_id} belongs to account {owner}, not to {wanted}. Leave `account` out or name {owner}.",
            details={"field": "account"},
        )


def gone(email_id: str) -> NotFound:
    return NotFound(
        f"The mail {email_id} is no longer there: another program deleted or moved it. Search for it again.",
        details={"email_id": email_id},
    )


def error_view(error: PostroomError) -> ErrorView:
    return ErrorView(error.code, error.message, error.details, error.retry_after)


def shown_address(address: Address) -> str:
    """Name and address, cleaned; a name never passes for the address it hides."""
    name, email = clean_line(address.name), clean_line(address.email)
    return f"{name} <{email}>" if name and name != email else email


def shown_addresses(addresses: Iterable[Address]) -> tuple[str, ...]:
    return tuple(shown_address(address) for address in addresses)


def shown_date(envelope: Envelope) -> str:
    return envelope.date.isoformat(timespec="seconds") if envelope.date else ""


def _known(house: House, account: str, envelopes: Sequence[Envelope]) -> tuple[list[str], list[str]] | None:
    """For mails seen before: a read, which no lock can hold up, is quicker done than handed to a thread."""
    known = house.store.handles.known
    emails = known(Kind.EMAIL, account, [envelope.ref for envelope in envelopes])
    threads = known(Kind.THREAD, account, [envelope.thread_ref for envelope in envelopes]) if emails else None
    return (emails, threads) if emails and threads else None


def _issue(house: House, account: str, envelopes: Sequence[Envelope]) -> tuple[list[str], list[str]]:
    issue = house.store.handles.issue
    return (
        issue(Kind.EMAIL, account, [envelope.ref for envelope in envelopes]),
        issue(Kind.THREAD, account, [envelope.thread_ref for envelope in envelopes]),
    )


def _row(account: str, envelope: Envelope, email_id: str, thread_id: str) -> EmailRow:
    return EmailRow(
        email_id=email_id,
        thread_id=thread_id,
        account=account,
        mailbox=clean_line(envelope.folder),
        sender=shown_address(envelope.sender),
        to=shown_addresses(envelope.to),
        subject=clean_line(envelope.subject),
        date=shown_date(envelope),
        snippet=clean_line(envelope.snippet),
        unread=envelope.unread,
        starred=envelope.starred,
        has_attachments=envelope.has_attachments,
        labels=tuple(clean_line(label) for label in envelope.labels),
        size=envelope.size,
    )
