from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from postroom.model.errors import InvalidRequest, NotFound, ProviderUnavailable
from postroom.model.message import Envelope
from postroom.model.query.tree import In, Query
from postroom.providers.context import ProviderContext
from postroom.providers.import_report import ImportReport
from postroom.providers.local import archives
from postroom.providers.local.importing import import_path
from postroom.providers.local.provider import LocalMailbox
from postroom.providers.local.reading_ahead import BLOCK
from postroom.settings import LocalAccount


@pytest.fixture
async def mailbox(tmp_path: Path) -> AsyncIterator[LocalMailbox]:
    account = LocalAccount(name="me", address="me@demo.example", path=tmp_path / "me.db")
    opened = LocalMailbox(account, ProviderContext(tmp_path, (account,)))
    await opened.connect()
    yield opened
    await opened.close()


def mail(key: str, *headers: str, body: str = "Hello.\n") -> str:
    head = [f"From: Ada <ada@friends.example>\nMessage-ID: <{key}@x.example>\nSubject: {key}", *headers]
    return "\n".join([*head, "", body])


def mbox(*mails: str) -> bytes:
    return "".join(f"From ada@friends.example Mon Jun 15 12:00:00 2026\n{text}\n" for text in mails).encode()


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def rows(mailbox: LocalMailbox, folder: str) -> dict[str, Envelope]:
    page = await mailbox.search(Query(In(folder)), limit=100, offset=0)
    return {row.subject: row for row in page.items}


async def test_an_mbox_lands_in_the_folder_its_file_is_called(tmp_path: Path, mailbox: LocalMailbox) -> None:
    path = written(tmp_path / "Old letters.mbox", mbox(mail("one"), mail("two")))
    assert await import_path(path, mailbox) == ImportReport(2, 0, 0, ("Old letters",))
    assert set(await rows(mailbox, "Old letters")) == {"one", "two"}


async def test_a_named_folder_takes_what_names_none_itself(tmp_path: Path, mailbox: LocalMailbox) -> None:
    path = written(tmp_path / "x.mbox", mbox(mail("plain"), mail("gmail", "X-Gmail-Labels: Sent")))
    await import_path(path, mailbox, folder="Import/2026")
    assert set(await rows(mailbox, "Import/2026")) == {"plain"}
    assert set(await rows(mailbox, "sent")) == {"gmail"}


async def test_running_it_twice_adds_nothing_twice(tmp_path: Path, mailbox: LocalMailbox) -> None:
    path = written(tmp_path / "a.mbox", mbox(*(mail(f"m{n}") for n in range(700))))
    assert (await import_path(path, mailbox)).added == 700
    assert await import_path(path, mailbox) == ImportReport(0, 700, 0, ())


async def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, mailbox: LocalMailbox) -> None:
    path = written(tmp_path / "a.mbox", mbox(*(mail(f"m{n}") for n in range(600))))

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await import_path(path, mailbox, on_progress=stop)
    report = await import_path(path, mailbox)
    assert report.skipped_duplicates > 0
    assert report.added + report.skipped_duplicates == 600


_KILLED = """
import os, signal, sys
from pathlib import Path
import anyio
from postroom.mime.processes import in_bulk
from postroom.providers.context import ProviderContext
from postroom.providers.local.importing import import_path
from postroom.providers.local.provider import LocalMailbox
from postroom.settings import LocalAccount

async def main():
    folder = Path(sys.argv[1])
    account = LocalAccount(name="me", address="me@demo.example", path=folder / "me.db")
    mailbox = LocalMailbox(account, ProviderContext(folder, (account,)))
    await mailbox.connect()
    await import_path(folder / "a.mbox", mailbox, on_progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))

if __name__ == "__main__":
    in_bulk.cores = lambda: 2
    anyio.run(main)
"""


async def test_a_run_that_was_killed_is_completed_by_the_next_and_nothing_is_there_twice(
    tmp_path: Path, mailbox: LocalMailbox
) -> None:
    path = written(tmp_path / "a.mbox", mbox(*(mail(f"m{n}") for n in range(BLOCK + 700))))
    script = written(tmp_path / "killed.py", _KILLED.encode())
    killed = await anyio.to_thread.run_sync(
        lambda: subprocess.run([sys.executable, script, tmp_path], check=False, capture_output=True)
    )
    assert killed.returncode == -signal.SIGKILL
    report = await import_path(path, mailbox)
    assert (report.skipped_duplicates, report.added) == (BLOCK, 700)
    assert [folder.total for folder in await mailbox.folders() if folder.name == "a"] == [BLOCK + 700]


