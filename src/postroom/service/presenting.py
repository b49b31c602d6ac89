"""From a provider's envelopes to what is shown: refs become ids, untrusted text is cleaned, dates are ISO 8601."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import lru_cache

from postroom.mime.clean import clean_line
from postroom.mime.visible import named, visible_name
from postroom.model.address import Address
from postroom.model.errors import NotFound, PostroomError
from postroom.model.ids import Kind
from postroom.model.message import Envelope
from postroom.service.gateway import Account, Gateway
from postroom.service.times import shown_moment
from postroom.service.views import EmailRow, ErrorView

# A sender decides how long a name is and how many recipients, labels and files there are; these limit what is shown.
MAX_NAME, MAX_EMAIL, MAX_SUBJECT, MAX_SHOWN = 100, 320, 1000, 50
_LOOKED_AT = 4 * MAX_SUBJECT  # characters that are cleaned: the event loop does this, for a page of messages at once


async def rows(
    gateway: Gateway,
    account: Account,
    envelopes: Sequence[Envelope],
    folder: str = "",
    conversations: Mapping[str, str] | None = None,
) -> tuple[EmailRow, ...]:
    """One row per envelope, with the ids of message and thread. `folder` is the one that was listed, if one was;
    `conversations` as in `Page`."""
    if not envelopes:
        return ()
    refs = {Kind.EMAIL: [each.ref for each in envelopes], Kind.THREAD: [each.thread_ref for each in envelopes]}
    folders = [folder or each.folder for each in envelopes]
    ids = await gateway.ids.show(gateway, account.name, refs, folders, conversations)
    name, zone = account.name, gateway.settings.server.zone
    return tuple(
        [
            _row(name, zone, envelope, email_id, thread_id)
            for envelope, email_id, thread_id in zip(envelopes, *ids, strict=True)
        ]
    )


async def locate(gateway: Gateway, shown_id: str, account: str | None, kind: Kind = Kind.EMAIL) -> tuple[Account, str]:
    """The account and the provider's ref behind an id. A wrong account is an error, never a guess."""
    (found,) = await gateway.ids.find(gateway, kind, [shown_id], account)
    if isinstance(found, PostroomError):
        raise found
    return await gateway.accounts.open(found.account), found.ref


def gone(email_id: str) -> NotFound:
    return NotFound(
        f"There is no message {email_id}, or no longer: another program may have moved or deleted it. Search again.",
        reason="email_gone",
        details={"email_id": email_id, "id": email_id},
    )


def error_view(error: PostroomError) -> ErrorView:
    return ErrorView(error.code, error.message, error.details, error.retry_after)


def shown_address(address: Address) -> str:
    """Name and address. The name is cleaned and never passes for the address it hides; in that nothing is hidden."""
    name, email = address.name, address.email
    is_short = len(name) <= MAX_NAME and len(email) <= MAX_EMAIL
    return _shown_address(name, email) if is_short else _shown_address.__wrapped__(name, email)


@lru_cache(maxsize=4096)  # the same few correspondents recur
def _shown_address(name: str, email: str) -> str:
    name, email = clean_line(name[:_LOOKED_AT]), email[:MAX_EMAIL]
    if len(name) > MAX_NAME:
        name = f"{name[:MAX_NAME]}…"
    return named(visible_name(name) if name != email else "", email)


def shown_addresses(addresses: Iterable[Address]) -> tuple[str, ...]:
    return tuple([shown_address(address) for address in addresses])


def first_of(shown: tuple[str, ...]) -> tuple[str, ...]:
    """The first of many, and how many more there are."""
    more = len(shown) - MAX_SHOWN
    return (*shown[:MAX_SHOWN], f"and {more} more") if more > 0 else shown


def shown_date(gateway: Gateway, envelope: Envelope) -> str:
    return gateway.shown_time(envelope.date) if envelope.date else ""


def _clean(text: str) -> str:
    """As `clean_line`, in a fraction of the time for what plainly is clean: most subjects and snippets are."""
    plain = text.removesuffix("…")  # ends most snippets
    is_clean = plain.isascii() and plain.isprintable() and "  " not in plain and text[:1] != " " != text[-1:]
    return text if is_clean else clean_line(text)


def _row(account: str, zone: tzinfo | None, envelope: Envelope, email_id: str, thread_id: str) -> EmailRow:
    """The fields in their order: by name they take a sixth longer."""
    return EmailRow(
        email_id,
        thread_id,
        account,
        _clean(envelope.folder),
        shown_address(envelope.sender),
        shown_addresses(envelope.to),
        _clean(envelope.subject[:_LOOKED_AT])[:MAX_SUBJECT],
        shown_moment(envelope.date, zone) if envelope.date else "",
        _clean(envelope.snippet),
        envelope.unread,
        envelope.starred,
        envelope.has_attachments,
        first_of(tuple([clean_line(label)[:MAX_NAME] for label in envelope.labels])) if envelope.labels else (),
        envelope.size,
        envelope.draft,
    )
