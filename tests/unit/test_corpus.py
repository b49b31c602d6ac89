from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from postroom.mime.read.parse import parse

SOURCE = Path(__file__).parents[2] / "bench" / "corpus.py"


@pytest.fixture(scope="module")
def corpus() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_corpus", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["bench_corpus"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_seed_gives_the_same_mails_and_another_seed_others(corpus: ModuleType) -> None:
    assert list(corpus.generate(50)) == list(corpus.generate(50))
    assert list(corpus.generate(50)) != list(corpus.generate(50, seed=2))


def test_mails_come_oldest_first_and_parse_without_defects(corpus: ModuleType) -> None:
    mails = list(corpus.generate(300))
    assert [mail.date for mail in mails] == sorted(mail.date for mail in mails)
    parsed = [parse(mail.raw) for mail in mails]
    assert [mail.defects for mail in parsed if mail.defects] == []
    assert [mail.date for mail in parsed] == [mail.date for mail in mails]
    assert len({mail.message_id for mail in parsed}) == 300


def test_the_mix_is_as_promised(corpus: ModuleType) -> None:
    mails = [parse(mail.raw) for mail in corpus.generate(600)]
    newsletters = [mail for mail in mails if "list-id" in mail.headers]
    assert 0.2 < len(newsletters) / 600 < 0.4
    assert all(8_000 < len(mail.body.html) < 45_000 for mail in newsletters)
    assert 0.05 < sum(bool(mail.attachments) for mail in mails) / 600 < 0.16
    assert 0.2 < sum(bool(mail.in_reply_to) for mail in mails) / 600 < 0.6
    assert any("請求書" in mail.body.text for mail in mails)


def test_planted_words_occur_in_their_share_and_are_never_quoted(corpus: ModuleType) -> None:
    mails = [parse(mail.raw) for mail in corpus.generate(600)]
    for word in ("plantedhalf", "plantedfifth"):
        share = sum(word in mail.body.text for mail in mails) / 600
        assert abs(share - corpus.PLANTED[word]) < 0.08
    quoted = [line for mail in mails for line in mail.body.text.split("\n") if line.startswith(">")]
    assert quoted
    assert not any("planted" in line or corpus.PHRASE in line for line in quoted)


def test_a_maildir_holds_every_mail_with_its_flags(corpus: ModuleType, tmp_path: Path) -> None:
    assert corpus.write_maildir(tmp_path / "Maildir", 40) == 40
    names = [file.name for file in (tmp_path / "Maildir" / "cur").iterdir()]
    assert len(names) == 40
    assert sum(name.endswith("S") for name in names) == sum(mail.seen for mail in corpus.generate(40))
