"""The provider interface: what a mailbox must have, and what it may have.

Contracts that hold for every method
- Refs in, refs out: a ref is the provider's own opaque string and is never reused for another message.
- Failures are raised as `model.errors`; a missing method raises `Unsupported`. Nothing is silently dropped.
- Batch methods return one `ItemResult` per ref, in order; they raise only when nothing could be tried at all.
- Reading never changes a message (no ``\\Seen``).
- Any method may be called by several tasks at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from postroom.model.address import Address
from postroom.model.capabilities import Capabilities
from postroom.model.changes import (
    Announced,
    BulkMail,
    ChangePage,
    Evidence,
    FolderChanges,
    FolderState,
    Hits,
    Identified,
    Rest,
)
from postroom.model.draft import Identity, SavedDraft
from postroom.model.folder import Folder, RenamedFolder
from postroom.model.message import Envelope, Message, Page
from postroom.model.native import NativeAction, NativeKind, Recipients
from postroom.model.outcome import ItemResult, Staged, SubmitOutcome, SubmitRequest
from postroom.model.query.tree import Flag, Query
from postroom.model.rule import Rule, RuleSet
from postroom.model.vacation import Vacation


@runtime_checkable
class Mailbox(Protocol):
    """Reads and organises. Every provider has all of these."""

    async def connect(self) -> Capabilities:
        """Log in and detect. Called once before anything else; calling again returns the same value."""

    async def close(self) -> None: ...

    async def folders(self) -> list[Folder]: ...

    async def search(self, query: Query, *, limit: int, offset: int) -> Page[Envelope]:
        """Newest first. Listing a folder is a search for `In(folder)`."""

    async def envelopes(self, refs: Sequence[str]) -> list[Envelope | None]:
        """The current envelope of each ref, in order; None where the message is gone."""

    async def fetch(self, ref: str) -> Message: ...

    async def fetch_part(self, ref: str, part: str) -> bytes:
        """One attachment's decoded bytes, without downloading the rest where the provider can."""

    async def set_flags(self, refs: Sequence[str], *, add: Sequence[Flag]) -> list[ItemResult]:
        """Flags come as claims: unread/read, starred/unstarred, answered, forwarded. Setting what is set is ok."""

    async def move(self, refs: Sequence[str], folder_ref: str) -> list[ItemResult]:
        """Out of the folder a message is shown in (`Envelope.folder`) and into the one of that ref, where it is then
        shown. Other folders it is in keep it, as labels would be kept; Trash and Junk remove it from all. Moving it
        to where it already is is ok."""

    async def identities(self) -> list[Identity]:
        """At least the account's own address; the default comes first."""


@runtime_checkable
class RawAccess(Protocol):
    """capabilities.has_raw. Without it a message is forwarded as a quote with attachments, and cannot be shown raw."""

    async def fetch_raw(self, ref: str) -> bytes:
        """The message's RFC 5322 bytes as the provider stores them."""


@runtime_checkable
class Threads(Protocol):
    """capabilities.has_threading. A provider without it gives each message its own ref as `thread_ref`; the service
    then groups messages by subject, Message-ID and References."""

    async def thread(self, thread_ref: str) -> list[Envelope]:
        """Oldest first, every folder, drafts included. NotFound when no message is left."""


@runtime_checkable
class ContentFetch(Protocol):
    """As `fetch`, without the folder, the flags and the size, where those take further requests."""

    async def fetch_content(self, ref: str) -> Message: ...


@runtime_checkable
class BatchFetch(Protocol):
    """Opens several messages in fewer round trips than one each. Without it they are fetched one by one."""

    async def fetch_many(self, refs: Sequence[str]) -> list[Message | None]:
        """In order; None where the message is gone."""


