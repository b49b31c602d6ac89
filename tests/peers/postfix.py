"""A Postfix of our own: submission with AUTH (by Dovecot), delivery by LMTP into Dovecot, nothing ever leaves.

Local parts that begin with ``nobody`` do not exist; every domain but the test's is refused by the `error` transport.
`ROUTING_DOMAIN` is one that Postfix takes for its own: there the defaults send ``user%other`` and ``other!user`` on.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.peers.daemon import LOOPBACK, free_ports, kill_by_pid_file, require_programs, wait_for_listener
from tests.peers.dovecot import DOMAIN, Dovecot

ROUTING_DOMAIN = f"host.{DOMAIN}"
MESSAGE_SIZE_LIMIT = 5 * 2**20


@dataclass(slots=True)
class Postfix:
    """Ports: `plain` and `starttls` and `tls`, each with AUTH."""

    home: Path
    plain: int
    starttls: int
    tls: int
    host: str = LOOPBACK

    def start(self) -> None:
        log = self.home / "start.log"
        with log.open("wb") as output:
            subprocess.run(
                ["postfix", "-c", str(self.home / "etc"), "start"], stdout=output, stderr=output, check=True, timeout=60
            )
        wait_for_listener(self.plain, self.home / "log" / "mail.log")

    def has_queued_mail(self) -> bool:
        """Whether something accepted is still on its way."""
        places = (self.home / "queue" / name for name in ("maildrop", "incoming", "active", "deferred"))
        return any(path.is_file() for place in places for path in place.rglob("*"))

    def kill(self) -> None:
        kill_by_pid_file(self.home / "queue" / "pid" / "master.pid")


@contextmanager
def running_postfix(dovecot: Dovecot) -> Iterator[Postfix]:
    require_programs("postfix")
    home = Path(tempfile.mkdtemp(prefix="postroom-postfix-"))
    server = Postfix(home, *free_ports(3))
    try:
        _furnish(server, dovecot)
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(home, ignore_errors=True)


def _furnish(server: Postfix, dovecot: Dovecot) -> None:
    for folder in ("etc", "queue", "data", "log"):
        (server.home / folder).mkdir()
    server.home.chmod(0o755)
    shutil.chown(server.home / "data", "postfix")
    (server.home / "etc" / "main.cf").write_text(_main(server.home, dovecot))
    (server.home / "etc" / "master.cf").write_text(_master(server))
    (server.home / "etc" / "recipients").write_text(f"if !/^nobody/\n/@{DOMAIN}$/ OK\nendif\n")
    (server.home / "etc" / "logins").write_text("/^sales[.](.+)$/ $1\n/^(.+)$/ $1\n")  # an alias, and oneself


def _main(home: Path, dovecot: Dovecot) -> str:
    return f"""
compatibility_level = 3.6
queue_directory = {home}/queue
data_directory = {home}/data
maillog_file = {home}/log/mail.log
maillog_file_prefixes = {home}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = localhost
mydomain = {DOMAIN}
myorigin = {DOMAIN}
mydestination = {ROUTING_DOMAIN}
inet_interfaces = {LOOPBACK}
inet_protocols = ipv4
mynetworks =
alias_maps =
alias_database =
local_transport = error:5.1.1 no local delivery
default_transport = error:5.1.2 nothing leaves the test
relay_transport = error:5.1.2 nothing leaves the test
virtual_mailbox_domains = {DOMAIN}
virtual_mailbox_maps = regexp:{home}/etc/recipients
virtual_transport = lmtp:inet:{LOOPBACK}:{dovecot.lmtp}
recipient_delimiter = +
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:{LOOPBACK}:{dovecot.sasl}
smtpd_sasl_security_options = noanonymous
smtpd_sender_login_maps = regexp:{home}/etc/logins
smtpd_sender_restrictions = reject_sender_login_mismatch
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = reject_unlisted_recipient, permit_sasl_authenticated, reject
smtpd_tls_cert_file = {dovecot.certificates.server}
smtpd_tls_key_file = {dovecot.certificates.key}
smtpd_tls_security_level = may
message_size_limit = {MESSAGE_SIZE_LIMIT}
smtputf8_enable = yes
biff = no
smtp_host_lookup = native
lmtp_host_lookup = native
disable_dns_lookups = yes
smtpd_client_connection_rate_limit = 0
smtpd_client_message_rate_limit = 0
"""


def _master(server: Postfix) -> str:
    internal = """
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""
    return f"""
{LOOPBACK}:{server.plain} inet n - n - - smtpd
{LOOPBACK}:{server.starttls} inet n - n - - smtpd
  -o smtpd_tls_security_level=encrypt
{LOOPBACK}:{server.tls} inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes
{internal}"""