async def test_a_mail_moved_meanwhile_is_not_imported_again(tmp_path: Path, mailbox: LocalMailbox) -> None:
    path = written(tmp_path / "a.mbox", mbox(mail("one")))
    await import_path(path, mailbox)
    row = (await rows(mailbox, "a"))["one"]
    await mailbox.move([row.ref], "Trash")
    assert (await import_path(path, mailbox)).added == 0


async def test_the_same_message_id_with_other_content_is_another_mail(tmp_path: Path, mailbox: LocalMailbox) -> None:
    path = written(tmp_path / "a.mbox", mbox(mail("one"), mail("one", body="Changed.\n")))
    assert (await import_path(path, mailbox)).added == 2


async def test_escaped_and_bare_from_lines_stay_in_their_mail(tmp_path: Path, mailbox: LocalMailbox) -> None:
    body = "Dear all,\n\n>From now on it rains.\n>>From the depths.\n\nFrom here we walk.\n"
    path = written(tmp_path / "a.mbox", mbox(mail("one", body=body), mail("two")))
    assert (await import_path(path, mailbox)).added == 2
    raw = await mailbox.fetch_raw((await rows(mailbox, "a"))["one"].ref)
    assert raw.endswith(b"Dear all,\n\nFrom now on it rains.\n>From the depths.\n\nFrom here we walk.\n")


async def test_windows_line_ends_and_a_missing_last_newline_are_read(tmp_path: Path, mailbox: LocalMailbox) -> None:
    content = mbox(mail("one"), mail("two")).replace(b"\n", b"\r\n").rstrip()
    path = written(tmp_path / "a.mbox", content)
    assert (await import_path(path, mailbox)).added == 2
    assert (await mailbox.fetch((await rows(mailbox, "a"))["two"].ref)).body.text.strip() == "Hello."


@pytest.mark.parametrize(
    ("labels", "folder", "flags", "kept"),
    [
        ("Inbox,Unread,Category updates", "INBOX", "unread", ()),
        ("Inbox,Important,Opened,Starred", "INBOX", "starred", ()),
        ("Sent,Opened", "Sent", "", ()),
        ("Spam,Unread", "Junk", "unread", ()),
        ("Trash,Inbox", "Trash", "", ()),
        ('Archived,Travel,"Smith, Jones"', "Archive", "", ("Smith, Jones", "Travel")),
        (
            "=?UTF-8?Q?Posteingang,B=C3=BCro,=E8=AB=8B=E6=B1=82=E6=9B=B8?=",
            "Archive",
            "",
            ("Büro", "Posteingang", "請求書"),
        ),
    ],
)
async def test_a_takeouts_labels_become_folder_flags_and_labels(
    tmp_path: Path, mailbox: LocalMailbox, labels: str, folder: str, flags: str, kept: tuple[str, ...]
) -> None:
    path = written(tmp_path / "All mail.mbox", mbox(mail("one", f"X-Gmail-Labels: {labels}", "X-GM-THRID: 17")))
    await import_path(path, mailbox)
    row = (await rows(mailbox, folder))["one"]
    assert (row.unread, row.starred) == ("unread" in flags, "starred" in flags)
    assert tuple(sorted(row.labels)) == kept


@pytest.mark.parametrize(
    ("header", "unread", "starred", "answered"),
    [
        ("Subject: again", False, False, False),
        ("Status: RO", False, False, False),
        ("Status: O", True, False, False),
        ("Status: RO\nX-Status: AF", False, True, True),
        ("X-Mozilla-Status: 0000", True, False, False),
        ("X-Mozilla-Status: 0007", False, True, True),
        ("X-Mozilla-Status: zz", True, False, False),
    ],
)
async def test_status_headers_become_flags(
    tmp_path: Path, mailbox: LocalMailbox, header: str, unread: bool, starred: bool, answered: bool
) -> None:
    await import_path(written(tmp_path / "a.mbox", mbox(mail("one", header))), mailbox)
    row = (await rows(mailbox, "a"))["one"]
    assert (row.unread, row.starred, row.answered) == (unread, starred, answered)


