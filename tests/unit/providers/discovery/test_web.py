"""Fetching one file over HTTPS from a server of our own."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.peers.certificates import Certificates, make_certificates

from postroom.providers.discovery.web import LONGEST, fetch


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        sizes = {"/small": 10, "/longest": LONGEST, "/endless": LONGEST + 1}
        self.send_response(200 if self.path in sizes else 404)
        self.end_headers()
        self.wfile.write(b"x" * sizes.get(self.path, 3))

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def serving(certificates: Certificates | None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    if certificates is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates.server, certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"{'https' if certificates else 'http'}://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def site(certificates: Certificates) -> Iterator[str]:
    with serving(certificates) as url:
        yield url


@pytest.fixture
def trusting(certificates: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificates.ca))


@pytest.mark.parametrize(("path", "length"), [("/small", 10), ("/longest", LONGEST), ("/to//small", 10)])
async def test_a_file_is_fetched_also_where_it_has_moved(
    site: str, trusting: ssl.SSLContext, path: str, length: int
) -> None:
    document = await fetch(site + path, context=trusting)
    assert document is not None
    assert len(document) == length


@pytest.mark.parametrize("path", ["/absent", "/endless", "/to/ftp://localhost/small", "/to/file:///etc/hostname"])
async def test_nothing_comes_of_what_is_absent_endless_or_elsewhere(
    site: str, trusting: ssl.SSLContext, path: str
) -> None:
    assert await fetch(site + path, context=trusting) is None


async def test_no_step_of_the_way_goes_unencrypted(site: str, trusting: ssl.SSLContext) -> None:
    with serving(None) as plain:
        assert await fetch(f"{site}/to/{plain}/small", context=trusting) is None


async def test_a_stranger_to_our_authorities_is_not_believed(site: str, tmp_path: Path) -> None:
    assert await fetch(f"{site}/small") is None
    other = ssl.create_default_context(cafile=str(make_certificates(tmp_path).ca))
    assert await fetch(f"{site}/small", context=other) is None


async def test_an_address_where_nobody_listens_is_no_answer() -> None:
    assert await fetch("https://localhost:1/small") is None
