"""One method per request of the API."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from postroom.model.errors import NotFound
from postroom.providers.context import ProviderContext
from postroom.providers.http.answer import Answer
from postroom.providers.http.api import Api
from postroom.providers.http.client import new_client
from postroom.providers.http.exchange import LARGEST
from postroom.providers.http.quota import Quota
from postroom.providers.rest import wire
from postroom.providers.rest.tokens import RestTokens

if TYPE_CHECKING:
    from postroom.settings import RestAccount

AT_ONCE = 8


class RestClient:
    """Shared by the mailbox and the transport of one account."""

    def __init__(self, account: RestAccount, context: ProviderContext) -> None:
        http, quota = new_client(proxies=context.proxies), Quota(at_once=AT_ONCE)
        self._base_url = account.base_url.removesuffix("/api")  # every path begins with that
        bare = Api(self._base_url, http, account=account.name, read_problem=wire.read_problem)
        self._tokens = RestTokens(account, bare)
        self._api = Api(
            self._base_url,
            http,
            account=account.name,
            tokens=self._tokens,
            read_problem=wire.read_problem,
            quota=quota,
        )

    async def close(self) -> None:
        await self._api.close()

    async def claimed_address(self) -> str:
        """Whom the token is for, as its claims (JWT) say; empty where they do not. Nothing relies on it: the service
        itself decides who a message is from."""
        claims = _claims(await self._tokens.token())
        return next((claims[key] for key in ("email", "sub") if "@" in str(claims.get(key, ""))), "")

    async def mailboxes(self) -> list[wire.MailboxRow]:
        """A service that lists no mailboxes may still list the messages of the inbox."""
        try:
            return wire.mailboxes(await self._api.read(wire.MAILBOXES))
        except NotFound:
            await self._probed()
            return [wire.MailboxRow(wire.INBOX)]

    async def _probed(self) -> None:
        try:
            await self.page(wire.INBOX, limit=1)
        except NotFound:
            raise NotFound(
                f"There is no mail API at {self._base_url}. Check base_url: /api/mailboxes is below it."
            ) from None

    async def create_mailbox(self, name: str) -> None:
        await self._api.write("POST", wire.MAILBOXES, content={"name": name})

    async def delete_mailbox(self, name: str) -> None:
        await self._api.write("DELETE", wire.mailbox_path(name))

    async def page(self, mailbox: str, *, limit: int, offset: int = 0, unread: bool = False) -> list[wire.Row]:
        params = {"limit": limit, "unread": "true" if unread else "false", **({"offset": offset} if offset else {})}
        return wire.rows(await self._api.read(wire.messages_path(mailbox), params=params))

    async def search(self, words: str, *, mailbox: str, limit: int) -> list[wire.Row]:
        params = {"q": words, "mailbox": mailbox, "limit": limit}
        return wire.rows(await self._api.read(wire.SEARCH, params=params))

    async def message(self, ref: str, *, largest: int = LARGEST) -> dict[str, Any]:
        return (await self._api.read(wire.message_path(ref), largest=largest)).object()

    async def set_flags(self, ref: str, add: Sequence[str], remove: Sequence[str]) -> None:
        content = {"add": list(add), "remove": list(remove)}
        await self._api.write("PATCH", wire.message_path(ref, "/flags"), content=content)

    async def move(self, ref: str, mailbox: str) -> str:
        """The id it has now; empty where the service does not name one."""
        answer = await self._api.write("POST", wire.message_path(ref, "/move"), content={"to_mailbox": mailbox})
        found = answer.parsed()
        return wire.text(found, "id") if isinstance(found, dict) else ""

    async def send(self, content: Mapping[str, Any]) -> Answer:
        return await self._api.write("POST", wire.SEND, content=content)


def _claims(token: str) -> dict[str, Any]:
    try:
        payload = token.split(".")[1]
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
