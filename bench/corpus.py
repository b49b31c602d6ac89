"""A seeded corpus of realistic mails: the same seed and count give the same bytes, on every machine.

    python bench/corpus.py fill MAILBOX.db 50000     into an embedded mailbox
    python bench/corpus.py maildir FOLDER 50000      as a Maildir

Of 100 mails 30 are HTML newsletters of 10-40 KB, 10 carry an attachment, the rest are threads in plain text or small
HTML; one in six is not English, in several charsets. `PLANTED` words occur in known shares and nowhere else.
"""
# ruff: noqa: SIM905 - lists of words are read as text

from __future__ import annotations

import argparse
import sys
import time
from base64 import b64encode, encodebytes
from binascii import b2a_qp
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.model.query.tree import Flag
    from postroom.providers.local.provider import NewMail

PLANTED = {"plantedhalf": 0.5, "plantedfifth": 0.2, "plantedmid": 0.01, "plantedrare": 0.0002}
PHRASE, PHRASE_SHARE = "amber lighthouse keeper", 0.005

OWNER = ("Bench Owner", "owner@bench.example")
LAST_DAY = datetime(2026, 6, 30, tzinfo=UTC)
SPAN = timedelta(days=5 * 365)
LANGUAGES = {
    "iso-8859-1": "für über größer können Straße Grüße déjà été garçon réponse mañana señal corazón coração".split(),
    "iso-2022-jp": "会議 資料 確認 請求書 出荷 予定 変更 連絡 報告 お願いします".split(),
    "koi8-r": "привет договор встреча завтра отчёт спасибо проект неделя".split(),
    "gb2312": "会议 时间 通知 订单 发票 确认 谢谢".split(),
    "utf-8": "naïve Zürich 🎉 Ångström مرحبا 한국어 ✓ žluťoučký".split(),
}
_COMMON = (
    "the of and to in for is on that by this with you it not or be are from at as your all have more an was we will "
    "can about if my has but our one other do no time they he up may what which their out use any there see only so "
    "when here also now help get first been would how were some these its like than find back people had just over "
    "year day into two "
).split()


@dataclass(frozen=True, slots=True)
class CorpusMail:
    raw: bytes
    date: datetime
    folder: str
    seen: bool
    starred: bool


@dataclass(slots=True)
class Thread:
    subject: str
    ids: list[str]
    last_words: str = ""


