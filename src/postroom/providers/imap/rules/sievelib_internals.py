"""Everything that is used of sievelib's internals, in one place. A test compares it with the installed version."""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sievelib.managesieve import Client, Error

from postroom.model.errors import AuthRequired
from postroom.providers.imap.session.auth import BearerAnswers, Credentials, tls_context, waited_for

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

# Methods of its client that are replaced or called here; it calls them itself by these exact names.
METHODS = (
    "_Client__get_capabilities",
    "_Client__enable_ssl",
    "_Client__send_command",
    "_Client__starttls",
    "_Client__authenticate",
    "_xoauth2_authentication",
    "_oauthbearer_authentication",
)

_LISTED = re.compile(r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>.*?))\s*(?P<active>ACTIVE)?', re.IGNORECASE)
_GREETING = 5  # seconds to wait for one: it is asked for whenever the account is opened


class SieveClient(Client):  # type: ignore[misc]  # sievelib has no types
    """sievelib's client with our certificates, our timeout, and correct responses to refused tokens.

    The parent calls its private methods by the names Python gives them (``_Client__...``): so they are reached here.
    """

    def __init__(self, account: ImapAccount) -> None:
        super().__init__(account.sieve_host, account.sieve_port)
        self.sock: Any = None
        self._account = account

    def log_in(self, credentials: Credentials) -> None:
        """Retried once with a newer token when the first is refused."""
        secret = waited_for(credentials.secret)
        if self._accepts(secret):
            return
        newer = waited_for(credentials.renewed, secret)
        if newer != secret:
            self.hang_up()
            if self._accepts(newer):
                return
        raise AuthRequired("The ManageSieve server refused the login. Check the username and secrets of this account.")

    def _accepts(self, secret: str) -> bool:
        """What the parent's `connect` does, which would wait for a silent host as long as the system does."""
        account = self._account
        self._connect(account.timeout)
        if account.sieve_security == "starttls" and not self._Client__starttls():
            return False
        mechanism = "PLAIN" if account.auth == "password" else account.auth.upper()
        return bool(self._Client__authenticate(account.username, secret, authmech=mechanism))

    def greet(self) -> None:
        """Connect and hear what the server offers, without a login."""
        self._connect(min(self._account.timeout, _GREETING))

    def _connect(self, timeout: float) -> None:
        account = self._account
        self.sock = socket.create_connection((account.sieve_host, account.sieve_port), timeout)
        if account.sieve_security == "tls":
            self._Client__enable_ssl()
        if not self._Client__get_capabilities():
            raise Error("no greeting")

    @property
    def extensions(self) -> frozenset[str]:
        try:
            return frozenset(self.get_sieve_capabilities() or ())
        except KeyError:
            return frozenset()

    def listed(self) -> tuple[list[str], str] | None:
        """The scripts' names, and that of the active one. sievelib's own takes a name with a quote for an inactive one,
        and a literal for all of its line: where it is unclear whether a script runs, it counts as running."""
        code, _, listing = self._Client__send_command("LISTSCRIPTS", withcontent=True)
        if code != "OK":
            return None
        found = [_LISTED.fullmatch(line.decode("utf-8", "replace")) for line in listing.splitlines() if line]
        names = {_name(one): one["active"] for one in found if one}
        return list(names), next((name for name, active in names.items() if active), "")

    def take_leave(self) -> None:
        """What was done is done, whether the server still listens or not."""
        with suppress(Error, OSError):
            self.logout()

    def hang_up(self) -> None:
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def _Client__enable_ssl(self, keyfile: Any = None, certfile: Any = None) -> None:  # noqa: N802
        self.sock = tls_context(self._account).wrap_socket(self.sock, server_hostname=self._account.sieve_host)

    def _xoauth2_authentication(self, login: bytes, password: bytes, authz_id: bytes = b"") -> bool:
        return self._present_token("xoauth2", login, password)

    def _oauthbearer_authentication(self, login: bytes, password: bytes, authz_id: bytes = b"") -> bool:
        return self._present_token("oauthbearer", login, password)

    def _present_token(self, mechanism: str, login: bytes, token: bytes) -> bool:
        answers = BearerAnswers(mechanism, login.decode(), token.decode())
        words = [mechanism.upper().encode(), b64encode(answers(b""))]
        code, _ = self._Client__send_command("AUTHENTICATE", words, nblines=1)
        if code is None:  # the details of a refusal: they must be acknowledged before the server reports it
            code, _ = self._Client__send_command(f'"{b64encode(answers(b"")).decode()}"')
        return bool(code == "OK")


def _name(listed: re.Match[str]) -> str:
    quoted = listed["quoted"]
    return listed["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