async def test_a_maildir_brings_its_subfolders_and_flags(tmp_path: Path, mailbox: LocalMailbox) -> None:
    root = tmp_path / "Maildir"
    for place, key in [
        ("cur/1.a:2,S", "seen"),
        ("cur/2.b:2,FRS", "loved"),
        ("cur/3.c:2,ST", "thrown"),
        ("new/4.d", "fresh"),
        (".Lists.B&APw-ro/cur/5.e:2,", "nested"),
        (".&istsQmb4-/cur/6.f:2,S", "japanese"),
        ("tmp/7.g", "unfinished"),
        ("cur/.hidden", "hidden"),
    ]:
        written(root / place, mail(key).encode())
    report = await import_path(root, mailbox)
    assert (report.added, report.failed) == (6, 0)
    inbox = await rows(mailbox, "inbox")
    assert {key: (row.unread, row.starred, row.answered) for key, row in inbox.items()} == {
        "seen": (False, False, False),
        "loved": (False, True, True),
        "fresh": (True, False, False),
    }
    assert set(await rows(mailbox, "trash")) == {"thrown"}
    assert set(await rows(mailbox, "Lists/Büro")) == {"nested"}
    assert set(await rows(mailbox, "請求書")) == {"japanese"}


async def test_a_folder_of_maildirs_and_mboxes_keeps_their_names(tmp_path: Path, mailbox: LocalMailbox) -> None:
    written(tmp_path / "all/Work/Old/cur/1:2,S", mail("deep").encode())
    written(tmp_path / "all/inbox", mbox(mail("first")))
    written(tmp_path / "all/notes.txt", b"no mail at all")
    assert (await import_path(tmp_path / "all", mailbox)).added == 2
    assert set(await rows(mailbox, "Work/Old")) == {"deep"}
    assert set(await rows(mailbox, "inbox")) == {"first"}


async def test_a_mail_without_a_date_keeps_the_day_it_came(tmp_path: Path, mailbox: LocalMailbox) -> None:
    file = written(tmp_path / "Maildir/cur/1:2,S", mail("one").encode())
    os.utime(file, (1_600_000_000, 1_600_000_000))
    await import_path(tmp_path / "Maildir", mailbox)
    assert (await rows(mailbox, "inbox"))["one"].date == datetime.fromtimestamp(1_600_000_000, UTC)


