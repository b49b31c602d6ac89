"""The addresses an account may send as: those its provider lists, completed by the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from postroom.model.address import Address
from postroom.model.draft import Identity

if TYPE_CHECKING:
    from postroom.settings import AccountSettings


def completed(listed: Sequence[Identity], account: AccountSettings) -> list[Identity]:
    """The default first. A signature in the settings replaces the provider's; further addresses follow."""
    first, *others = listed
    if account.signature or account.signature_html:
        first = replace(first, signature_html=account.signature_html, signature_text=account.signature)
    known = {identity.address.key for identity in listed}
    return [first, *others, *(one for one in _configured(account) if one.address.key not in known)]


def _configured(account: AccountSettings) -> list[Identity]:
    return [
        Identity(Address(one.address, one.name), one.signature_html, signature_text=one.signature)
        for one in getattr(account, "identities", ())  # only where the provider does not list them itself
    ]
