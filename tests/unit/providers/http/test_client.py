"""How the one client is made: certificates, proxies, silence in logs."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.peers.certificates import Certificates, make_certificates

from postroom.model.errors import ProviderError
from postroom.providers.http.client import new_client
from postroom.providers.http.exchange import Call, exchange

from .scripted_http import Reply, Server


class Quiet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("http"))


@pytest.fixture(scope="module")
def encrypted(certificates: Certificates) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server, certificates.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://localhost:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_certificates_are_verified_and_a_stranger_is_named_as_such(
    encrypted: str, certificates: Certificates
) -> None:
    async with new_client(proxies=False) as client:
        with pytest.raises(ProviderError, match="certificate of localhost"):
            await exchange(client, Call("POST", encrypted, writes=True))
    trusting = ssl.create_default_context(cafile=str(certificates.ca))
    async with new_client(proxies=False, tls=trusting) as client:
        assert (await exchange(client, Call("GET", encrypted))).status == 200


@pytest.mark.parametrize(("proxies", "path"), [(True, "http://mail.example/x"), (False, None)])
async def test_a_proxy_of_the_environment_counts_only_where_it_may(
    server: Server, monkeypatch: pytest.MonkeyPatch, proxies: bool, path: str | None
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    url = "http://mail.example/x" if proxies else f"{server.url}/direct"
    async with new_client(proxies=proxies) as client:
        await exchange(client, Call("GET", url))
    assert server.asked[0].path == (path or "/direct")


async def test_no_url_gets_into_a_log(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [Reply()]
    async with new_client(proxies=False) as client:
        await exchange(client, Call("GET", f"{server.url}/?q=CANARY"))
    assert "CANARY" not in caplog.text
