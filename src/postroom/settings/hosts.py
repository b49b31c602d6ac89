"""Host names in settings."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from postroom.model.address import ascii_domain, domain_key

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.IGNORECASE)


def is_host(text: str) -> bool:
    """Whether it can be an ASCII host name or an IPv4 address."""
    return len(text) <= 253 and _HOST.fullmatch(text) is not None


def host_name(text: str) -> str:
    """In the ASCII form, which every resolver reads alike. A URL, or a port after the name, is an error."""
    name = ascii_domain(domain_key(text)).removesuffix(".")
    if not is_host(name) and not _is_ipv6(text):
        raise ValueError("write just a host name like mail.example.com; the port has its own key")
    return name


def _is_ipv6(text: str) -> bool:
    from ipaddress import IPv6Address

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


Host = Annotated[str, AfterValidator(host_name)]
OptionalHost = Annotated[str, AfterValidator(lambda text: text and host_name(text))]
