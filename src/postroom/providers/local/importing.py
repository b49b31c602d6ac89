"""Imports an archive (mbox, Gmail Takeout, Maildir) into the embedded mailbox.

Messages are added block by block, each on disk before the next is read. One whose exact bytes are already stored is
skipped: an interrupted run is simply started again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import aclosing, closing
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from postroom.index.labels import check_label_name
from postroom.mime.clean import clean_line
from postroom.model.errors import InvalidRequest, PostroomError
from postroom.model.folder import check_folder_name
from postroom.providers.import_report import MOST_PROBLEMS, ImportReport, Progress
from postroom.providers.local.archives import ArchivedMail, read_archive, size_of
from postroom.providers.local.convert import NewMail, Prepared
from postroom.providers.local.reading_ahead import BLOCK, BLOCK_BYTES, ahead, prepared

if TYPE_CHECKING:
    from postroom.providers.local.provider import LocalMailbox

_Read = tuple[ArchivedMail, Prepared]
_UNNAMED = "Imported"


async def import_path(
    path: Path, mailbox: LocalMailbox, *, folder: str | None = None, on_progress: Progress | None = None
) -> ImportReport:
    """`folder` is for messages that name none themselves; without it the archive's name decides."""
    if folder is not None:
        check_folder_name(folder)
    total = await anyio.to_thread.run_sync(size_of, path)
    report, done = ImportReport(), 0
    async with aclosing(ahead(_blocks(path, folder))) as blocks:
        async for block in blocks:
            report = await _take(block, mailbox, report)
            done += sum(mail.taken for mail, _ in block)
            if on_progress:
                on_progress(done, total)
    return report


def _blocks(path: Path, folder: str | None) -> Generator[list[_Read], None, None]:
    from postroom.mime.processes.in_bulk import next_of

    mails, again = tee(read_archive(path))
    with closing(prepared(_new_mail(mail, folder) for mail in mails)) as ready:
        read = zip(again, ready, strict=True)
        while block := next_of(read, lambda pair: pair[0].taken, BLOCK, BLOCK_BYTES):
            yield block


async def _take(block: list[_Read], mailbox: LocalMailbox, report: ImportReport) -> ImportReport:
    legible = [(mail, ready) for mail, ready in block if mail.raw is not None]
    refs = await _added([ready for _, ready in legible], mailbox)
    places = [ready.mail.folder for (_, ready), ref in zip(legible, refs, strict=True) if ref]
    problems = [f"{mail.name} {mail.problem}" for mail, _ in block if mail.raw is None]
    problems += [f"{mail.name} cannot be added" for (mail, _), ref in zip(legible, refs, strict=True) if ref is None]
    return ImportReport(
        added=report.added + len(places),
        skipped_duplicates=report.skipped_duplicates + refs.count(""),
        failed=report.failed + len(problems),
        folders=tuple(dict.fromkeys((*report.folders, *places))),
        problems=(*report.problems, *problems)[:MOST_PROBLEMS],
    )


async def _added(mails: list[Prepared], mailbox: LocalMailbox) -> list[str | None]:
    """A ref each: empty for one that was already there, None for one that cannot be added at all."""
    try:
        return [*await mailbox.add_prepared(mails, skip_known=True)]
    except PostroomError:
        raise  # the mailbox itself fails: stop
    except Exception:  # noqa: BLE001 - one bad message must not stop the others of the block
        if len(mails) == 1:
            return [None]
        return [ref for mail in mails for ref in await _added([mail], mailbox)]


def _new_mail(mail: ArchivedMail, folder: str | None) -> NewMail:
    return NewMail(
        raw=mail.raw or b"",
        folder=_usable_folder(mail.folder or folder or mail.archive),
        flags=mail.flags,
        labels=_usable_labels(mail.labels),
        date=mail.arrived,
    )


def _usable_folder(name: str) -> str:
    cleaned = "/".join(part for level in name.split("/") if (part := clean_line(level).strip(" .")))
    return cleaned if _passes(check_folder_name, cleaned) else _UNNAMED


def _usable_labels(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(label for name in names if _passes(check_label_name, label := clean_line(name).strip()))


def _passes(check: Callable[[str], None], name: str) -> bool:
    try:
        check(name)
    except InvalidRequest:
        return False
    return True
