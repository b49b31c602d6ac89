"""google-api-python-client, built from Google's own document and pointed at a fake."""

from __future__ import annotations

import importlib.util
from typing import Any

from tests.peers.daemon import require
from tests.peers.gmail import FakeGmail, discovery


def official_client(gmail: FakeGmail, token: str = "", *, credentials: Any = None) -> Any:
    """The service object, or a skip (under CI a failure) with the reason.

    With a token it just sends that; with google-auth's credentials it refreshes them when it is refused.
    """
    if importlib.util.find_spec("googleapiclient") is None:
        require("google-api-python-client is not installed; run make official-clients")
    document = discovery.load()
    if document is None:
        require("the package of google-api-python-client has no document of Gmail")
    assert document is not None
    from googleapiclient.discovery import build_from_document

    patched = document | {"rootUrl": f"{gmail.url}/", "baseUrl": f"{gmail.url}/"}  # both: batches use the root
    return build_from_document(patched, http=_http(token, credentials))


def _http(token: str, credentials: Any) -> Any:
    import httplib2
    from google_auth_httplib2 import AuthorizedHttp

    class BearerHttp(httplib2.Http):  # type: ignore[misc]
        def request(self, uri: str, method: str = "GET", body: Any = None, headers: Any = None, **how: Any) -> Any:
            signed = {**(headers or {}), "authorization": f"Bearer {token}"}
            return super().request(uri, method, body, signed, **how)

    http = httplib2.Http(timeout=20) if credentials else BearerHttp(timeout=20)
    http.redirect_codes = http.redirect_codes - {308}  # as Google's own: to an upload it says "go on"
    return AuthorizedHttp(credentials, http=http) if credentials else http
