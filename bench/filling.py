"""Filling a mailbox: how many mails a second are parsed, read for the index, written, and all of it together.

    python bench/filling.py [MAILS]

Parsing is compared with the standard library and with fast-mail-parser (where it is installed), in alternating rounds
over the same mails; each must give subject, people and date, and the text of the bodies.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import anyio

import corpus
from postroom.mime.read.parse import parse
from postroom.providers.context import ProviderContext
from postroom.providers.local.convert import NewMail, Prepared, prepare
from postroom.providers.local.provider import LocalMailbox
from postroom.providers.local.reading_ahead import BLOCK
from postroom.settings import LocalAccount

_ROUND = 250  # mails


def by_postroom(raw: bytes) -> object:
    return parse(raw)


def by_standard_library(raw: bytes) -> object:
    mail = message_from_bytes(raw, EmailMessage, policy=policy.default)
    texts = [part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"]
    return [str(mail[name]) for name in ("from", "to", "cc", "subject", "date")], texts


def by_fast_mail_parser(raw: bytes) -> object:
    from fast_mail_parser import parse_email

    mail = parse_email(raw)
    return mail.headers, mail.text_plain, mail.text_html


def compare_parsers(raws: Sequence[bytes]) -> None:
    parsers: dict[str, Callable[[bytes], object]] = {"Postroom": by_postroom, "email": by_standard_library}
    if importlib.util.find_spec("fast_mail_parser"):
        parsers["fast-mail-parser"] = by_fast_mail_parser
    for parser in parsers.values():
        parser(raws[0])
    seconds = dict.fromkeys(parsers, 0.0)
    for start in range(0, len(raws), _ROUND):
        for name, parser in parsers.items():
            seconds[name] += timed(parser, raws[start : start + _ROUND])
    for name, taken in seconds.items():
        print(f"parse, {name:17} {len(raws) / taken:7,.0f} mails/s   {seconds['Postroom'] / taken:5.2f}x Postroom")


def timed(work: Callable[[bytes], object], raws: Iterable[bytes]) -> float:
    started = time.perf_counter()
    for raw in raws:
        work(raw)
    return time.perf_counter() - started


async def fill(folder: Path, mails: list[NewMail]) -> None:
    """The steps one after the other in this process, then as an import does them."""
    started, used = time.perf_counter(), time.process_time()
    prepared = [prepare(mail) for mail in mails]
    report("read, one process", len(mails), started)
    print(f"{'':24} {len(mails) / (time.process_time() - used):7,.0f} mails per second of processor time")
    await write(await opened(folder / "written.db"), prepared)
    mailbox = await opened(folder / "filled.db")
    started = time.perf_counter()
    await mailbox.add_messages(iter(mails))
    report("fill: read and write", len(mails), started)
    await mailbox.close()


async def write(mailbox: LocalMailbox, prepared: list[Prepared]) -> None:
    started = time.perf_counter()
    for start in range(0, len(prepared), BLOCK):
        await mailbox.add_prepared(prepared[start : start + BLOCK])
    report("write", len(prepared), started)
    await mailbox.close()


async def opened(path: Path) -> LocalMailbox:
    account = LocalAccount(name="bench", address=corpus.OWNER[1], path=path)
    mailbox = LocalMailbox(account, ProviderContext(path.parent))
    await mailbox.connect()
    return mailbox


def report(what: str, mails: int, started: float) -> None:
    print(f"{what:24} {mails / (time.perf_counter() - started):7,.0f} mails/s")


def main(count: int) -> None:
    mails = [corpus.new_mail(mail) for mail in corpus.generate(count)]
    compare_parsers([mail.raw for mail in mails[:5_000]])
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(fill, Path(folder), mails)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
