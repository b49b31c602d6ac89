"""The session document (RFC 8620, 2): where everything is, what the server offers, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from postroom.model.errors import PermissionDenied, ProviderError
from postroom.providers.jmap.wire import CORE, MAIL

_URLS = ("apiUrl", "downloadUrl", "uploadUrl", "eventSourceUrl")
_DEFAULTS = {  # the least that RFC 8620 suggests
    "maxSizeUpload": 50_000_000,
    "maxSizeRequest": 10_000_000,
    "maxCallsInRequest": 16,
    "maxObjectsInGet": 500,
    "maxObjectsInSet": 500,
    "maxConcurrentRequests": 4,
}


@dataclass(frozen=True, slots=True)
class Session:
    """`account_id` is opaque: an address at some servers. `offers` are the capabilities of that account."""

    api_url: str
    download_url: str
    upload_url: str
    event_url: str
    account_id: str
    state: str
    limits: Mapping[str, int]
    offers: Mapping[str, Mapping[str, Any]]
    is_read_only: bool = False

    def download_of(self, blob_id: str) -> str:
        return self._filled(self.download_url, blobId=blob_id, name="message", type="application/octet-stream")

    def upload_to(self) -> str:
        return self._filled(self.upload_url)

    def events_of(self, types: str, *, ping: int) -> str:
        return self._filled(self.event_url, types=types, closeafter="no", ping=str(ping))

    def _filled(self, template: str, **values: str) -> str:
        """A URI template of level 1 (RFC 6570)."""
        for name, value in {**values, "accountId": self.account_id}.items():
            template = template.replace(f"{{{name}}}", quote(value, safe=""))
        return template


def well_known(url: str) -> str:
    """Where to ask for the session: the URL itself, or the well-known place of a bare host."""
    return urljoin(url, "/.well-known/jmap") if urlsplit(url).path in ("", "/") else url


def read_session(document: Any, url: str) -> Session:
    """`url` is where it was found: its own URLs may be relative to it."""
    if not isinstance(document, dict) or not isinstance(document.get("accounts"), dict):
        raise _not_a_session(url, "it names no accounts")
    missing = [name for name in _URLS[:3] if not isinstance(document.get(name), str)]
    if missing:
        raise _not_a_session(url, f"{missing[0]} is missing")
    account_id = _account_of(document)
    account = document["accounts"][account_id]
    api, download, upload, events = (
        urljoin(url, document[name]) if isinstance(document.get(name), str) else "" for name in _URLS
    )
    return Session(
        api,
        download,
        upload,
        events,
        account_id=account_id,
        state=str(document.get("state", "")),
        limits=_limits(document),
        offers=account["accountCapabilities"],
        is_read_only=account.get("isReadOnly") is True,
    )


def _account_of(document: dict[str, Any]) -> str:
    """The primary account for mail; where none is named, the only one that has mail."""
    accounts = document["accounts"]
    primary = document.get("primaryAccounts")
    named = primary.get(MAIL) if isinstance(primary, dict) else None
    with_mail = [key for key, account in accounts.items() if _has_mail(account)]
    if isinstance(named, str) and named in with_mail:
        return named
    if len(with_mail) == 1:
        return str(with_mail[0])
    raise PermissionDenied(
        "This login has no mailbox that JMAP can open. If the mailbox is new, open it once with another mail program; "
        "if a token is used, check that it includes mail."
    )


def _has_mail(account: Any) -> bool:
    offers = account.get("accountCapabilities") if isinstance(account, dict) else None
    return isinstance(offers, dict) and isinstance(offers.get(MAIL), dict)


def _limits(document: dict[str, Any]) -> dict[str, int]:
    capabilities = document.get("capabilities")
    core = capabilities.get(CORE) if isinstance(capabilities, dict) else None
    told = core if isinstance(core, dict) else {}
    return {name: _count(told.get(name)) or default for name, default in _DEFAULTS.items()}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _not_a_session(url: str, why: str) -> ProviderError:
    host = urlsplit(url).hostname or "The server"
    return ProviderError(f"{host} sent no JMAP session ({why}). Check session_url of this account.")