@runtime_checkable
class Drafts(Protocol):
    """capabilities.can_draft"""

    async def list_drafts(self, *, limit: int, offset: int) -> Page[tuple[SavedDraft, Envelope]]: ...

    async def create_draft(self, raw: bytes, *, thread_ref: str = "") -> SavedDraft: ...

    async def update_draft(self, draft_ref: str, raw: bytes, *, thread_ref: str = "", version: str = "") -> SavedDraft:
        """Replace it. NotFound when it is gone; PermissionDenied when the ref is not a draft. The old version is
        removed only after the new one is safe. Where the mailbox can compare while it replaces, Conflict and no change
        if that is not the `version` any more."""

    async def find_draft(self, draft_ref: str) -> SavedDraft: ...

    async def delete_draft(self, draft_ref: str) -> None: ...


@runtime_checkable
class DraftLookup(Protocol):
    """A mailbox where drafts have other refs than the messages inside: finds the ones by the others."""

    async def draft_refs(self, message_refs: Sequence[str]) -> dict[str, str]: ...


@runtime_checkable
class Labels(Protocol):
    """capabilities.can_label"""

    async def labels(self) -> list[str]: ...

    async def apply_label(self, refs: Sequence[str], label: str) -> list[ItemResult]:
        """Creates the label where it does not exist yet. Where labels are folders, a name that means a role is an
        InvalidRequest (`model.role_names.read_as`): nothing gets into Sent or Drafts through a label."""

    async def remove_label(self, refs: Sequence[str], label: str) -> list[ItemResult]: ...


@runtime_checkable
class LabelNames(Protocol):
    """A mailbox that keeps a list of labels apart from the messages that have them."""

    async def forget_label(self, label: str) -> None:
        """Take its name off the list, if no message has it. Ok when it is not there."""


@runtime_checkable
class ManyFolders(Protocol):
    """capabilities.has_many_folders: a message may be in several folders at once."""

    async def put_into(self, refs: Sequence[str], folder_refs: Sequence[str]) -> list[ItemResult]:
        """The messages are in exactly these folders afterwards (at least one); `undo` reverses a move with it."""


@runtime_checkable
class FolderNames(Protocol):
    """Keeps the names of folders for a while, and writes them into the messages that it reads."""

    def naming(self) -> int:
        """Another number as soon as it knows of other names, or of others' names, than before."""


@runtime_checkable
class FolderMaker(Protocol):
    """capabilities.can_create_folder"""

    async def create_folder(self, name: str) -> Folder:
        """``/`` separates levels; missing parents are created. Conflict when it exists."""

    async def delete_folder(self, folder_ref: str) -> None:
        """Only an empty one (`undo` reverses create_folder with it); Conflict otherwise."""


@runtime_checkable
class FolderRenamer(Protocol):
    """capabilities.can_rename_folder"""

    async def rename_folder(self, folder_ref: str, level: str) -> RenamedFolder:
        """`level` is the new last level of its name; folders below follow. Conflict when the name is taken, or when it
        or one below has a role."""


@runtime_checkable
class FolderInRefs(Protocol):
    """A mailbox whose message refs contain the folder's ref."""

    def ref_after_rename(self, ref: str, folders: Mapping[str, str]) -> str:
        """The ref of a message after these folders got new refs; the same one if it is in none of them."""


@runtime_checkable
class AliasMaker(Protocol):
    """capabilities.can_create_alias"""

    async def create_alias(self, address: Address, signature_html: str) -> Identity: ...


