"""The services by name: their login endpoints and peculiarities (as of November 2026)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.settings.oauth import OAuthSettings


@dataclass(frozen=True, slots=True)
class Service:
    """`redirect_host` is the name of this machine in the redirect; the listener is on 127.0.0.1 either way.

    `device_url` is empty where the service has no device flow, or none for mail. `console` names the page where a
    client id is created, `clicks` what to choose there. `secret_prefix` tells its client secrets from client ids.
    `names_scopes`: a login's response has the scopes that the person allowed, by the names they were asked for.
    """

    name: str
    authorize_url: str
    token_url: str
    device_url: str = ""
    redirect_host: str = "127.0.0.1"
    wants_client_secret: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    imap_hosts: tuple[str, ...] = ()
    smtp_hosts: tuple[str, ...] = ()
    console: str = ""
    clicks: str = ""
    secret_prefix: str = ""
    names_scopes: bool = False


SERVICES = {
    "google": Service(
        "google",
        "https://accounts.google.com/o/oauth2/v2/auth",
        "https://oauth2.googleapis.com/token",
        # Its device flow has no scope for mail.
        wants_client_secret=True,  # even from desktop programs, which cannot keep one
        # Without these two no refresh token comes, or only with the very first consent.
        parameters={"access_type": "offline", "prompt": "consent"},
        imap_hosts=("imap.gmail.com", "imap.googlemail.com"),
        smtp_hosts=("smtp.gmail.com", "smtp.googlemail.com"),
        console="https://console.cloud.google.com/auth/clients",
        clicks="Create client, application type Desktop app; enable the Gmail API; publish the app, or add yourself as "
        "a test user (logins then expire after 7 days).",
        secret_prefix="GOCSPX-",  # noqa: S106 - how to tell one
        names_scopes=True,  # each has a box of its own on the consent page, which may be left empty
    ),
    "microsoft": Service(
        "microsoft",
        "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        "https://login.microsoftonline.com/common/oauth2/v2.0/devicecode",
        redirect_host="localhost",  # only for this name does it ignore the port
        parameters={"prompt": "select_account"},
        imap_hosts=("outlook.office365.com",),
        smtp_hosts=("smtp.office365.com", "smtp-mail.outlook.com"),
        console="https://entra.microsoft.com, App registrations",
        clicks="New registration, any account type; Authentication: add platform Mobile and desktop applications with "
        "http://localhost, and allow public client flows.",
    ),
    "fastmail": Service(
        "fastmail",
        "https://api.fastmail.com/oauth/authorize",
        "https://api.fastmail.com/oauth/refresh",  # for codes as well
        imap_hosts=("imap.fastmail.com",),
        smtp_hosts=("smtp.fastmail.com",),
        console="https://www.fastmail.com/dev/",
        clicks="Request a client id there; for personal use an app password is simpler.",
    ),
}


def service_of(settings: OAuthSettings) -> Service:
    known = SERVICES.get(settings.service) or Service(settings.service, "", "")
    return replace(
        known,
        authorize_url=settings.authorize_url or known.authorize_url,
        token_url=settings.token_url or known.token_url,
        device_url=settings.device_url or known.device_url,
    )


def service_at(imap_host: str) -> Service | None:
    return next((service for service in SERVICES.values() if imap_host in service.imap_hosts), None)
