"""The accounts in a settings file, one class per provider, selected by `provider`.

Instead of a secret `x`, the file may give `x_env` (a variable's name) or `x_file` (a path), or the secret is in the
system's keyring; a token may also be the output of a program (`token_command`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from postroom.settings.clouds import login_at, scopes_at
from postroom.settings.fields import AsList, ConfigPath, HomePath, Number, Secret, Section, Switch
from postroom.settings.hosts import Host, OptionalHost
from postroom.settings.oauth import OAuthSettings

Security = Literal["tls", "starttls", "none"]
Port = Annotated[Number, Field(ge=1, le=65535)]

RESERVED_NAME = "all"  # the name for a search over every account

_IMAP_PORTS = {"tls": 993}
_AUTHSERV_IDS = {"imap.gmail.com": "mx.google.com", "imap.googlemail.com": "mx.google.com"}
_SMTP_PORTS = {"tls": 465, "starttls": 587}


def _free_name(name: str) -> str:
    if name.casefold() == RESERVED_NAME:
        raise ValueError(f"{name} stands for every account; choose another name")
    return name


def _web_address(url: str) -> str:
    if not url.startswith(("https://", "http://")):
        raise ValueError("write a URL that starts with https:// or http://")
    return url.rstrip("/")


def _mail_address(text: str) -> str:
    local, at, domain = text.rpartition("@")
    if not (local and at and domain) or any(char.isspace() for char in text):
        raise ValueError("write an address like alice@example.com")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$"), AfterValidator(_free_name)]
MailAddress = Annotated[str, AfterValidator(_mail_address)]
Url = Annotated[str, AfterValidator(_web_address)]


Signature = Annotated[str, StringConstraints(max_length=10_000)]


class IdentitySettings(Section):
    """A further address that the server lets the account send as."""

    address: MailAddress
    name: str = ""
    signature: Signature = ""
    signature_html: Signature = ""


Identities = Annotated[tuple[IdentitySettings, ...], *AsList]


class Account(Section):
    """What every account has. `secrets` names the fields that may also come from other sources."""

    secrets: ClassVar[tuple[str, ...]] = ()

    name: Name
    address: MailAddress
    display_name: str = ""
    signature: Signature = ""
    signature_html: Signature = ""
    add_signature: Switch = True

    @model_validator(mode="after")
    def _one_source_per_secret(self) -> Account:
        for secret in self.secrets:
            sources = [key for key in sources_of(self, secret) if getattr(self, key)]
            if len(sources) > 1:
                raise ValueError(f"{' and '.join(sources)} are set; keep one of them")
        return self


def sources_of(account: Account, secret: str) -> tuple[str, ...]:
    """The keys that say where a secret comes from; if none is set, it is where `secrets.keep` stored it."""
    can_be_fetched = hasattr(account, f"{secret}_command")
    return (secret, f"{secret}_env", f"{secret}_file", *((f"{secret}_command", "oauth") if can_be_fetched else ()))


class ServerAccount(Account):
    """An account at a server: what a mirror of it keeps. `mirror_days` is 0 for mail of any age."""

    mirror: Literal["full", "headers", "off"] = "off"
    mirror_leave_out: Annotated[tuple[str, ...], *AsList] = ()
    mirror_max_mb: Annotated[Number, Field(ge=1, le=100)] = 25
    mirror_days: Annotated[Number, Field(ge=0, le=36_500)] = 0


class TokenAccount(ServerAccount):
    """An account that can be opened with a bearer token from any source."""

    secrets: ClassVar[tuple[str, ...]] = ("token",)

    token: Secret = None
    token_env: str = ""
    token_file: ConfigPath | None = None
    token_command: Annotated[tuple[str, ...], *AsList] = ()
    oauth: OAuthSettings | None = None

    def scopes_at(self, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """As its service calls them where this account is."""
        return scopes


def _own_file(data: dict[str, Any]) -> Path:
    return Path("mail") / f"{data.get('name', 'local')}.db"


class LocalAccount(Account):
    """The embedded mailbox: one SQLite file."""

    provider: Literal["local"] = "local"
    path: HomePath = Field(default_factory=_own_file)


class ImapAccount(TokenAccount):
    """IMAP for reading, SMTP for sending, ManageSieve for rules and the vacation reply. Without `smtp_host` the account
    cannot send."""

    secrets = ("password", "token")

    provider: Literal["imap"] = "imap"
    host: Host
    security: Security = "tls"
    port: Port = Field(default_factory=lambda data: _IMAP_PORTS.get(data.get("security"), 143))
    username: str = Field(default_factory=lambda data: data.get("address", ""))
    auth: Literal["password", "xoauth2", "oauthbearer"] = "password"
    password: Secret = None
    password_env: str = ""
    password_file: ConfigPath | None = None
    ca_file: ConfigPath | None = None
    smtp_host: OptionalHost = ""
    smtp_security: Security = "tls"
    smtp_port: Port = Field(default_factory=lambda data: _SMTP_PORTS.get(data.get("smtp_security"), 25))
    sieve_host: OptionalHost = ""
    sieve_security: Security = "starttls"
    sieve_port: Port = 4190
    identities: Identities = ()
    timeout: Annotated[Number, Field(ge=1, le=3_600)] = 30
    max_connections: Annotated[Number, Field(ge=1, le=50)] = 4
    authserv_id: str = Field(default_factory=lambda data: _AUTHSERV_IDS.get(data.get("host", ""), ""))

    @model_validator(mode="after")
    def _token_for_oauth(self) -> ImapAccount:
        if self.oauth is not None and self.auth == "password":
            raise ValueError('oauth requires auth = "xoauth2" or "oauthbearer"')
        return self


class GmailAccount(TokenAccount):
    """`units_per_minute` is Google's limit for one user of the client id; see docs/providers/gmail.md."""

    provider: Literal["gmail"] = "gmail"
    base_url: Url = "https://gmail.googleapis.com"
    units_per_minute: Annotated[Number, Field(ge=500)] = 6000
    delegated: Switch = False


