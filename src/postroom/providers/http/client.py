"""The one place where an HTTP client is made."""

from __future__ import annotations

import logging
import ssl
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING

from postroom import __version__
from postroom.providers.http.decoding import CODING

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 30.0  # seconds to connect, and for each read
CONNECTIONS = 8  # at once to one service; Graph accepts four requests per mailbox at a time
KEPT = 5.0  # seconds that an idle connection is kept: on one that the server has closed, a write is unclear


def new_client(
    *,
    timeout: float = TIMEOUT,
    connections: int = CONNECTIONS,
    tls: ssl.SSLContext | None = None,
    proxies: bool = True,
) -> httpx2.AsyncClient:
    """Always verifies certificates, follows no redirect by itself, keeps no cookies.

    `proxies` lets HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY of the environment apply.
    """
    import httpx2

    for name in ("httpx2", "httpcore2"):  # they would log URLs, and URLs contain addresses and search terms
        logging.getLogger(name).setLevel(logging.WARNING)
    return httpx2.AsyncClient(
        verify=tls or tls_context(),
        timeout=timeout,
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=KEPT),
        trust_env=proxies,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": f"postroom/{__version__}", "Accept-Encoding": CODING},
    )


@cache
def tls_context(ca_file: Path | None = None) -> ssl.SSLContext:
    """The system's authorities, or those of `ca_file` instead. Reading them takes a tenth of a second."""
    return ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
