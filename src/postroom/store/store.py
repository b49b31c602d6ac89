"""The store: the state file opened once, with one object for each kind of data in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from postroom.model.errors import InternalError, PostroomError
from postroom.store.audit.log import Audit
from postroom.store.clock import Clock, system_clock
from postroom.store.database import Database
from postroom.store.handles import Handles
from postroom.store.journal import Journal
from postroom.store.mailboxes import Mailboxes
from postroom.store.numbers import Numbers
from postroom.store.plans import Plans
from postroom.store.rules import Rules
from postroom.store.sends.approvals import Approvals
from postroom.store.sends.drafts import DraftHolds
from postroom.store.sends.history import Duplicates, Previews, Recipients
from postroom.store.sends.idempotency import DEFAULT_SECONDS, Keys
from postroom.store.sends.outbox import Outbox
from postroom.store.sends.owner import Owner
from postroom.store.sends.pauses import Pauses
from postroom.store.sends.rate import Rate, RateLimit
from postroom.store.sends.submissions import Submissions
from postroom.store.sends.transitions import Transitions
from postroom.store.sends.worklist import WorkList
from postroom.store.settled_time import SettledTime


class Store:
    """Safe for any number of threads, and for any number of processes that each open their own."""

    def __init__(
        self, database: Database, clock: Clock, limit: RateLimit, key_seconds: float, mirror: Path | None
    ) -> None:
        self._database = database
        self._owner = Owner(database.path.with_name(database.path.name + ".owners"))
        self.clock = clock
        self._settled = SettledTime(clock)
        self.mailboxes = Mailboxes(database)
        self.handles = Handles(database, self.mailboxes)
        self.numbers = Numbers(database, self.mailboxes)
        self.journal = Journal(database, clock, self._settled, self._owner, self.mailboxes)
        self.rules = Rules(database, clock)
        self.plans = Plans(database, clock, self._settled, self._owner, self.mailboxes)
        self.keys = Keys(database, clock, self._settled, key_seconds)
        self.rate = Rate(database, clock, limit)
        with suppress(PostroomError):  # on a full disk, say: what is not stamped again only counts for longer
            self.rate.adopt()
        transitions = Transitions(clock, self._owner.name, self.keys, self.rate)
        self.previews = Previews(database, clock)
        self.draft_holds = DraftHolds(database, self._owner)
        submissions = Submissions(database.path.with_name(database.path.name + ".submissions"))
        self.outbox = Outbox(
            *(database, clock, self._settled, self._owner, self.keys, self.rate, self.previews, self.draft_holds),
            *(submissions, transitions),
        )
        self.worklist = WorkList(database, clock, self._owner, transitions)
        self.approvals = Approvals(database, clock, self.keys, self.draft_holds, transitions)
        self.pauses = Pauses(database, clock)
        self.duplicates = Duplicates(database, clock)
        self.recipients = Recipients(database)
        self.audit = Audit(database, clock, mirror)

    def prune(self) -> None:
        """Forget what is past its time; worth a call at the start and once an hour."""
        with self._database.transaction(durable=False) as connection:
            self._settled.look(connection)
            # A key goes before the send it stands for.
            for room in (
                *(self.keys, self.outbox, self.rate, self.journal, self.plans, self.previews, self.duplicates),
                self.draft_holds,
            ):
                room.prune(connection)

    def follow_renamed(
        self, account: str, folders: Mapping[str, str], ref_after: Callable[[str], str] | None = None
    ) -> None:
        """After folders got new refs, all at once: the handles of messages whose refs change with that, and what the
        journal notes of these folders."""
        with self._database.transaction() as connection:
            self.journal.follow(connection, account, folders)
            if ref_after is not None:
                self.handles.follow(connection, account, ref_after)

    def close(self) -> None:
        """Anything this store still worked on is then free for others to recover."""
        self._database.close()
        self._owner.close()


def open_store(
    path: Path,
    *,
    clock: Clock | None = None,
    limit: RateLimit | None = None,
    key_seconds: float = DEFAULT_SECONDS,
    audit_mirror: Path | None = None,
) -> Store:
    """Open the state file at `path`, making or upgrading it as needed."""
    try:
        return Store(Database(path), clock or system_clock(), limit or RateLimit(), key_seconds, audit_mirror)
    except OSError as error:
        raise InternalError(
            f"The state file {path.name} cannot be opened ({error.strerror}). "
            "Check that POSTROOM_HOME is a folder this user may write to."
        ) from error