class GraphAccount(TokenAccount):
    provider: Literal["graph"] = "graph"
    base_url: Url = "https://graph.microsoft.com/v1.0"
    identities: Identities = ()

    @model_validator(mode="after")
    def _in_one_cloud(self) -> GraphAccount:
        if self.oauth is not None:
            object.__setattr__(self, "oauth", login_at(self.base_url, self.oauth))  # while it is being made
        return self

    def scopes_at(self, scopes: tuple[str, ...]) -> tuple[str, ...]:
        return scopes_at(self.base_url, scopes)


class JmapAccount(TokenAccount):
    """`session_url` is the session's own address, or just the server's: the rest is then found there."""

    secrets = ("password", "token")

    provider: Literal["jmap"] = "jmap"
    session_url: Url
    username: str = Field(default_factory=lambda data: data.get("address", ""))
    password: Secret = None
    password_env: str = ""
    password_file: ConfigPath | None = None
    auth: Literal["bearer", "password"] = Field(default_factory=lambda data: _jmap_auth(data))

    @model_validator(mode="after")
    def _token_for_oauth(self) -> JmapAccount:
        if self.oauth is not None and self.auth == "password":
            raise ValueError('oauth requires auth = "bearer"')
        return self


def _jmap_auth(data: dict[str, Any]) -> Literal["bearer", "password"]:
    """By the secret that is named; a token where none is."""
    return "password" if any(data.get(key) for key in ("password", "password_env", "password_file")) else "bearer"


class RestAccount(ServerAccount):
    """The REST mail API of dialect `mailapi`. Its token identifies the mailbox, so `address` may be omitted."""

    secrets = ("password", "auth_token")

    provider: Literal["rest"] = "rest"
    address: Annotated[str, AfterValidator(lambda text: text and _mail_address(text))] = ""
    base_url: Url
    auth_token: Secret = None
    auth_token_env: str = ""
    auth_token_file: ConfigPath | None = None
    username: str = Field(default_factory=lambda data: data.get("address", ""))
    password: Secret = None
    password_env: str = ""
    password_file: ConfigPath | None = None

    @model_validator(mode="after")
    def _token_or_password(self) -> RestAccount:
        token, password = (
            [key for key in sources_of(self, secret) if getattr(self, key)] for secret in ("auth_token", "password")
        )
        if token and password:
            raise ValueError(f"{token[0]} and {password[0]} are set; keep one of them")
        if password and not self.username:
            raise ValueError(f"{password[0]} needs the address, or a username, to log in with")
        return self


AccountSettings = LocalAccount | ImapAccount | GmailAccount | GraphAccount | JmapAccount | RestAccount
BY_PROVIDER: dict[str, type[Account]] = {
    "local": LocalAccount,
    "imap": ImapAccount,
    "gmail": GmailAccount,
    "graph": GraphAccount,
    "jmap": JmapAccount,
    "rest": RestAccount,
}
