"""Mails that others collected because they break readers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postroom.mime.read.parse import extract_part, parse
from postroom.mime.render import render, search_text, snippet

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpora"
MAILS = sorted(path for path in CORPUS.rglob("*") if path.is_file()) if CORPUS.is_dir() else []

pytestmark = pytest.mark.skipif(not MAILS, reason="the collections of odd mails are not beside the project")


@pytest.mark.parametrize("path", MAILS, ids=lambda path: str(path.relative_to(CORPUS)))
def test_every_collected_mail_is_read_and_rendered(path: Path) -> None:
    raw = path.read_bytes()
    parsed = parse(raw)
    assert parsed.size == len(raw)
    for attachment in parsed.attachments:
        assert os.path.basename(attachment.filename) == attachment.filename != ""
        assert len(extract_part(raw, attachment.part)) == attachment.size
    for fmt in ("markdown", "text", "html"):
        render(parsed.body, fmt=fmt, keep_quoted=False)  # type: ignore[arg-type]
    assert "\n" not in snippet(parsed.body)
    search_text(parsed.body)


def test_subjects_of_mails_with_raw_8_bit_headers_are_legible() -> None:
    path = CORPUS / "mime/imap_tools/tests/messages/error_emails/invalid_subject_characters.eml"
    assert parse(path.read_bytes()).subject.startswith("Formação FrenetikPolis")
