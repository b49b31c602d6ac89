"""One connection: logged in, with at most one folder open. Used by one thread at a time.

IMAPClient sends the commands; raw responses are parsed by `wire`.
"""

from __future__ import annotations

import contextlib
import imaplib
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from postroom.model.errors import NotFound, PermissionDenied, ProviderError
from postroom.providers.imap.session import imapclient_internals as internals
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.auth import Credentials
from postroom.providers.imap.session.connecting import connect_and_log_in
from postroom.providers.imap.session.encoding import agree
from postroom.providers.imap.session.failures import CONNECTION_LOST, refused, unknown_folder
from postroom.providers.imap.session.opened import Opened, read_opened
from postroom.providers.imap.session.uid_sets import chunks

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

_QUIET = 30.0  # seconds after which a connection is asked whether it is still there
_PATIENCE = 5.0  # seconds for the response to that: a new connection is better than a long wait

_CHANGED = frozenset({"EXISTS", "EXPUNGE", "VANISHED", "FETCH"})  # announcements that the open folder has changed

T = TypeVar("T")
Keys = Sequence[bytes]  # search keys, word by word; non-ASCII text without quotes


class Session:
    """Raises model errors for refusals, and the members of CONNECTION_LOST when the connection breaks."""

    def __init__(self, account: ImapAccount, credentials: Credentials | None = None) -> None:
        self._client = connect_and_log_in(account, credentials or Credentials(account))
        self.opened: Opened | None = None
        self._last_used = time.monotonic()
        self._memory: dict[str, Any] = {}
        self._changes = 0
        self._prefix: str | None = None
        self._enabled: set[str] = set()
        try:
            self.capabilities = frozenset(name.decode("ascii", "replace") for name in self._client.capabilities())
            self._speech = agree(self._client)
            if account.mirror != "off":
                self._prepare_for_bulk()
        except BaseException:
            self.abort()
            raise

    def has(self, capability: str) -> bool:
        return capability in self.capabilities

    # Folders

    def open(self, folder: str, *, write: bool = False) -> Opened:
        """Open it and get its current state; an open folder is only refreshed."""
        opened = self.opened
        if opened is not None and opened.folder == folder and opened.writable >= write:
            self._ask(self._client.noop)
            return opened
        self.opened = None
        self._forget()
        try:
            answer = self._ask(self._client.select_folder, folder, readonly=not write)
        except ProviderError as refusal:
            raise refusal if refusal.details else unknown_folder() from None  # most servers give no reason by code
        self.opened = read_opened(folder, write, answer)
        return self.opened

    def reopen(self, folder: str) -> Opened:
        """Open it again: some facts, such as its keywords, are reported only then."""
        self.opened = None
        return self.open(folder)

    def at(self, folder: str) -> Opened:
        """The folder open, without asking for its current state where it is open already."""
        return self.opened if self.opened is not None and self.opened.folder == folder else self.open(folder)

    def deselect(self) -> None:
        """No folder open, so that counts are current without asking. Opened for reading, CLOSE expunges nothing."""
        if self.opened is None:
            return
        can = self.has("UNSELECT")
        if not can and self.opened.writable:
            self.open("INBOX")
            return
        self._ask(self._client.unselect_folder if can else self._client.close_folder)
        self.opened = None
        self._forget()

    def enable(self, extension: str) -> None:
        """Once; servers accept it only while no folder is open (RFC 5161)."""
        if extension not in self._enabled:
            self.deselect()
            self._ask(self._client.enable, extension)
            self._enabled.add(extension)

    def _prepare_for_bulk(self) -> None:
        """Later a folder would have to be closed to enable an extension, and opening a large one again takes long."""
        if self.has("QRESYNC"):
            with contextlib.suppress(ProviderError):
                self.enable("QRESYNC")
        if not self._has_unread_input():
            internals.read_in_large_pieces(self._client)

    def leave(self, folder: str) -> None:
        """Make sure that this folder is not open; some servers refuse to delete an open one."""
        if self.opened is not None and self.opened.folder == folder:
            self.open("INBOX")

    def list_folders(self, *returning: str, is_current: bool = False) -> tuple[list[wire.Raw], list[wire.Raw]]:
        """The LIST responses and, where requested and supported, the STATUS responses.

        Those of an open folder are as old as its last refreshment. Unless that `is_current`, a NOOP is sent along,
        before or after which the server may process LIST (Dovecot 2.3 puts it off to the end): when it reports a
        change, it is listed again.
        """
        words = ["LIST", '""', '"*"', *(["RETURN", f"({' '.join(returning)})"] if returning else [])]
        is_current = is_current or self.opened is None
        self._clear()
        if not is_current:
            self._ask(internals.command_and_noop, self._client, *words)
        if is_current or not _CHANGED.isdisjoint(internals.announcements(self._client)):
            self._clear()
            self._ask(internals.simple_command, self._client, *words)
        taken = internals.announcements(self._client)
        return taken.pop("LIST", []), taken.pop("STATUS", [])

    def status(self, folder: str, *what: str) -> dict[str, int]:
        answer = self._ask(self._client.folder_status, folder, what)
        return {name.decode("ascii"): value for name, value in answer.items() if isinstance(value, int)}

    def raw_status(self, folder: str, what: Sequence[str]) -> dict[str, str] | None:
        """As the server wrote it. None where there is no such folder, or it may not be read; empty where the server
        does not tell, which says nothing about the folder: most refusals give no reason by code."""
        self._clear()
        try:
            words = (self._speech.write_name(folder), f"({' '.join(what)})")
            self._ask(internals.simple_command, self._client, "STATUS", *words)
        except (NotFound, PermissionDenied):
            return None
        except ProviderError as refusal:
            if refusal.retryable:
                raise
            return {}
        lines = internals.announcements(self._client).pop("STATUS", [])
        tokens = wire.read_tokens(lines)
        return wire.read_status(tokens[1]) if len(tokens) > 1 and isinstance(tokens[1], list) else {}

    def namespace_prefix(self) -> str:
        """The prefix of this account's own folders (``INBOX.`` at some servers). Asked once per connection."""
        if self._prefix is None:
            self._prefix = self._ask_for_prefix() if self.has("NAMESPACE") else ""
        return self._prefix

    def _ask_for_prefix(self) -> str:
        answer = self._ask(internals.namespace, self._client)
        personal = wire.read_tokens(answer)[0]
        return self.read_name(personal[0][0]) if personal else ""

    def read_name(self, raw: Any) -> str:
        """A folder's name as this server wrote it."""
        return self._speech.read_name(raw)

    def can_name(self, folder: str) -> bool:
        """Whether this server can be told of it."""
        return self._speech.can_write_name(folder)

    def create_folder(self, folder: str) -> None:
        self._ask(self._client.create_folder, folder)

    def subscribe(self, folder: str) -> None:
        self._ask(self._client.subscribe_folder, folder)

    def unsubscribe(self, folder: str) -> None:
        self._ask(self._client.unsubscribe_folder, folder)

    def rename_folder(self, folder: str, new: str) -> None:
        self._ask(self._client.rename_folder, folder, new)

    def delete_folder(self, folder: str) -> None:
        self._ask(self._client.delete_folder, folder)

    # Messages of the open folder

    def search(self, keys: Keys) -> list[int]:
        """UIDs in ascending order."""
        words = self._speech.search_words(keys)
        if self.has("ESEARCH"):  # ranges instead of 50,000 numbers
            for line in self._uid_command(b"SEARCH", [b"RETURN", b"(ALL)", *words], "ESEARCH"):
                return sorted(wire.read_found(line))
            return []
        lines = self._uid_command(b"SEARCH", words, "SEARCH")
        return sorted(set(wire.read_numbers(lines)))

    def sort(self, keys: Keys) -> list[int]:
        """UIDs, latest date first; within one second, the latest arrival first. Only where the server has SORT."""
        lines = self._uid_command(b"SORT", [b"(DATE)", *self._speech.sort_words(keys)], "SORT")
        return wire.read_numbers(lines)[::-1]

    def remember(self, key: str, find_out: Callable[[], T]) -> T:
        """A fact about the open folder, computed again only after something in it changed."""
        if key in self._memory:
            known: T = self._memory[key]
            return known
        before = self._changes
        fact = find_out()
        if before == self._changes:
            self._memory[key] = fact
        return fact

    def _forget(self) -> None:
        self._changes += 1
        self._memory.clear()

    def fetch(self, uids: Iterable[int], items: str) -> dict[int, wire.Item]:
        """Only the UIDs that still exist. A message that came after the folder was opened may not be in this
        connection's view of it yet (in Dovecot and Cyrus it is not before some command has reported it): where one is
        missing, the view is refreshed and it is asked for again."""
        newest = self.opened.next_uid if self.opened is not None else 0
        found: dict[int, wire.Item] = {}
        for chunk in chunks(list(uids)):
            found.update(self._fetched(chunk, items))
            late = [uid for uid in chunk if uid >= newest and uid not in found]
            if late:
                self._ask(self._client.noop)
                found.update(self._fetched(late, items))
        return found

    def _fetched(self, uids: Sequence[int], items: str) -> dict[int, wire.Item]:
        lines = self._fetch_command(wire.as_set(uids), f"({items})".encode())
        wanted = set(uids)
        answers = {uid: item for uid, item in wire.read_fetches(lines).items() if uid in wanted}
        if len(answers) != wire.count(lines) or any(map(_is_deleted, answers.values())):
            self._forget()  # the responses contained changes
        return answers

    def fetch_range(self, numbers: str, items: str, *modifiers: str) -> tuple[dict[int, wire.Item], list[int]]:
        """By a range of UIDs; and those that the server reported as gone meanwhile (with QRESYNC)."""
        words = [numbers.encode(), f"({items})".encode(), *(f"({words})".encode() for words in modifiers)]
        found = wire.read_fetches(self._fetch_command(*words))
        reports = internals.announcements(self._client).pop("VANISHED", [])
        return found, [uid for report in reports if report for uid in wire.read_set(report.split()[-1])]

    def store(self, uids: Sequence[int], change: str, flags: Sequence[str]) -> None:
        """`change` is ``+FLAGS`` or ``-FLAGS``."""
        self._forget()
        for chunk in chunks(uids):
            words = [wire.as_set(chunk), f"{change}.SILENT".encode(), f"({' '.join(flags)})".encode()]
            self._uid_command(b"STORE", words, "FETCH")

    def move(self, uids: Sequence[int], folder: str) -> tuple[int, dict[int, int]]:
        """COPYUID: the target's UIDVALIDITY and old UID -> new UID (empty where the server does not report it)."""
        return self._transfer(b"MOVE", uids, folder)

    def copy(self, uids: Sequence[int], folder: str) -> tuple[int, dict[int, int]]:
        return self._transfer(b"COPY", uids, folder)

    def _transfer(self, command: bytes, uids: Sequence[int], folder: str) -> tuple[int, dict[int, int]]:
        self._forget()
        self._uid_command(command, [wire.as_set(uids), self._speech.write_name(folder)], "FETCH")
        return wire.read_copied(internals.announcements(self._client).pop("COPYUID", []))

    def expunge(self, uids: Sequence[int]) -> None:
        """Exactly these. Needs UIDPLUS: a plain EXPUNGE would also remove what other programs marked as deleted."""
        self._forget()
        for chunk in chunks(uids):
            self._uid_command(b"EXPUNGE", [wire.as_set(chunk)], "EXPUNGE")

    def append(self, folder: str, raw: bytes, flags: Sequence[str]) -> tuple[int, int] | None:
        """UIDVALIDITY and UID of the new message, where the server reports them."""
        self._forget()
        answer = self._ask(self._speech.append, folder, raw, flags)
        return wire.read_appended(answer if isinstance(answer, bytes) else b"")

    # The connection itself

    def notify(self) -> None:
        """From now on `idle` reports new messages in every folder (RFC 5465). Only where the server has NOTIFY."""
        self._ask(internals.notify, self._client)

    def idle(self, seconds: float) -> set[str]:
        """Wait until something changes, at most this long: the names of the folders, as far as it is told."""
        news = list(self._ask(self._begin_idling))
        if not news and not self._has_unread_input():
            _readable(self._client.socket(), seconds)
        news += self._ask(self._client.idle_done)[1]
        here = self.opened.folder if self.opened is not None else ""
        return {self.read_name(name) if name else here for name in wire.changed_folders(news)}

    def _begin_idling(self) -> list[Sequence[Any]]:
        """What changed already: a server may report that before it accepts IDLE."""
        self._clear()
        internals.begin_idling(self._client)
        told = internals.announcements(self._client)
        there = [(b"STATUS", *wire.read_tokens([line])) for line in told.get("STATUS", ())]
        return [*there, *((name.encode(),) for name in _CHANGED.intersection(told))]

    def is_alive(self) -> bool:
        """By a quick check of the socket after recent traffic, by a NOOP otherwise."""
        try:
            if time.monotonic() - self._last_used < _QUIET and not self._has_unread_input():
                return True
            with self._answered_within(_PATIENCE):
                self._ask(self._client.noop)
        except (*CONNECTION_LOST, imaplib.IMAP4.error):
            return False
        return True

    @contextlib.contextmanager
    def _answered_within(self, seconds: float) -> Iterator[None]:
        """A shorter timeout than the account's own; a connection that exceeds it is unusable."""
        sock = self._client.socket()
        usual = sock.gettimeout()
        sock.settimeout(min(seconds, usual or seconds))
        try:
            yield
        finally:
            sock.settimeout(usual)

    def interrupt(self) -> None:
        """End the connection from another thread: the thread that waits on it gets an error, and closes it."""
        with contextlib.suppress(OSError, ValueError):
            self._client.socket().shutdown(socket.SHUT_RDWR)

    def abort(self) -> None:
        """Close the connection without LOGOUT. Only for the thread that uses it: a closed socket wakes no other."""
        self.interrupt()
        with contextlib.suppress(OSError, ValueError):
            internals.shut_down(self._client)

    def close(self) -> None:
        with contextlib.suppress(*CONNECTION_LOST, imaplib.IMAP4.error):
            self._client.logout()
        self.abort()

    def _has_unread_input(self) -> bool:
        """Unsolicited bytes (changes, BYE, end of stream), in the kernel's, TLS's or imaplib's buffer."""
        sock = self._client.socket()
        if _readable(sock, 0) or getattr(sock, "pending", int)():
            return True
        before = sock.gettimeout()
        sock.settimeout(0)
        try:
            return internals.has_buffered_input(self._client)
        except OSError:  # nothing there
            return False
        finally:
            sock.settimeout(before)

    def _uid_command(self, command: bytes, words: Sequence[bytes], answer: str) -> list[wire.Raw]:
        self._clear()
        return [line for line in self._ask(self._speech.command, command, list(words), answer) if line]

    def _fetch_command(self, *words: bytes) -> list[wire.Raw]:
        self._clear()
        return [line for line in self._ask(internals.uid_fetch, self._client, words) if line]

    def _clear(self) -> None:
        """Discards what must not be read by a later command."""
        internals.announcements(self._client).clear()

    def _ask(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            answer = call(*arguments, **named)
        except imaplib.IMAP4.readonly:  # imaplib derives it from `abort`
            raise PermissionDenied("This account has read-only access to that folder.") from None
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            raise refused(error) from None
        except (ValueError, LookupError):  # a number that is none, an answer that lacks a part
            raise ProviderError("The mail server's answer cannot be understood.", details={"is_read": False}) from None
        except (OverflowError, MemoryError):  # a literal that is said to be larger than any memory: no way past it
            raise imaplib.IMAP4.abort("a literal of an impossible size") from None
        self._last_used = time.monotonic()
        if not _CHANGED.isdisjoint(internals.announcements(self._client)):
            self._forget()
        return answer


def _is_deleted(item: wire.Item) -> bool:
    return any(isinstance(flag, bytes) and flag.lower() == b"\\deleted" for flag in item.get("FLAGS") or ())


def _readable(sock: Any, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(seconds))
