"""The tables of the file other than the accounts."""

from __future__ import annotations

from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator

from postroom.model.address import Address, check_email
from postroom.model.errors import InvalidRequest
from postroom.settings.fields import AsList, ConfigPath, HomePath, Number, Section, Switch
from postroom.settings.hosts import host_name

Dialect = Literal["postroom", "graph", "mailapi", "vault", "drafts", "intentmail"]
Toolset = Literal[
    "read",
    "organise",
    "drafts",
    "send",
    "folders",
    "subscriptions",
    "calendar",
    "vacation",
    "rules",
    "templates",
    "identities",
]
Gate = Literal["confirm", "preview", "elicit", "approval", "auto"]


def split_endpoint(text: str) -> tuple[str, int]:
    """``127.0.0.1:8090``, ``[::1]:8090``, ``:8090`` or ``8090`` as host and port; loopback when no host is named."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if "/" in host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("write host:port, for instance 127.0.0.1:8090")
    return host or "127.0.0.1", int(port)


def _endpoint(text: str) -> str:
    split_endpoint(text)
    return text


def _recipient_pattern(text: str) -> str:
    """A pattern that could match nobody is an error: the operator believes that it matches."""
    local, _, domain = text.rpartition("@")
    try:
        plain = Address(check_email(f"anybody@{domain}" if local == "*" else text))
    except InvalidRequest:
        plain = None
    if plain is None or plain.is_routed or "*" in plain.email:
        raise ValueError(f"write an address or *@domain, not {text[:80]!r}")
    return text  # compared by the rules for addresses, where ß is not ss


@cache
def zone_named(name: str) -> tzinfo | None:
    """The zone of that IANA name; None, meaning the machine's own, for an empty name."""
    from zoneinfo import ZoneInfo

    return ZoneInfo(name) if name else None


def _token(token: SecretStr) -> SecretStr:
    if not token.get_secret_value().strip():
        raise ValueError("a token is empty; write one, or [] for none")
    return token


def _served_host(text: str) -> str:
    """As the Host header of a request names it. One that no request could name is an error."""
    try:
        return host_name(text)
    except ValueError:
        raise ValueError("write just a host name like mail.example.com, without https:// and port") from None


def _timezone(name: str) -> str:
    try:
        zone_named(name)
    except (ValueError, KeyError, OSError):  # not a name, an unknown one, or a folder of the time zone database
        raise ValueError(
            "unknown time zone; write an IANA name like Europe/Berlin, or leave it empty for the machine's time zone"
        ) from None
    return name


RecipientPattern = Annotated[str, AfterValidator(_recipient_pattern)]


class ServerSettings(Section):
    bind_addr: Annotated[str, AfterValidator(_endpoint)] = "127.0.0.1:8090"
    dialect: Dialect = "postroom"
    toolsets: Annotated[tuple[Toolset, ...], *AsList] = ("read", "organise", "drafts", "send")
    read_only: Switch = False
    tokens: Annotated[tuple[Annotated[SecretStr, AfterValidator(_token)], ...], *AsList] = ()
    tokens_env: str = ""
    tokens_file: ConfigPath | None = None
    trust_network: Switch = False
    requests_per_minute: Annotated[Number, Field(ge=0)] = 6000
    calls_at_once: Annotated[Number, Field(ge=0)] = 8
    allowed_hosts: Annotated[tuple[Annotated[str, AfterValidator(_served_host)], ...], *AsList] = ()
    timezone: Annotated[str, AfterValidator(_timezone)] = ""

    @property
    def zone(self) -> tzinfo | None:
        """What `astimezone` takes: None is the machine's own zone."""
        return zone_named(self.timezone)

    @property
    def host(self) -> str:
        return split_endpoint(self.bind_addr)[0]

    @property
    def port(self) -> int:
        return split_endpoint(self.bind_addr)[1]


class SafetySettings(Section):
    gate: Gate = "auto"
    dev_mode: Switch = False
    vault: HomePath = Path("vault")
    sends_per_hour: Annotated[Number, Field(ge=0, le=1_000_000)] = 10
    hold_seconds: Annotated[Number, Field(ge=0, le=31_536_000)] = 0  # a year, like `send_at`
    allow_recipients: Annotated[tuple[RecipientPattern, ...], *AsList] = ()
    block_recipients: Annotated[tuple[RecipientPattern, ...], *AsList] = ()
    attachment_dirs: Annotated[tuple[HomePath, ...], *AsList] = ()
    download_dir: HomePath = Path("downloads")


class TemplateSettings(Section):
    dir: HomePath = Path("templates")


class StoreSettings(Section):
    url: str = Field(default="", repr=False)  # may contain a password

    @field_validator("url")
    @classmethod
    def _known_database(cls, url: str) -> str:
        if url and not url.startswith(("postgresql://", "postgres://")):
            raise ValueError("leave it empty for SQLite in the home folder; this version supports no other store")
        return url


class NetworkSettings(Section):
    proxies: Switch = True


class LoggingSettings(Section):
    level: Literal["auto", "debug", "info", "warning", "error"] = "auto"
    format: Literal["auto", "json", "text"] = "auto"