class Author:
    """Draws words as people use them: few often, many rarely."""

    def __init__(self, chance: Random, size: int = 6000) -> None:
        self.chance = chance
        self.words = [*_COMMON, *(self._invented() for _ in range(size))]
        self.weights = list(accumulate(1 / rank for rank in range(2, len(self.words) + 2)))
        self.people = [self._person(number) for number in range(200)]
        self.sentences = [" ".join(self.some(chance.randrange(18, 42))) for _ in range(3000)]

    def _invented(self) -> str:
        syllables = self.chance.choices("ba ce di fo gu la me ni po ru sta tre vi lo nan mer kel sor".split(), k=3)
        return "".join(syllables)

    def _person(self, number: int) -> tuple[str, str]:
        first, last = self._invented().title(), self._invented().title()
        return f"{first} {last}", f"{first}.{last}{number}@firm{number % 40}.example".lower()

    def some(self, count: int) -> list[str]:
        return self.chance.choices(self.words, cum_weights=self.weights, k=count)

    def person(self) -> tuple[str, str]:
        return self.people[int(200 * self.chance.random() ** 2)]

    def token(self, length: int) -> str:
        return self.chance.randbytes(length // 2).hex()


def generate(count: int, *, seed: int = 1) -> Iterator[CorpusMail]:
    """Oldest first."""
    chance = Random(seed)
    author, threads = Author(chance), deque[Thread](maxlen=300)
    for number in range(count):
        date = LAST_DAY - SPAN * ((count - number) / count)
        yield _mail(author, threads, date.replace(microsecond=0), number)


def _mail(author: Author, threads: deque[Thread], date: datetime, number: int) -> CorpusMail:
    chance, kind = author.chance, author.chance.random()
    charset = chance.choice(list(LANGUAGES)) if chance.random() < 1 / 6 else "us-ascii"
    words = _words(author, charset)
    if kind < 0.3:
        headers, body, outgoing = *_newsletter(author, " ".join(words), charset), False
    else:
        headers, body, outgoing = _letter(author, threads, words, charset, attached=kind > 0.9, number=number)
    sender, to = (OWNER, author.person()) if outgoing else (author.person(), OWNER)
    head = [
        f"From: {sender[0]} <{sender[1]}>",
        f"To: {to[0]} <{to[1]}>",
        f"Date: {format_datetime(date)}",
        *headers,
        "MIME-Version: 1.0",
    ]
    folder = "Sent" if outgoing else chance.choices(("INBOX", "Archive", "Projects/Bench"), (6, 3, 1))[0]
    raw = "\r\n".join(head).encode("ascii") + b"\r\n" + body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return CorpusMail(raw, date, folder, seen=outgoing or chance.random() < 0.85, starred=chance.random() < 0.03)


def _words(author: Author, charset: str) -> list[str]:
    chance = author.chance
    words = author.some(int(min(900, max(15, chance.lognormvariate(4.4, 0.8)))))
    if charset != "us-ascii":
        for _ in range(max(2, len(words) // 10)):
            words[chance.randrange(len(words))] = chance.choice(LANGUAGES[charset])
    for word, share in PLANTED.items():
        if chance.random() < share:
            words.insert(chance.randrange(len(words)), word)
    if chance.random() < PHRASE_SHARE:
        words.insert(chance.randrange(len(words)), PHRASE)
    return words


def _letter(
    author: Author, threads: deque[Thread], words: list[str], charset: str, *, attached: bool, number: int
) -> tuple[list[str], bytes, bool]:
    chance = author.chance
    own_id = f"<{number}.{author.token(12)}@bench.example>"
    if threads and chance.random() < 0.6:
        thread = threads[-1 - int(len(threads) * chance.random() ** 4)]
        quoted = "\n".join(f"> {line}" for line in thread.last_words.split("\n"))
        headers = [f"In-Reply-To: {thread.ids[-1]}", "References: " + "\r\n ".join(thread.ids[-12:])]
        subject = f"Re: {thread.subject}"
    else:
        thread, quoted, headers = Thread(" ".join(author.some(5)).capitalize(), []), "", []
        threads.append(thread)
        subject = thread.subject
    thread.ids.append(own_id)
    thread.last_words = _lines([word for word in words if word not in PLANTED and word != PHRASE][:120])
    body = _text(_lines(words) + (f"\n\n{quoted}" if quoted else "") + "\n", charset)
    if attached:
        body = _multipart("mixed", [body, _attachment(author)], author.token(24))
    return [f"Subject: {subject}", f"Message-ID: {own_id}", *headers], body, chance.random() < 0.15


def _newsletter(author: Author, words: str, charset: str) -> tuple[list[str], bytes]:
    chance = author.chance
    subject = " ".join(author.some(6)).capitalize()
    if charset != "us-ascii":
        coded = b64encode(f"{subject} {chance.choice(LANGUAGES[charset])}".encode()).decode()
        subject = f"=?utf-8?B?{coded}?="
    blocks, size, target = [f"<p>{words}</p>"], 0, chance.randrange(9_000, 34_000)
    while size < target:
        blocks.append(_block(author))
        size += len(blocks[-1])
    html = _PAGE.format(preheader=" ".join(author.some(8)), blocks="".join(blocks), token=author.token(40))
    parts = [_text(words + "\n", "utf-8"), _text(html, "utf-8", "html")]
    site = f"news{chance.randrange(40)}.example"
    headers = [
        f"Subject: {subject}",
        f"Message-ID: <{author.token(24)}@{site}>",
        f"List-Id: <weekly.{site}>",
        f"List-Unsubscribe: <https://{site}/leave?u={author.token(40)}>",
    ]
    return headers, _multipart("alternative", parts, author.token(24))


def _block(author: Author) -> str:
    title, *words = author.chance.choices(author.sentences, k=3)
    link = f"https://click.example/ls?upn={author.token(120)}&amp;utm_source=newsletter"
    return _BLOCK.format(link=link, image=author.token(16), title=title[:40], words=". ".join(words))


def _lines(words: list[str]) -> str:
    return "\n".join(" ".join(words[start : start + 11]) for start in range(0, len(words), 11))


def _text(text: str, charset: str, subtype: str = "plain") -> bytes:
    content = text.encode(charset, "replace")
    if charset in ("us-ascii", "iso-2022-jp"):
        coding = "7bit"
    elif charset in ("koi8-r", "gb2312"):
        coding, content = "base64", encodebytes(content)
    else:
        coding, content = "quoted-printable", b2a_qp(content)
    head = f"Content-Type: text/{subtype}; charset={charset}\nContent-Transfer-Encoding: {coding}\n\n"
    return head.encode("ascii") + content


def _attachment(author: Author) -> bytes:
    chance = author.chance
    name = f"{'-'.join(author.some(2))}.{chance.choice(('pdf', 'png', 'csv', 'docx'))}"
    head = (
        f'Content-Type: application/octet-stream; name="{name}"\nContent-Disposition: attachment; filename="{name}"\n'
    )
    content = encodebytes(chance.randbytes(chance.randrange(20_000, 90_000)))
    return head.encode("ascii") + b"Content-Transfer-Encoding: base64\n\n" + content


def _multipart(kind: str, parts: list[bytes], boundary: str) -> bytes:
    mark = boundary.encode("ascii")
    head = b'Content-Type: multipart/%s; boundary="%s"\n\n' % (kind.encode("ascii"), mark)
    return head + b"".join(b"--%s\n%s\n" % (mark, part) for part in parts) + b"--%s--\n" % mark


_PAGE = """<!DOCTYPE html><html><head><style>td{{font-family:Arial}}.b{{background:#146;color:#fff}}</style></head>
<body><div style="display:none;max-height:0;overflow:hidden">{preheader}</div>
<table width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">{blocks}</td></tr>
<tr><td style="font-size:11px;color:#888">You subscribed. <a href="https://click.example/leave?u={token}">Leave</a></td></tr>
</table><img src="https://open.example/{token}.gif" width="1" height="1" alt=""></body></html>
"""
_BLOCK = """<table width="600" cellpadding="0" cellspacing="0"><tr>
<td style="padding:20px 30px;font-size:16px;line-height:24px;color:#333333"><a href="{link}">
<img src="https://img.example/{image}.png" width="540" height="200" alt="{title}" style="display:block"></a>
<h2 style="margin:16px 0 8px">{title}</h2><p style="margin:0 0 12px">{words}</p><a class="b" href="{link}">Read</a>
</td></tr></table>
"""


def fill(path: Path, count: int, *, seed: int = 1) -> int:
    """Into the embedded mailbox at `path`."""
    import anyio

    from postroom.providers.context import ProviderContext
    from postroom.providers.local.provider import LocalMailbox
    from postroom.settings import LocalAccount

    async def fill_mailbox() -> int:
        account = LocalAccount(name="bench", address=OWNER[1], path=path.resolve())
        mailbox = LocalMailbox(account, ProviderContext(path.resolve().parent))
        await mailbox.connect()
        added = await mailbox.add_messages(map(new_mail, generate(count, seed=seed)))
        await mailbox.close()
        return len(added)

    return anyio.run(fill_mailbox)


def new_mail(mail: CorpusMail) -> NewMail:
    """As the embedded mailbox takes it."""
    from postroom.providers.local.provider import NewMail

    flags: tuple[Flag, ...] = (*(("read",) if mail.seen else ()), *(("starred",) if mail.starred else ()))
    return NewMail(mail.raw, mail.folder, flags, ("bench",) if mail.starred else (), mail.date)


def write_maildir(folder: Path, count: int, *, seed: int = 1) -> int:
    """All in one Maildir, so that an IMAP server can serve it as it is."""
    for name in ("cur", "new", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, mail in enumerate(generate(count, seed=seed)):
        flags = ("F" if mail.starred else "") + ("S" if mail.seen else "")
        (folder / "cur" / f"{int(mail.date.timestamp())}.M{number}P1.bench:2,{flags}").write_bytes(mail.raw)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=("fill", "maildir"))
    parser.add_argument("path", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    made = (fill if options.form == "fill" else write_maildir)(options.path, options.count, seed=options.seed)
    print(f"{made} mails in {time.perf_counter() - started:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
