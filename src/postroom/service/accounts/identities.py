"""The addresses an account may write as: listed, and made where the provider can."""

from __future__ import annotations

from html import escape

from postroom.mime.clean import clean_line
from postroom.model.address import Address, check_email, refuse_line_breaks
from postroom.model.characters import address_sign_in
from postroom.model.draft import Identity
from postroom.model.errors import Conflict, InvalidRequest, Unsupported
from postroom.service.gateway import Account, Gateway
from postroom.service.views import IdentityView

_MAX_SIGNATURE = 10_000
_IN_SETTINGS = "then list it under `identities` of the account in postroom.toml"
_BY_HAND = {
    "imap": f"Create the address where the mailbox is hosted, {_IN_SETTINGS}.",
    "graph": f"An administrator adds the address in the Microsoft 365 admin center; {_IN_SETTINGS}.",
    "gmail": "In Gmail, open Settings, Accounts and Import, Send mail as, and add the address there.",
    "jmap": "Create the address in the settings of the mail service; it is listed here as soon as it exists.",
}


async def list_identities(gateway: Gateway, account: str | None = None) -> tuple[IdentityView, ...]:
    opened = await gateway.accounts.open(account)
    return tuple(_view(opened, identity) for identity in await opened.identities.get())


async def create_alias(
    gateway: Gateway, email: str, name: str = "", signature_html: str = "", *, account: str | None = None
) -> tuple[IdentityView, bool]:
    """The new identity, and whether it can be used already: some providers verify the address first."""
    address = _checked(email, name, signature_html)
    opened = await gateway.accounts.open(account)
    if not opened.capabilities.can_create_alias:
        provider = opened.capabilities.provider
        raise Unsupported(provider, "creating aliases", _BY_HAND.get(provider, ""))
    if any(identity.address.key == address.key for identity in await opened.identities.ask_anew()):
        raise Conflict(f"Account {opened.name} has the identity {address.email} already.", reason="already_exists")
    made = await opened.alias_maker.create_alias(address, signature_html)
    usable = {identity.address.key for identity in await opened.identities.ask_anew()}
    return _view(opened, made), address.key in usable


def _checked(email: str, name: str, signature_html: str) -> Address:
    refuse_line_breaks(name, "name")
    if len(name) > 200 or len(signature_html) > _MAX_SIGNATURE:
        field = "name" if len(name) > 200 else "signature"
        raise InvalidRequest(f"The {field} is too long.", details={"field": field})
    address = Address(check_email(email.strip()), " ".join(name.split()))
    if address.is_routed or "*" in address.email:
        raise InvalidRequest(
            "An alias is one plain address: * means a whole domain, and % or ! a route to another server.",
            details={"field": "email"},
        )
    if address_sign_in(address.name) or clean_line(address.name) != address.name:
        raise InvalidRequest(
            "The name contains @, <, >, a look-alike of one, or an invisible character. Write it without.",
            details={"field": "name"},
        )
    return address


def _view(account: Account, identity: Identity) -> IdentityView:
    return IdentityView(
        account=account.name,
        email=identity.address.email,
        name=clean_line(identity.address.name),
        is_default=identity.is_default,
        signature_html=identity.signature_html or escape(identity.signature_text).replace("\n", "<br>\n"),
    )
