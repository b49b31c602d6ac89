"""A Cyrus of our own: JMAP and IMAP for any user name, so that each test can be a new user.

Its package cannot be installed beside Dovecot's, so its files lie unpacked in ``.peers``. What it submits goes to an
SMTP server of the test, which remembers it (`Cyrus.smtp`).
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from imapclient import IMAPClient
from tests.peers.daemon import LOOPBACK, free_ports, kill_by_pid_file, require, wait_for_listener
from tests.peers.saslauthd import saslauthd
from tests.peers.scripted_smtp import Script, scripted_smtp

DOMAIN = "example.test"
PASSWORD = "correct-horse-battery"

_PROJECT = Path(__file__).parents[2]
_UNPACKED = _PROJECT / ".peers" / "cyrus"
_PROGRAMS = ("master", "ctl_cyrusdb", "httpd", "imapd", "squatter")
_OWNER, _GROUP = "nobody", "nogroup"  # it refuses to run as root, and needs a name from passwd
_FOLDERS = "Drafts|Sent|Trash|Junk|Archive"
_MEMORY = Path("/dev/shm")  # a new user takes 20 ms there, and 350 ms on a disk that is synced


def missing_cyrus() -> str | None:
    """Why it cannot be started here, in words; None when it can."""
    if not (_UNPACKED / "usr/lib/cyrus/bin/httpd").exists():
        return "Cyrus is not unpacked in .peers/cyrus (make peers does that on Debian)"
    return None if os.geteuid() == 0 else "Cyrus can only be started by root"


@dataclass(slots=True)
class Cyrus:
    """A running server. A new user logs in with PASSWORD and finds the usual folders, empty."""

    home: Path
    smtp: Script
    http: int
    imap: int
    host: str = LOOPBACK
    offers_vacation: bool = False
    _users: Iterator[int] = field(default_factory=itertools.count)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.http}"

    def new_user(self, name: str = "user") -> str:
        """Its folders are made by the first login over IMAP; before that JMAP shows no account at all."""
        user = f"{name}{next(self._users)}-{os.getpid()}@{DOMAIN}"
        with IMAPClient(self.host, self.imap, ssl=False, timeout=20) as client:
            client.login(user, PASSWORD)
        return user

    def index(self, user: str) -> None:
        """Make what was just written findable by its words; a server in use does that a little later by itself."""
        self._run("squatter", "-i", "-u", user)

    def start(self) -> None:
        self._run("ctl_cyrusdb", "-r")
        self._run("master", "-M", f"{self.home}/cyrus.conf", "-p", f"{self.home}/master.pid", "-d")
        wait_for_listener(self.http, self.home / "log")
        wait_for_listener(self.imap, self.home / "log")

    def kill(self) -> None:
        kill_by_pid_file(self.home / "master.pid")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.home / "bin" / program), "-C", str(self.home / "imapd.conf"), *arguments]
        with (self.home / "log").open("ab") as log:
            subprocess.run(command, env=self._environment(), stdout=log, stderr=log, check=True, timeout=60)

    def _environment(self) -> dict[str, str]:
        return {"LD_LIBRARY_PATH": str(self.home / "bin"), "CYRUS_USER": _OWNER, "CYRUS_GROUP": _GROUP, "PATH": "/bin"}


@contextmanager
def running_cyrus(*, vacation: bool = False) -> Iterator[Cyrus]:
    """`vacation`: it then offers vacation replies, and its worker dies when it is asked for one."""
    require(missing_cyrus())
    home = Path(tempfile.mkdtemp(prefix="postroom-cyrus-", dir=_MEMORY if _MEMORY.is_dir() else None))
    with ExitStack() as peers:
        peers.callback(shutil.rmtree, home, ignore_errors=True)
        smtp = peers.enter_context(scripted_smtp(size=2**25))
        server = Cyrus(home, smtp, *free_ports(2), offers_vacation=vacation)
        peers.callback(server.kill)
        _furnish(server)
        peers.enter_context(saslauthd(home / "sasl" / "mux", PASSWORD, pwd.getpwnam(_OWNER).pw_uid))
        server.start()
        yield server


def _furnish(server: Cyrus) -> None:
    """The programs are copied: whoever they run as may not be allowed to look into the project's folder."""
    home = server.home
    conf = [f"conf/{name}" for name in ("db", "log", "msg", "proc", "quota", "socket", "sync", "user", "lock")]
    for folder in (*conf, "spool", "search", "sieve", "sasl", "bin"):
        (home / folder).mkdir(parents=True)
    programs = (_UNPACKED / "usr/lib/cyrus/bin" / name for name in _PROGRAMS)
    for path in (*programs, *_UNPACKED.glob("usr/lib/*/lib*.so.*"), *_UNPACKED.glob("lib/*/lib*.so.*")):
        if "clam" not in path.name:
            shutil.copy(path, home / "bin")
    (home / "imapd.conf").write_text(_imapd(server))
    (home / "cyrus.conf").write_text(_services(server))
    home.chmod(0o755)
    for path in (home, *home.rglob("*")):
        shutil.chown(path, _OWNER, _GROUP)


def _imapd(server: Cyrus) -> str:
    home = server.home
    return f"""
configdirectory: {home}/conf
defaultpartition: default
partition-default: {home}/spool
sievedir: {home}/sieve
servername: localhost
admins: cyrus
proc_path: {home}/conf/proc
mboxname_lockpath: {home}/conf/lock
idlesocket: {home}/conf/socket/idle
notifysocket: {home}/conf/socket/notify
virtdomains: userid
defaultdomain: internal
unixhierarchysep: yes
altnamespace: yes
allowplaintext: yes
sasl_mech_list: PLAIN
sasl_pwcheck_method: saslauthd
sasl_saslauthd_path: {home}/sasl/mux
autocreate_quota: 0
autocreate_inbox_folders: {_FOLDERS}
autocreate_subscribe_folders: {_FOLDERS}
xlist-drafts: Drafts
xlist-sent: Sent
xlist-trash: Trash
xlist-junk: Junk
xlist-archive: Archive
specialusealways: yes
httpmodules: jmap
httpallowcompress: no
conversations: yes
conversations_db: twoskip
search_engine: xapian
search_fuzzy_always: no
defaultsearchtier: t1
t1searchpartition-default: {home}/search
jmapsubmission_deleteonsend: no
jmap_vacation: {"yes" if server.offers_vacation else "no"}
jmap_nonstandard_extensions: no
jmap_max_size_upload: 51200
jmap_max_size_request: 51200
smtp_backend: host
smtp_host: {LOOPBACK}:{server.smtp.port}
munge8bit: no
skiplist_unsafe: yes
"""


def _services(server: Cyrus) -> str:
    programs, conf = server.home / "bin", server.home / "imapd.conf"
    return f"""
START {{
}}
SERVICES {{
  imap cmd="{programs}/imapd -C {conf}" listen="{LOOPBACK}:{server.imap}" prefork=1 proto=tcp4
  http cmd="{programs}/httpd -C {conf}" listen="{LOOPBACK}:{server.http}" prefork=2 proto=tcp4
}}
EVENTS {{
}}
"""
