"""Setting up a JMAP account: its server is given, known, named by DNS (RFC 8620, 2.2), or the address's own domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postroom.model.address import ascii_domain
from postroom.model.errors import InvalidRequest
from postroom.providers.discovery import finding
from postroom.providers.discovery.known import find_known
from postroom.providers.discovery.resolving import Kind
from postroom.providers.setup import Proposal, Table, Wishes
from postroom.settings.hosts import is_host

if TYPE_CHECKING:
    from postroom.settings import JmapAccount

_FASTMAIL_IMAP = "imap.fastmail.com"
_FASTMAIL = "https://api.fastmail.com/jmap/session"
_NOT_USED = {"smtp_host": "--smtp-host", "ca_file": "--ca-file", "security": "--security"}


class JmapSetup:
    def early(self, wishes: Wishes) -> Table:
        for name, option in _NOT_USED.items():
            if getattr(wishes, name):
                raise InvalidRequest(f"{option} has no use with JMAP: one HTTPS server does everything. Leave it out.")
        if wishes.host and not is_host(ascii_domain(wishes.host)):
            raise InvalidRequest("--host: write just a host name like mail.example.com; --port is for the port.")
        return {**_said(wishes, is_fastmail=False), "session_url": _at(wishes.host or "found.later", wishes.port)}

    async def propose(self, wishes: Wishes, reach: finding.Reach | None, *, proxies: bool) -> Proposal:
        domain = finding.ascii_domain(wishes.address)
        known = find_known(domain, wishes.address) if domain and not wishes.host else None
        is_fastmail = known is not None and known.imap.host == _FASTMAIL_IMAP
        url = _FASTMAIL if is_fastmail else await _found(wishes, domain, reach or finding.Reach())
        return Proposal({**_said(wishes, is_fastmail=is_fastmail), "session_url": url}, _usernames(wishes))

    def shown(self, account: JmapAccount) -> list[str]:
        return [f"reading and sending  {account.session_url} ({account.auth})"]


def _said(wishes: Wishes, *, is_fastmail: bool) -> dict[str, Any]:
    """Fastmail accepts no password over JMAP, only an API token or a login on its own page."""
    if wishes.oauth:
        return {"oauth": {"service": "fastmail", **wishes.client()}}
    return {"auth": "password" if wishes.auth == "password" and not is_fastmail else "bearer"}


def _usernames(wishes: Wishes) -> tuple[str, ...]:
    return (wishes.username or wishes.address,)


async def _found(wishes: Wishes, domain: str, reach: finding.Reach) -> str:
    """A host that DNS names must be below the address's domain: an answer may be forged, and gets the password."""
    if wishes.host:
        return _at(wishes.host, wishes.port)
    for record in await reach.resolve(f"_jmap._tcp.{domain}", Kind.SRV):
        if record.port and is_host(record.target) and f".{record.target}".endswith(f".{domain}"):
            return _at(record.target, record.port)
    return _at(domain, wishes.port)


def _at(host: str, port: int) -> str:
    return f"https://{host}" if port in (0, 443) else f"https://{host}:{port}"
