"""The addresses an account may send as."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postroom.model.address import Address
from postroom.model.draft import Identity
from postroom.model.errors import Conflict, PostroomError
from postroom.providers.jmap.client import JmapClient
from postroom.providers.jmap.wire import SUBMISSION, set_error


class Identities:
    def __init__(self, client: JmapClient, own: Address) -> None:
        self._client = client
        self._own = own

    async def known(self) -> list[Identity]:
        """The account's own address first, whether or not the server lists it."""
        told = [identity for row in await self._rows() if (identity := _identity(row)) is not None]
        ours = next((one for one in told if one.address.key == self._own.key), Identity(self._own))
        name = self._own.name or ours.address.name
        first = replace(ours, address=Address(self._own.email, name), is_default=True)
        return [first, *(one for one in told if one is not ours)]

    async def id_for(self, sender: str) -> str:
        """The id of the identity with exactly this address, or of one for its whole domain; empty where there is
        none."""
        key = Address(sender).key
        wanted = (key, f"*@{key.rpartition('@')[2]}")
        by_key = {str(row.get("email", "")).casefold(): str(row.get("id", "")) for row in await self._rows()}
        return next((by_key[one] for one in wanted if by_key.get(one)), "")

    async def can_create(self) -> bool:
        """Asked by a call that creates nothing: some servers lack the method."""
        try:
            _ = (await self._client.read(("Identity/set", {"create": {}})))[0]
        except PostroomError:
            return False
        return True

    async def create(self, address: Address, signature_html: str) -> Identity:
        if any(str(row.get("email", "")).casefold() == address.key for row in await self._rows()):
            raise Conflict(f"There is an identity for {address.email} already.", reason="already_exists")
        wanted = {"name": address.name, "email": address.email, "htmlSignature": signature_html}
        reply = (await self._client.write(("Identity/set", {"create": {"new": wanted}})))[0]
        made = (reply.get("created") or {}).get("new")
        if not isinstance(made, dict):
            raise set_error((reply.get("notCreated") or {}).get("new"))
        return Identity(address, signature_html, ref=str(made.get("id", "")))

    async def _rows(self) -> list[dict[str, Any]]:
        if SUBMISSION not in (await self._client.session()).offers:
            return []
        found = (await self._client.read(("Identity/get", {"ids": None})))[0].get("list")
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _identity(row: dict[str, Any]) -> Identity | None:
    email = row.get("email")
    if not isinstance(email, str) or "@" not in email or email.startswith("*"):
        return None
    name, html, text = (_text(row.get(key)) for key in ("name", "htmlSignature", "textSignature"))
    return Identity(Address(email, name), html, ref=str(row.get("id", "")), signature_text=text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
