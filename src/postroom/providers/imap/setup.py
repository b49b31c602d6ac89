"""Setting up an IMAP account: its servers are given, or discovered from the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postroom.model.errors import InvalidRequest, NotFound
from postroom.providers.discovery.finding import Reach, find
from postroom.providers.discovery.found import Found, Server
from postroom.providers.oauth.services import Service, service_at
from postroom.providers.setup import Proposal, Table, Wishes

if TYPE_CHECKING:
    from postroom.settings import ImapAccount

_BY_PORT = {993: "tls", 465: "tls", 143: "starttls", 587: "starttls"}


class ImapSetup:
    def early(self, wishes: Wishes) -> Table:
        return {**_said(wishes), "host": wishes.host or "found.later"}

    async def propose(self, wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Proposal:
        found = None if wishes.host else await _found(wishes, reach, proxies=proxies)
        usernames = found.usernames if found and not wishes.username else (wishes.username or wishes.address,)
        servers = _servers(wishes, found)
        return Proposal({**_said(wishes), **_oauth(wishes, found, servers["host"]), **servers}, usernames, found)

    def shown(self, account: ImapAccount) -> list[str]:
        sending = f"{account.smtp_host}:{account.smtp_port} ({account.smtp_security})" if account.smtp_host else ""
        return [
            f"reading  {account.host}:{account.port} ({account.security})",
            f"sending  {sending or 'none; set one with --smtp-host to be able to send'}",
        ]


def _said(wishes: Wishes) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if wishes.auth != "password":
        said["auth"] = wishes.auth
    if wishes.ca_file is not None:
        said["ca_file"] = str(wishes.ca_file.expanduser().absolute())
    return said


async def _found(wishes: Wishes, reach: Reach | None, *, proxies: bool) -> Found:
    found = await find(wishes.address, reach, proxies=proxies)
    if found is None:
        raise NotFound(
            f"No mail server was found for {wishes.address}. Check the spelling and the network, "
            "or ask your provider for its IMAP and SMTP servers and set them with --host and --smtp-host."
        )
    return found


def _oauth(wishes: Wishes, found: Found | None, host: Any) -> dict[str, Any]:
    """Where it was requested, or the provider accepts nothing else."""
    takes_tokens_only = found is not None and found.auth == "oauth2" and wishes.auth == "password"
    if not (wishes.oauth or takes_tokens_only):
        return {}
    service = service_at(str(host))
    if service is None:
        note = found.note if found and found.note else "The login page of this provider is not known."
        raise InvalidRequest(
            f"{note} Use --auth xoauth2 and give an access token instead of the password, or add its oauth table "
            "to the settings yourself."
        )
    if found is not None and found.smtp is not None and not wishes.smtp_host:
        _refuse_strangers(service, found.smtp)
    mechanism = "xoauth2" if wishes.auth == "password" else wishes.auth
    return {"auth": mechanism, "oauth": {"service": service.name, **wishes.client()}}


def _refuse_strangers(service: Service, smtp: Server) -> None:
    """The token opens the whole mailbox at the service, and a domain may publish any server as its own."""
    if smtp.host not in service.smtp_hosts:
        raise InvalidRequest(
            f"The SMTP server that was found, {smtp.host}, does not belong to {service.name} but would get its token. "
            f"Set the right one, for instance --smtp-host {service.smtp_hosts[0]}."
        )


def _servers(wishes: Wishes, found: Found | None) -> dict[str, str | int]:
    """Without an SMTP server the account cannot send."""
    smtp = found.smtp if found and not wishes.smtp_host else None
    reading = _server(wishes.host, wishes.port, wishes.security, found.imap if found else None)
    sending = _server(wishes.smtp_host, wishes.smtp_port, wishes.smtp_security, smtp)
    return reading | {f"smtp_{key}": value for key, value in sending.items()}


def _server(host: str, port: int, security: str, found: Server | None) -> dict[str, str | int]:
    """Given values override discovered ones; a well-known port determines the encryption."""
    host = host or (found.host if found else "")
    if not host:
        return {}
    security = security or _BY_PORT.get(port) or (found.security if found else "tls")
    port = port or (found.port if found else 0)
    return {"host": host, "security": security, **({"port": port} if port else {})}