async def test_broken_mails_are_named_with_the_reason_and_the_others_imported(
    tmp_path: Path, mailbox: LocalMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_MAIL", 1000)
    content = mbox(mail("one"), mail("huge", body="x" * 5000 + "\n"), "\n", mail("two"))
    problems = ("message 2 of a.mbox is larger than 0 MB", "message 3 of a.mbox is empty")
    assert await import_path(written(tmp_path / "a.mbox", content), mailbox) == ImportReport(2, 0, 2, ("a",), problems)


async def test_broken_files_of_a_maildir_are_named_by_their_place_in_it(tmp_path: Path, mailbox: LocalMailbox) -> None:
    written(tmp_path / "Maildir/cur/1:2,S", mail("one").encode())
    written(tmp_path / "Maildir/.Lists/new/2", b"")
    report = await import_path(tmp_path / "Maildir", mailbox)
    assert (report.added, report.failed, report.problems) == (1, 1, (".Lists/new/2 is empty",))


async def test_of_many_broken_mails_the_first_are_named_and_all_are_counted(
    tmp_path: Path, mailbox: LocalMailbox
) -> None:
    report = await import_path(written(tmp_path / "a.mbox", mbox(mail("one"), *["\n"] * 100)), mailbox)
    assert (report.added, report.failed, len(report.problems)) == (1, 100, 20)


async def test_one_poisonous_mail_of_a_block_is_filed_by_its_headers(
    tmp_path: Path, mailbox: LocalMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from postroom.mime.read import parse

    honest = parse.parse

    def poisoned(raw: bytes) -> object:
        if b"poison" in raw:
            raise RecursionError
        return honest(raw)

    monkeypatch.setattr(parse, "parse", poisoned)
    path = written(tmp_path / "a.mbox", mbox(mail("one"), mail("poison"), mail("two")))
    assert await import_path(path, mailbox) == ImportReport(3, 0, 0, ("a",))
    found = await rows(mailbox, "a")
    assert (found["poison"].snippet, found["two"].snippet) == ("", "Hello.")
    assert (await mailbox.fetch_raw(found["poison"].ref)).endswith(b"Hello.\n")


async def test_a_mailbox_in_trouble_stops_the_import(
    tmp_path: Path, mailbox: LocalMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*_args: object, **_kwargs: object) -> list[str]:
        raise ProviderUnavailable("locked")

    monkeypatch.setattr(mailbox, "add_prepared", locked)
    with pytest.raises(ProviderUnavailable):
        await import_path(written(tmp_path / "a.mbox", mbox(mail("one"))), mailbox)


async def test_odd_folder_and_label_names_are_made_usable(tmp_path: Path, mailbox: LocalMailbox) -> None:
    labels = "X-Gmail-Labels: Archived,a\u202eb," + "x" * 300
    await import_path(written(tmp_path / "..\x07 .mbox", mbox(mail("one", labels), mail("two"))), mailbox)
    assert (await rows(mailbox, "archive"))["one"].labels == ("ab",)
    assert set(await rows(mailbox, "Imported")) == {"two"}


async def test_progress_reaches_the_whole(tmp_path: Path, mailbox: LocalMailbox) -> None:
    seen: list[tuple[int, int]] = []
    content = mbox(*(mail(f"m{n}") for n in range(BLOCK + 100)))
    path = written(tmp_path / "a.mbox", content)
    await import_path(path, mailbox, on_progress=lambda done, total: seen.append((done, total)))
    assert len(seen) >= 2
    assert seen == sorted(seen)
    assert seen[-1] == (len(content), len(content))


async def test_what_is_no_archive_is_refused_with_advice(tmp_path: Path, mailbox: LocalMailbox) -> None:
    with pytest.raises(NotFound, match="mbox file or a Maildir"):
        await import_path(tmp_path / "nothing", mailbox)
    with pytest.raises(InvalidRequest, match="neither an mbox"):
        await import_path(written(tmp_path / "photo.png", b"\x89PNG"), mailbox)
    with pytest.raises(InvalidRequest, match="folder name"):
        await import_path(written(tmp_path / "a.mbox", mbox(mail("one"))), mailbox, folder="a//b")


async def test_a_link_out_of_the_archive_is_not_followed(tmp_path: Path, mailbox: LocalMailbox) -> None:
    secret = written(tmp_path / "secret", mail("secret").encode())
    written(tmp_path / "Maildir/cur/1:2,S", mail("one").encode())
    (tmp_path / "Maildir/cur/2:2,S").symlink_to(secret)
    assert (await import_path(tmp_path / "Maildir", mailbox)).added == 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("piece", [1, 7, 64, 1000])
def test_an_mbox_reads_the_same_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, line_end: str
) -> None:
    odd, large = mail("odd", body="Hi\n\nFrom here on\n\n>From afar\n"), mail("large", body="x" * 3000 + "\n")
    path = written(tmp_path / "a.mbox", mbox(odd, large, "\n", mail("two")).replace(b"\n", line_end.encode()))
    monkeypatch.setattr(archives, "MAX_MAIL", 2000)
    monkeypatch.setattr(archives, "_MAX_LINE", 200)

    def pieces() -> list[tuple[bytes | None, int]]:
        with path.open("rb") as opened:
            return list(archives._pieces(opened))

    whole = pieces()
    assert [raw and raw.count(b"Subject") for raw, _ in whole] == [1, None, None, 1]
    assert sum(taken for _, taken in whole) == path.stat().st_size
    monkeypatch.setattr(archives, "_PIECE", piece)
    assert pieces() == whole


def test_a_long_mbox_is_read_one_mail_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mbox", mbox(*(mail(f"m{n}", body="x" * 100_000 + "\n") for n in range(20))))
    with path.open("rb") as opened:
        pieces = archives._pieces(opened)
        next(pieces)
        assert opened.tell() < 400_000
