"""A server that speaks `vault`, its client, and what a person and the other side see: on any provider."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import anyio
from imapclient import IMAPClient
from mcp import Client
from mcp_types import CallToolResult
from tests.flows.caller import text_of
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.postfix import Postfix

from postroom.doors.mcp.serve import server_for
from postroom.providers.layers.layered import unwrapped
from postroom.service.gateway import Gateway
from postroom.settings import build

DELIVERY = 60  # seconds that a busy machine's servers may take at most


@dataclass
class Peers:
    """Two accounts, alice and bob, on one provider. Mail put into alice's is there behind Postroom's back."""

    accounts: list[dict[str, Any]]
    imap: Dovecot | None = None

    @property
    def alice(self) -> str:
        return str(self.accounts[0]["address"])

    @property
    def bob(self) -> str:
        return str(self.accounts[1]["address"])

    async def put(self, gateway: Gateway, raw: bytes, folder: str = "INBOX") -> None:
        if self.imap is None:
            account = await gateway.accounts.open()
            place = next(one for one in await account.mailbox.folders() if one.name == folder)
            await unwrapped(account.mailbox).add_message(raw, place.ref)
            return
        with IMAPClient(self.imap.host, self.imap.imap, ssl=False, timeout=DELIVERY) as client:
            client.login(self.alice, PASSWORD)
            client.append(folder, raw)


def on_local() -> Peers:
    names = ("alice", "bob")
    return Peers([_local(name) for name in names])


def _local(name: str) -> dict[str, Any]:
    return {"name": name, "provider": "local", "address": f"{name}@demo.example", "path": f"{name}.db"}


def on_imap(dovecot: Dovecot, postfix: Postfix) -> Peers:
    def account(name: str) -> dict[str, Any]:
        servers = {"host": dovecot.host, "port": dovecot.imap, "security": "none", "smtp_security": "none"}
        smtp = {"smtp_host": postfix.host, "smtp_port": postfix.plain}
        address = dovecot.new_user(name)
        return {"name": name, "provider": "imap", "address": address, "password": PASSWORD, **servers, **smtp}

    return Peers([account("alice"), account("bob")], dovecot)


def out_of_reach() -> Peers:
    """Nobody listens where the account says."""
    servers = {"host": "127.0.0.1", "port": 9, "security": "none", "smtp_host": "127.0.0.1", "smtp_port": 9}
    return Peers([{"name": "alice", "provider": "imap", "address": "alice@demo.example", "password": "x", **servers}])


@dataclass
class Desk:
    """What a test has in its hands."""

    client: Client
    gateway: Gateway
    peers: Peers
    results: list[CallToolResult] = field(default_factory=list)

    async def __call__(self, tool: str, **arguments: Any) -> str:
        """What the tool says. Whether that is an error shows in `failed`."""
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        self.results.append(result)
        return text_of(result)

    @property
    def failed(self) -> bool:
        return bool(self.results[-1].is_error)

    async def put(self, raw: bytes, folder: str = "INBOX") -> None:
        await self.peers.put(self.gateway, raw, folder)

    async def found(self, query: str) -> tuple[str, str]:
        """Message ID and thread ID of the one email that a search finds."""
        ((message, thread),) = ids_in(await self("search_email", query=query))
        return message, thread

    def approve(self, kind: str = "email_send", name: str = "go.md", status: str = "approved", **keys: str) -> Path:
        self.gateway.vault.prepare()
        path = self.gateway.vault.root / "Approved" / name
        lines = [f"type: {kind}", f"status: {status}", *(f'{key}: "{value}"' for key, value in keys.items())]
        path.write_text("\n".join(["---", *lines, "---", "Go ahead.", ""]))
        path.chmod(0o600)
        return path

    def in_vault(self, folder: str) -> list[str]:
        path = self.gateway.vault.root / folder
        return sorted(file.name for file in path.iterdir()) if path.exists() else []

    async def received(self, account: str = "bob") -> list[EmailMessage]:
        """All that is in an inbox, newest first."""
        opened = await self.gateway.accounts.open(account)
        from postroom.service.reading import search

        rows = (await search.list_emails(self.gateway, account=account)).results
        raws = [await opened.raw_access.fetch_raw(row.email_id) for row in rows]
        return [message_from_bytes(raw, policy=policy.default) for raw in raws]

    async def one_received(self, account: str = "bob") -> EmailMessage:
        """Delivery is somebody else's work: look until it is done, within bounds."""
        with anyio.fail_after(DELIVERY):
            while not (messages := await self.received(account)):
                await anyio.lowlevel.checkpoint()
        (message,) = messages
        return message

    def audit(self) -> list[tuple[str, str, str, str]]:
        entries = reversed(self.gateway.store.audit.recent(100))
        return [(entry["action_type"], entry["result"], entry["target"], entry["error"]) for entry in entries]


def ids_in(text: str) -> list[tuple[str, str]]:
    return re.findall(r"Message ID: (.+?) \|? ?Thread ID: (.+)$", text, re.MULTILINE)


@asynccontextmanager
async def desk_on(peers: Peers, home: Path, **safety: Any) -> AsyncIterator[Desk]:
    settings = build({"server": {"dialect": "vault"}, "accounts": peers.accounts, "safety": safety}, home=home)
    server = server_for(settings)
    async with Client(server) as client:
        gateway = server.gateway.opened
        assert gateway is not None
        yield Desk(client, gateway, peers)


def letter(
    subject: str = "Offer", sender: str = "carol@example.test", text: str = "What do you think?", **headers: str
) -> bytes:
    mail = EmailMessage(policy=policy.SMTP)
    mail["From"], mail["Subject"] = sender, subject
    for name, value in {
        "Message_ID": "<m1@example.test>",
        "Date": "Tue, 10 Feb 2026 10:00:00 +0000",
        **headers,
    }.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(text)
    return mail.as_bytes()
