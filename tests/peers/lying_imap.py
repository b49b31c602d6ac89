"""An IMAP server that says what a test has it say: a few folders in memory, and every answer open to a lie.

It is no server to be compared with: what no client of ours asks, it refuses.
"""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.peers.daemon import LOOPBACK

MODERN = "IMAP4rev1 ENABLE CONDSTORE QRESYNC LIST-EXTENDED LIST-STATUS SPECIAL-USE ESEARCH UIDPLUS MOVE UNSELECT"
POOR = "IMAP4rev1 UIDPLUS MOVE UNSELECT"

Lie = Callable[[str, list[bytes]], list[bytes]]  # the command as sent, what would be answered without line ends


@dataclass
class Held:
    uid: int
    raw: bytes
    flags: str = ""
    arrived: str = "01-Jun-2026 10:00:00 +0000"
    modseq: int = 1


@dataclass
class Box:
    mails: list[Held] = field(default_factory=list)
    validity: int = 7
    modseq: int = 1

    @property
    def next_uid(self) -> int:
        return max((mail.uid for mail in self.mails), default=0) + 1


@dataclass
class LyingImap:
    """`boxes` by the name as it is on the wire. `lie` may change every untagged answer. `hangs_up` with these last
    words instead of an answer to a command."""

    boxes: dict[bytes, Box] = field(default_factory=lambda: {b"INBOX": Box()})
    capability: str = MODERN
    lie: Lie = lambda _, lines: lines
    refuses: Callable[[str], bool] = lambda _: False
    refuses_in: Callable[[bytes, str], bool] = lambda *_: False  # the open folder, the command
    refusal: bytes = b"NO not this one"
    hangs_up: Callable[[str], bytes | None] = lambda _: None
    freezes: bool = False  # as UW imapd: an open folder stays as it was, and an empty one has no UIDVALIDITY
    greeting: bytes = b"* OK ready"
    heard: list[str] = field(default_factory=list)
    host: str = LOOPBACK
    imap: int = 0

    def new_user(self, name: str = "user") -> str:
        return f"{name}@example.test"

    def put(self, *raws: bytes, box: bytes = b"INBOX", flags: str = "") -> None:
        here = self.boxes.setdefault(box, Box())
        for raw in raws:
            here.modseq += 1
            here.mails.append(Held(here.next_uid, raw, flags, modseq=here.modseq))


