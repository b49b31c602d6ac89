"""How to leave a mailing list, as its messages say it (RFC 2369, RFC 8058): in headers, never by a link in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from postroom.model.address import Address, ascii_domain, check_email
from postroom.model.errors import InvalidRequest

_URL = re.compile(r"<\s{0,9}([!-;=?-~]{1,2000})\s{0,9}>")
_SIGNED = re.compile(r"(?:\A|;)\s{0,99}h\s{0,99}=([^;]{0,4000})", re.IGNORECASE)
_COVERED = frozenset({"list-unsubscribe", "list-unsubscribe-post"})
_ONE_CLICK = "list-unsubscribe=one-click"
LOCAL_PART = "one-click"
TOOL = "unsubscribe"  # in the outbox, by mail and by one click


@dataclass(frozen=True, slots=True)
class Ways:
    """`one_click` is a URL for a POST, `mailto` one that names an address, `page` one for a person's browser."""

    one_click: str = ""
    mailto: str = ""
    page: str = ""
    is_signed: bool = False  # every DKIM signature covers both headers; whether one is valid is another question


def ways_of(headers: Mapping[str, tuple[str, ...]]) -> Ways:
    urls = _URL.findall("".join(headers.get("list-unsubscribe", ())[:1])[:10_000])
    https = next((url for url in urls if url[:8].lower() == "https://"), "")
    mailto = next((url for url in urls if url[:7].lower() == "mailto:"), "")
    post = "".join("".join(headers.get("list-unsubscribe-post", ())[:1]).split()).lower()
    is_one_click = bool(https) and post == _ONE_CLICK
    return Ways(https if is_one_click else "", mailto, "" if is_one_click else https, _is_signed(headers))


def _is_signed(headers: Mapping[str, tuple[str, ...]]) -> bool:
    """A signature covers the last header of a name; of several, the one that is read may be anybody's. Which signature
    was found valid is not known either: one that leaves the headers out may be it."""
    if any(len(headers.get(name, ())) != 1 for name in _COVERED):
        return False
    signatures = headers.get("dkim-signature", ())
    return bool(signatures) and len(signatures) <= 10 and all(map(_covers, signatures))


def _covers(signature: str) -> bool:
    found = _SIGNED.search(signature[:10_000])
    return found is not None and {name.strip().lower() for name in found[1].split(":")} >= _COVERED


def host_of(url: str) -> str:
    """The host that a one-click request goes to, as it is on the wire. InvalidRequest for a URL that is not one to be
    posted to: only https, only its usual port, a name and no number, no login in it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _unusable() from None
    if parts.scheme.lower() != "https" or "@" in parts.netloc or port not in (None, 443) or not host:
        raise _unusable()
    if host.replace(".", "").isdigit() or ":" in host or "." not in host.strip("."):
        raise _unusable()
    return ascii_domain(host.rstrip(".").lower())


def one_click_address(url: str) -> Address:
    """Whom a one-click request counts as written to, for the operator's recipient lists: somebody at its host."""
    return Address(check_email(f"{LOCAL_PART}@{host_of(url)}"))


def mailto_parts(url: str) -> tuple[str, str, str]:
    """Address, subject and text. Whatever else it names (copies, headers) is not honoured."""
    path, _, query = url[7:].partition("?")
    given = {name.lower(): value for name, value in parse_qsl(query.replace("+", "%2B"), max_num_fields=20)}
    to = unquote(path).split(",")[0].strip()
    return to, given.get("subject", "") or "unsubscribe", given.get("body", "") or "unsubscribe"


def _unusable() -> InvalidRequest:
    return InvalidRequest(
        "The address that this message gives for unsubscribing is not one that may be used: it must be https, with a "
        "host name and no port or login. Nothing was sent."
    )
