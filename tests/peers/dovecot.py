"""A Dovecot of our own: IMAP, LMTP and ManageSieve for any user name, so that each test can be a new user."""

from __future__ import annotations

import base64
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.certificates import Certificates, make_certificates
from tests.peers.daemon import LOOPBACK, free_ports, kill_by_pid_file, require_programs, wait_for_listener
from tests.peers.tokens import ISSUER, KEY

DOMAIN = "example.test"
PASSWORD = "correct-horse-battery"
MAIL_OWNER = 21000  # a bare number: needs no entry in passwd


@dataclass(slots=True)
class Dovecot:
    """A running server. Every user name logs in with PASSWORD and finds an empty mailbox of its own."""

    home: Path
    certificates: Certificates
    imap: int
    imaps: int
    lmtp: int
    sieve: int
    sasl: int
    host: str = LOOPBACK
    _users: Iterator[int] = field(default_factory=itertools.count)

    def new_user(self, name: str = "user") -> str:
        return f"{name}{next(self._users)}-{os.getpid()}@{DOMAIN}"

    def maildir(self, user: str) -> Path:
        return self.home / "mail" / user / "Maildir"

    def renumber(self, user: str) -> None:
        """As after a restored backup: the inbox keeps its mails and UIDs, under another UIDVALIDITY."""
        self._number_as(user, self._epoch(user) + 1000)

    def number_alike(self, user: str, other: str) -> None:
        """The inbox of the other gets the UIDVALIDITY that the user's has."""
        self._number_as(other, self._epoch(user))

    def _epoch(self, user: str) -> int:
        found = re.search(r" V(\d+)", (self.maildir(user) / "dovecot-uidlist").read_text())
        assert found is not None
        return int(found[1])

    def _number_as(self, user: str, epoch: int) -> None:
        self.doveadm("kick", user)
        numbers = self.maildir(user) / "dovecot-uidlist"
        numbers.write_text(re.sub(r" V\d+", f" V{epoch}", numbers.read_text(), count=1))
        for path in self.maildir(user).glob("dovecot.*"):
            path.unlink()

    def doveadm(self, *arguments: str) -> None:
        command = ["doveadm", "-c", str(self.home / "dovecot.conf"), *arguments]
        subprocess.run(command, capture_output=True, check=False, timeout=20)

    def start(self) -> None:
        with (self.home / "start.log").open("wb") as log:
            subprocess.run(
                ["dovecot", "-c", str(self.home / "dovecot.conf")], stdout=log, stderr=log, check=True, timeout=20
            )
        wait_for_listener(self.imap, self.home / "dovecot.log")

    def kill(self) -> None:
        """The whole server, in the middle of whatever it does. It can be started again."""
        kill_by_pid_file(self.home / "run" / "master.pid")


@contextmanager
def running_dovecot(*, capability: str = "", settings: str = "", certified: str = "localhost") -> Iterator[Dovecot]:
    """Start one, wait until it listens, stop and wipe it. `capability` narrows what it says it can do."""
    require_programs("dovecot", "doveadm")
    home = Path(tempfile.mkdtemp(prefix="postroom-dovecot-"))
    server = Dovecot(home, make_certificates(home, certified), *free_ports(5))
    try:
        _furnish(server, capability, settings)
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(home, ignore_errors=True)


def _furnish(server: Dovecot, capability: str, settings: str) -> None:
    home = server.home
    for folder in ("run", "lib", "mail", "keys/default/HS256"):
        (home / folder).mkdir(parents=True)
    home.chmod(0o755)
    os.chown(home / "mail", MAIL_OWNER, MAIL_OWNER)
    (home / "keys/default/HS256/default").write_bytes(base64.b64encode(KEY))
    (home / "oauth2.conf").write_text(
        f"introspection_mode = local\nlocal_validation_key_dict = fs:posix:prefix={home}/keys/\n"
        f"username_attribute = email\nissuers = {ISSUER}\n"
    )
    narrowed = f"imap_capability = {capability}\n" if capability else ""
    (home / "dovecot.conf").write_text(_configuration(server) + narrowed + settings)


def _configuration(server: Dovecot) -> str:
    home = server.home
    return f"""
protocols = imap lmtp sieve
listen = {LOOPBACK}
base_dir = {home}/run
state_dir = {home}/lib
instance_name = postroom{server.imap}
log_path = {home}/dovecot.log
hostname = localhost
ssl = yes
ssl_cert = <{server.certificates.server}
ssl_key = <{server.certificates.key}
disable_plaintext_auth = no
auth_mechanisms = plain login xoauth2 oauthbearer
auth_failure_delay = 0
mail_max_userip_connections = 60
default_vsz_limit = 1G
mail_home = {home}/mail/%Lu
mail_location = maildir:~/Maildir
mail_uid = {MAIL_OWNER}
mail_gid = {MAIL_OWNER}
mail_fsync = never
recipient_delimiter = +
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {home}/oauth2.conf
}}
passdb {{
  driver = static
  mechanisms = plain login
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = uid={MAIL_OWNER} gid={MAIL_OWNER} home={home}/mail/%Lu allow_all_users=yes
}}
namespace inbox {{
  inbox = yes
  separator = /
{"".join(_special(name) for name in ("Drafts", "Sent", "Trash", "Junk", "Archive"))}
}}
service imap {{
  service_count = 500
  process_min_avail = 2
}}
service imap-login {{
  service_count = 0
  process_min_avail = 1
  inet_listener imap {{
    port = {server.imap}
  }}
  inet_listener imaps {{
    port = {server.imaps}
    ssl = yes
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = {LOOPBACK}
    port = {server.lmtp}
  }}
}}
service managesieve-login {{
  inet_listener sieve {{
    port = {server.sieve}
  }}
}}
service auth {{
  inet_listener sasl {{
    address = {LOOPBACK}
    port = {server.sasl}
  }}
}}
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
protocol lmtp {{
  mail_plugins = sieve
  postmaster_address = postmaster@{DOMAIN}
}}
plugin {{
  sieve = file:~/sieve;active=~/.dovecot.sieve
}}
"""


def _special(name: str) -> str:
    return f"  mailbox {name} {{\n    auto = create\n    special_use = \\{name}\n  }}\n"