@runtime_checkable
class Rules(Protocol):
    """capabilities.has_server_side_rules: the server itself applies rules to incoming mail. Rules from other programs
    are neither shown nor changed."""

    async def list_rules(self) -> RuleSet: ...

    async def check_rules(self, rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
        """By name of each rule that the server cannot run: which parts cannot be expressed. Nothing is changed."""

    async def put_rules(self, rules: Sequence[Rule]) -> None:
        """Replaces all rules that Postroom put there before. InvalidRequest, and no change, where one cannot be
        expressed; a `forward` never can: everything that is sent passes the gate."""

    async def activate_rules(self, active: bool) -> None:
        """Run them, or stop. Conflict where that would stop the rules of another program."""


@runtime_checkable
class Vacations(Protocol):
    """capabilities.has_vacation: the provider answers mail by itself while its owner is away. Switching that on sends,
    so it is no method here but a native action, `vacation`, which the account's transport takes from the gate."""

    async def vacation(self) -> Vacation: ...

    async def check_vacation(self, wanted: Vacation) -> str:
        """What the person who decides should know besides, or nothing. Unsupported or InvalidRequest where the provider
        cannot reply in this way. Nothing is changed."""

    async def stop_vacation(self) -> None:
        """Its text is kept where the provider can. Ok when it is off."""


@runtime_checkable
class Numbered(Protocol):
    """capabilities.has_uids: messages have numbers within their folder, like IMAP's UIDs."""

    async def uid_of(self, ref: str) -> int: ...

    async def mail_with_uid(self, uid: int, folder_ref: str) -> Envelope | None:
        """The message with that number in that folder and in no other; None when there is none."""


@runtime_checkable
class IdLookup(Protocol):
    """Finds messages by Message-ID without opening a whole thread."""

    async def mails_with_ids(self, message_ids: Sequence[str], *, near: str) -> list[Envelope]:
        """In any order. `near` is the ref of a message that names them: where searching everywhere is expensive, only
        its folder and the folders where answered messages usually are get searched."""


@runtime_checkable
class MovedLookup(Protocol):
    """A mailbox where a message gets another ref when it is moved."""

    async def folder_mark(self, folder_ref: str) -> str:
        """Tells what comes into that folder from now on from what is in it. Empty where the server cannot tell."""

    async def came_since(self, folder_ref: str, mark: str, message_ids: Sequence[str]) -> list[Envelope]:
        """What came into the folder after that mark, with one of these Message-IDs, in any order; nothing where the
        mark is no longer valid."""


@runtime_checkable
class Changes(Protocol):
    """capabilities.has_delta: what changed since a cursor, for any caller at any time. `Watcher`: as it happens."""

    async def changed_since(self, cursor: str, *, limit: int) -> ChangePage:
        """At most `limit` refs, or all of them. An empty cursor returns the current one and no changes: what is read
        after that is current or named by the next call. CursorExpired where it was never issued, or is too old."""


@runtime_checkable
class FolderSync(Protocol):
    """Changes folder by folder and messages in bulk, where numbers within a folder grow with every new message."""

    async def folder_states(self) -> list[FolderState]:
        """Every folder with messages that are in no other, in one round trip where the server can."""

    async def newest(self, folder_ref: str, count: int) -> FolderChanges:
        """Only its newest messages as `present`, about so many: as soon in a large folder as in a small one."""

    async def folder_changes(
        self, folder_ref: str, epoch: str, since: FolderState | None, oldest: datetime | None = None
    ) -> FolderChanges:
        """What changed since that state, or more. Without one, or in another epoch than the last reported, only which
        are `present` of those that arrived since `oldest`, or some more. NotFound when it is gone."""

    def explains(self, changes: FolderChanges, before: str, now: str, *, kept: int, new: Collection[int]) -> bool:
        """Whether these may be all that happened between two cursors of a folder. Otherwise the server has lost its
        memory, or was set back: what it reports is not to be relied on, and a number may mean another message. `kept`:
        how many are known and not reported as gone; `new`: which ones were not known."""

    async def evidence(self, folder_ref: str, epoch: str) -> Mapping[int, Evidence]:
        """Of every message there, by number. NotFound as by `identify`."""

    def ref_of(self, folder_ref: str, epoch: str, number: int) -> str: ...

    async def identify(self, folder_ref: str, epoch: str, numbers: Sequence[int]) -> list[Identified]:
        """Those that are still there, in any order. NotFound where the folder is gone, or `epoch` is over."""

    async def search_rest(self, query: Query, rest: Sequence[Rest], *, wanted: int) -> Hits:
        """As `search`, in these parts of folders alone. CursorExpired where an epoch is over."""

    def bulk(
        self, folder_ref: str, epoch: str, numbers: Sequence[int], *, max_bytes: int
    ) -> AsyncGenerator[list[BulkMail], None]:
        """The first `max_bytes` of each that is there, in order, in bounded batches. NotFound as by `identify`."""

    def announced(self, *, max_bytes: int) -> AsyncGenerator[Announced, None]:
        """As `Watcher.changes`, with the new messages themselves where these are few. 0 bytes: never with them."""


@runtime_checkable
class Watcher(Protocol):
    """capabilities.has_push"""

    def changes(self) -> AsyncGenerator[str, None]:
        """Yields a folder's name as soon as that folder is watched, and then whenever something in it changed or may
        have changed unseen: a caller that checks the folder after each of these misses nothing. Runs until closed."""


@runtime_checkable
class SharedMailboxes(Protocol):
    """capabilities.has_shared_mailboxes: one login opens others' mailboxes too (delegated, shared, of a group)."""

    def shared_mailbox(self, address: str) -> Mailbox:
        """The mailbox of that address over this one's login. No request is made before its `connect`."""


@runtime_checkable
class RecipientCheck(Protocol):
    """A mailbox that knows in advance to whom its account can deliver."""

    async def unreachable(self, recipients: Sequence[str]) -> list[str]:
        """The addresses for which a submission would be refused; nothing is sent to find out."""


@runtime_checkable
class Transport(Protocol):
    """Submits what was frozen. Only the gate calls it."""

    async def submit(self, request: SubmitRequest) -> SubmitOutcome:
        """Hand over exactly these bytes to exactly these recipients. Never retried blindly: a lost
        response is `unknown`, not an error. Files a copy in Sent when asked to and where the server does not.

        A request with `native` or `staged_ref` goes only to a transport that offers `NativeActions` or `Staging`."""

    async def reconcile(self, request: SubmitRequest) -> SubmitOutcome:
        """After `unknown`: look for evidence. accepted or retryable only when sure, else unknown. Also asked where
        something may have been staged that can no longer be found: somebody may have sent it."""

    async def close(self) -> None: ...


@runtime_checkable
class Staging(Protocol):
    """A transport whose provider submits what it already stores: a draft, an object created for it.

    `submit` and `reconcile` then get the request with its `staged_ref`, and what is stored there is sent. Only bytes
    are staged, never a native action. Nothing here sends."""

    async def stage(self, request: SubmitRequest) -> str:
        """Put exactly these bytes, blind copies included where recipients are read from them, where `submit` takes them
        from; the ref of that. It may be the saved draft of `request.draft_ref` with these bytes in it."""

    async def find_staged(self, request: SubmitRequest) -> str:
        """The ref that an earlier `stage` of the same `attempt_id` created and whose response was lost; empty when
        there is none. By its `message_id` or `attempt_id`: the bytes may be gone by now."""

    async def staged(self, request: SubmitRequest) -> Staged | None:
        """What is stored under `request.staged_ref` now, read again, and everyone whom `submit` would send it to;
        None when it is gone or can no longer be sent. Also read before anything is discarded."""

    async def discard_staged(self, staged_ref: str) -> None:
        """Remove it; ok when it is gone. Only what was not sent: the draft and what was sent may have one ref."""


@runtime_checkable
class NativeActions(Protocol):
    """A provider's own methods to write messages, which also mark the original; `submit` takes them as `native`."""

    @property
    def native_kinds(self) -> frozenset[NativeKind]:
        """The methods it has; everything else is composed as bytes."""

    async def recipients_of(self, action: NativeAction) -> Recipients:
        """Everyone whom submitting the action would reach now: those it names and those the provider adds itself. Read
        from the original again each time, regardless of `action.everyone`. NotFound when the original is gone."""


@runtime_checkable
class LoginCheck(Protocol):
    """A transport that can be tried without sending anything."""

    async def check_login(self) -> bool:
        """Log in as for a submission, then disconnect; raises what failed. False where no login is required."""
