"""Addresses that the account may send as, with the signatures that are set for them in Gmail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postroom.model.address import Address
from postroom.model.draft import Identity
from postroom.model.errors import PermissionDenied
from postroom.providers.gmail.session.client import Client
from postroom.providers.gmail.session.wire import JSON, UNITS, Get, objects_of, text_of

if TYPE_CHECKING:
    from postroom.settings.accounts import GmailAccount

_WRITTEN_TO = (
    "Gmail would send an email to this address to verify it, and nothing is sent without the gate. Nothing was "
    "created. An address at {domain} can be created here; for any other, the user opens Gmail's Settings, Accounts "
    "and Import, Send mail as."
)


async def identities(client: Client, account: GmailAccount) -> list[Identity]:
    """Those that Gmail has verified, the default first. A login that may not read settings has its own address."""
    own = Identity(Address(account.address, account.display_name), is_default=True)
    try:
        entries = await send_as(client)
    except PermissionDenied:
        return [own]
    found = [_identity(entry, account) for entry in entries if _is_usable(entry)]
    if not any(one.is_default for one in found):
        found = [own, *(one for one in found if one.address.key != own.address.key)]
    return sorted(found, key=lambda one: not one.is_default)


async def send_as(client: Client) -> list[JSON]:
    return objects_of((await client.get(Get("settings/sendAs", UNITS["settings"]))).get("sendAs"))


async def create(client: Client, account: GmailAccount, address: Address, signature_html: str) -> Identity:
    """Only within the organisation: to any other address Gmail itself would write, so that it verifies itself."""
    if address.domain != Address(account.address).domain:
        raise PermissionDenied(_WRITTEN_TO.format(domain=Address(account.address).domain), details={"field": "email"})
    wanted = {"sendAsEmail": address.email, "displayName": address.name, "signature": signature_html}
    made = await client.post("settings/sendAs", wanted, units=UNITS["sendAs.create"])
    signature = text_of(made.get("signature")) or signature_html
    return Identity(address, signature, ref=text_of(made.get("sendAsEmail")))


def _is_usable(entry: JSON) -> bool:
    verified = entry.get("isPrimary") is True or entry.get("verificationStatus") == "accepted"
    return verified and "@" in text_of(entry.get("sendAsEmail"))


def _identity(entry: JSON, account: GmailAccount) -> Identity:
    email = text_of(entry.get("sendAsEmail"))
    name = text_of(entry.get("displayName")) or (account.display_name if entry.get("isPrimary") else "")
    return Identity(Address(email, name), text_of(entry.get("signature")), entry.get("isDefault") is True, ref=email)