class _Conversation(socketserver.StreamRequestHandler):
    wbufsize = -1  # one packet for an answer: nobody waits for the confirmation of its first line

    def handle(self) -> None:
        self.box, self.name = Box(), b""
        self._say(self.liar.greeting)
        self.wfile.flush()
        if b"BYE" in self.liar.greeting:
            return
        while line := self.rfile.readline():
            tag, _, command = line.decode("utf-8", "replace").strip().partition(" ")
            self.liar.heard.append(command)
            goes_on = self._answer(tag.encode(), command)
            self.wfile.flush()
            if not goes_on:
                return

    @property
    def liar(self) -> LyingImap:
        return self.server.liar  # type: ignore[attr-defined,no-any-return]

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")

    def _answer(self, tag: bytes, command: str) -> bool:
        last_words = self.liar.hangs_up(command)
        if last_words is not None:
            self.wfile.write(last_words)
            return False
        verb = command.removeprefix("UID ").partition(" ")[0].upper()
        method = getattr(self, f"_do_{verb.lower()}", None)
        if method is None:
            self._say(tag + b" BAD unknown")
            return True
        is_refused = self.liar.refuses(command) or self.liar.refuses_in(self.name, command)
        for line in [] if is_refused else self.liar.lie(command, method(command)):
            self._say(line)
        self._say(tag + b" " + (self.liar.refusal if is_refused else b"OK done"))
        return verb != "LOGOUT"

    def _do_capability(self, _: str) -> list[bytes]:
        return [b"* CAPABILITY " + self.liar.capability.encode()]

    def _do_login(self, _: str) -> list[bytes]:
        return []

    _do_noop = _do_subscribe = _do_login

    def _do_unselect(self, _: str) -> list[bytes]:
        self.box, self.name = Box(), b""
        return []

    _do_close = _do_unselect

    def _do_create(self, command: str) -> list[bytes]:
        self.liar.boxes[_name(command)] = Box()
        return []

    def _do_logout(self, _: str) -> list[bytes]:
        return [b"* BYE"]

    def _do_enable(self, command: str) -> list[bytes]:
        return [b"* ENABLED " + command.partition(" ")[2].encode()]

    def _do_list(self, command: str) -> list[bytes]:
        lines = []
        for name, box in self.liar.boxes.items():
            lines.append(b'* LIST () "/" ' + _quoted(name))
            if "STATUS" in command:
                lines.append(_status(name, box, command))
        return lines

    def _do_namespace(self, _: str) -> list[bytes]:
        return [b'* NAMESPACE (("" "/")) NIL NIL']

    def _do_status(self, command: str) -> list[bytes]:
        name = _name(command)
        box = self.box if self.liar.freezes and name == self.name else self.liar.boxes.get(name)
        return [_status(name, box, command)] if box is not None else []

    def _do_examine(self, command: str) -> list[bytes]:
        self.name = _name(command)
        self.box = box = self.liar.boxes.get(self.name, Box())
        if self.liar.freezes:
            self.box = box = replace(box, mails=list(box.mails))
        numbers = [b"* OK [UIDVALIDITY %d] ok" % box.validity, b"* OK [UIDNEXT %d] ok" % box.next_uid]
        return [
            b"* FLAGS (\\Seen \\Deleted)",
            b"* %d EXISTS" % len(box.mails),
            *(numbers if box.mails or not self.liar.freezes else []),
            b"* OK [HIGHESTMODSEQ %d] ok" % box.modseq,
            b"* OK [PERMANENTFLAGS (\\Seen \\Deleted \\*)] ok",
        ]

    _do_select = _do_examine

    def _do_search(self, command: str) -> list[bytes]:
        uids = [b"%d" % mail.uid for mail in self.box.mails]
        if "RETURN" in command:
            return [b'* ESEARCH (TAG "x") UID' + (b" ALL " + b",".join(uids) if uids else b"")]
        return [b"* SEARCH " + b" ".join(uids)]

    def _do_fetch(self, command: str) -> list[bytes]:
        since = re.search(r"CHANGEDSINCE (\d+)", command)
        return [
            self._fetched(place, mail, command)
            for place, mail in enumerate(self.box.mails, 1)
            if _is_in(mail.uid, command.split()[2]) and (since is None or mail.modseq > int(since[1]))
        ]

    def _fetched(self, place: int, mail: Held, command: str) -> bytes:
        items = [b"UID %d" % mail.uid]
        if "FLAGS" in command:
            items.append(b"FLAGS (%s)" % mail.flags.encode())
        if "RFC822.SIZE" in command:
            items.append(b"RFC822.SIZE %d" % len(mail.raw))
        if "INTERNALDATE" in command:
            items.append(b'INTERNALDATE "%s"' % mail.arrived.encode())
        if "BODYSTRUCTURE" in command:
            items.append(b'BODYSTRUCTURE ("TEXT" "PLAIN" NIL NIL NIL "7BIT" 1 1)')
        if "HEADER" in command:
            name = b"BODY[HEADER.FIELDS (DATE)]" if "FIELDS" in command else b"BODY[HEADER]"
            head = mail.raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            items.append(name + b" {%d}\r\n" % len(head) + head)
        if "BODY.PEEK[]" in command:
            items.append(b"BODY[]<0> {%d}\r\n" % len(mail.raw) + mail.raw)
        return b"* %d FETCH (" % place + b" ".join(items) + b")"


def _status(name: bytes, box: Box, command: str) -> bytes:
    counts = b"MESSAGES %d UNSEEN %d" % (len(box.mails), len(box.mails))
    counts += b" UIDNEXT %d UIDVALIDITY %d" % (box.next_uid, box.validity)
    counts += b" HIGHESTMODSEQ %d" % box.modseq if "HIGHESTMODSEQ" in command else b""
    return b"* STATUS " + _quoted(name) + b" (" + counts + b")"


def _quoted(name: bytes) -> bytes:
    return b'"' + name.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _name(command: str) -> bytes:
    found = re.search(r'\w+ (?:"((?:[^"\\]|\\.)*)"|(\S+))', command)
    assert found is not None
    return re.sub(r"\\(.)", r"\1", found[1] if found[1] is not None else found[2]).encode()


def _is_in(uid: int, numbers: str) -> bool:
    for part in numbers.split(","):
        low, _, high = part.partition(":")
        if int(low) <= uid and (high == "*" or uid <= int(high or low)):
            return True
    return False


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def lying_imap(**given: object) -> Iterator[LyingImap]:
    liar = LyingImap(**given)  # type: ignore[arg-type]
    with _Server((LOOPBACK, 0), _Conversation) as server:
        server.liar = liar  # type: ignore[attr-defined]
        liar.imap = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield liar
        finally:
            server.shutdown()
            thread.join(5)
