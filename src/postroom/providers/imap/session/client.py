"""One connection: logged in, with at most one folder open. Used by one thread at a time.

IMAPClient sends the commands; raw responses are parsed by `wire`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from postroom.model.errors import NotFound, PermissionDenied, PostroomError, ProviderError, RateLimited
from postroom.providers.imap.session import imapclient_internals as internals
from postroom.providers.imap.session import wire
from postroom.providers.imap.session.auth import Credentials
from postroom.providers.imap.session.connecting import connect_and_log_in
from postroom.providers.imap.session.connection import CHANGED, Connection, readable
from postroom.providers.imap.session.dialling import Dialled
from postroom.providers.imap.session.encoding import agree
from postroom.providers.imap.session.failures import about, refused_to_open, unknown_folder, unless_refused
from postroom.providers.imap.session.listed import can_be_opened, read_row
from postroom.providers.imap.session.opened import Opened, read_opened
from postroom.providers.imap.session.sending_folder import require_no_sending
from postroom.providers.imap.session.uid_sets import chunks

if TYPE_CHECKING:
    from postroom.settings.accounts import ImapAccount

_NOWHERE = "postroom-no-such-folder"

Keys = Sequence[bytes]  # search keys, word by word; non-ASCII text without quotes


class Session(Connection):
    """A connection that is logged in."""

    def __init__(
        self, account: ImapAccount, credentials: Credentials | None = None, dialled: Dialled | None = None
    ) -> None:
        super().__init__(connect_and_log_in(account, credentials or Credentials(account), dialled))
        self.opened: Opened | None = None
        self._prefix: str | None = None
        self._enabled: set[str] = set()
        try:
            names = self._ask(self._client.capabilities)
            self.capabilities = frozenset(name.decode("ascii", "replace") for name in names)
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
        """Open it and get its current state; an open folder is only refreshed, where that is certain to show it."""
        opened = self.opened
        if opened is not None and opened.folder == folder and opened.writable >= write:
            with contextlib.suppress(ProviderError, RateLimited):  # refused: it may help to open it again
                self._ask(self._client.noop)
                return opened if self.has("CONDSTORE") else self._opened_again(opened, write=write)
        self.opened = None
        self._forget()
        self.opened = read_opened(folder, write, self._select(folder, write=write))
        return self.opened

    def _opened_again(self, before: Opened, *, write: bool) -> Opened:
        """Some servers never report what came into, or left, a folder that is open for reading (UW imapd, Mailutils).
        What is known of the folder still holds if it has the same messages."""
        known = dict(self._memory)
        self.opened = None
        self._forget()
        self.opened = read_opened(before.folder, write, self._select(before.folder, write=write))
        if self.opened.has_same_messages(before):
            self._memory = known
        return self.opened

    def _select(self, folder: str, *, write: bool) -> Any:
        """Most servers give no reason by code when they refuse. What they still list is there."""
        try:
            with about(folder):
                return self._ask(self._client.select_folder, folder, readonly=not write)
        except ProviderError as refusal:
            if refusal.details:
                raise
        raise refused_to_open(folder) if folder in self.names() else unknown_folder()

    def names(self) -> list[str]:
        """Of the folders that can be opened."""
        lines, _ = self.list_folders(is_current=True)
        rows = [row for line in lines if (row := read_row(self, line))]
        return [name for flags, _, name in rows if can_be_opened(flags)]

    def reopen(self, folder: str) -> Opened:
        """Open it again: some facts, such as its keywords, are reported only then."""
        self.opened = None
        return self.open(folder)

    def at(self, folder: str) -> Opened:
        """The folder open, without asking for its current state where it is open already."""
        return self.opened if self.opened is not None and self.opened.folder == folder else self.open(folder)

    def deselect(self) -> None:
        """No folder open, so that counts are current without asking."""
        if self.opened is None:
            return
        if self.has("UNSELECT"):
            self._ask(self._client.unselect_folder)
        else:
            # CLOSE may expunge, and of a folder that is open for reading it is refused by some (pymap). After an
            # attempt to open what is not there no folder is open (RFC 9051, 6.3.2).
            with contextlib.suppress(PostroomError):
                self._ask(self._client.select_folder, _NOWHERE, readonly=True)
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
            with unless_refused():  # where it is, no folder is open (RFC 9051, 6.3.2)
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
            try:
                self._ask(internals.command_and_noop, self._client, *words)
            except (
                ProviderError,
                RateLimited,
            ):  # of an open folder that cannot be refreshed, or told below
                self.deselect()
                is_current = True
        if is_current or not CHANGED.isdisjoint(internals.announcements(self._client)):
            self._clear()
            self._ask(internals.simple_command, self._client, *words)
        taken = internals.announcements(self._client)
        return taken.pop("LIST", []), taken.pop("STATUS", [])

    def status(self, folder: str, *what: str) -> dict[str, int]:
        if self._here == folder and not self.has("CONDSTORE"):
            self.deselect()  # UW imapd counts what it had when the folder was opened
        with about(folder):
            answer = self._ask(self._client.folder_status, folder, what)
        return {name.decode("ascii"): value for name, value in answer.items() if isinstance(value, int)}

    def raw_status(self, folder: str, what: Sequence[str]) -> dict[str, str] | None:
        """As the server wrote it. None where there is no such folder, or it may not be read; empty where the server
        does not tell, which says nothing about the folder: most refusals give no reason by code. Raised where one
        does."""
        self._clear()
        try:
            words = (self._speech.write_name(folder), f"({' '.join(what)})")
            with about(folder):
                self._ask(internals.simple_command, self._client, "STATUS", *words)
        except (NotFound, PermissionDenied):
            return None
        except ProviderError as refusal:
            if "response_code" in refusal.details:
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
        with about(self._here, only_for_now=True):
            if self.has("ESEARCH"):  # ranges instead of 50,000 numbers
                for line in self._uid_command(b"SEARCH", [b"RETURN", b"(ALL)", *words], "ESEARCH"):
                    return sorted(wire.read_found(line))
                return []
            lines = self._uid_command(b"SEARCH", words, "SEARCH")
        return sorted(set(wire.read_numbers(lines)))

    def sort(self, keys: Keys) -> list[int]:
        """UIDs, latest date first; within one second, the latest arrival first. Only where the server has SORT."""
        with about(self._here, only_for_now=True):
            lines = self._uid_command(b"SORT", [b"(DATE)", *self._speech.sort_words(keys)], "SORT")
        return wire.read_numbers(lines)[::-1]

    def fetch(self, uids: Iterable[int], items: str) -> dict[int, wire.Item]:
        """Only the UIDs that still exist. What came or went after the folder was opened may not be in this connection's
        view of it yet (in Dovecot and Cyrus it is not before some command has reported it): where a message is missing
        or empty, the view is refreshed and it is asked for again."""
        newest = self.opened.next_uid if self.opened is not None else 0
        found: dict[int, wire.Item] = {}
        for chunk in chunks(list(uids)):
            there = self._fetched(chunk, items)
            unsure = [uid for uid in chunk if (wire.is_hollow(there[uid]) if uid in there else uid >= newest)]
            if unsure:
                self._ask(self._client.noop)
                there = {uid: item for uid, item in there.items() if uid not in unsure} | self._fetched(unsure, items)
            found.update(there)
        return found

    def _fetched(self, uids: Sequence[int], items: str) -> dict[int, wire.Item]:
        lines = self._fetch_command(wire.as_set(uids), f"({items})".encode())
        wanted = set(uids)
        answers = {uid: item for uid, item in wire.read_fetches(lines).items() if uid in wanted}
        if len(answers) != wire.count(lines) or any(map(wire.is_deleted, answers.values())):
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
        require_no_sending(self.capabilities, folder)
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
        require_no_sending(self.capabilities, folder)
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
            readable(self._client.socket(), seconds)
        news += self._ask(self._client.idle_done)[1]
        return {self.read_name(name) if name else self._here for name in wire.changed_folders(news)}

    def _begin_idling(self) -> list[Sequence[Any]]:
        """What changed already: a server may report that before it accepts IDLE."""
        self._clear()
        internals.begin_idling(self._client)
        told = internals.announcements(self._client)
        there = [(b"STATUS", *wire.read_tokens([line])) for line in told.get("STATUS", ())]
        return [*there, *((name.encode(),) for name in CHANGED.intersection(told))]

    def _uid_command(self, command: bytes, words: Sequence[bytes], answer: str) -> list[wire.Raw]:
        self._clear()
        return [line for line in self._ask(self._speech.command, command, list(words), answer) if line]

    def _fetch_command(self, *words: bytes) -> list[wire.Raw]:
        self._clear()
        with about(self._here):
            return [line for line in self._ask(internals.uid_fetch, self._client, words) if line]

    @property
    def _here(self) -> str:
        return self.opened.folder if self.opened is not None else ""
