"""What the pages of a PDF and the list of an archive may cost: counted, not timed."""

from __future__ import annotations

import zipfile
from typing import Any

import pytest
from tests.unit.mime import attached

from postroom.mime.documents import archive, drawing, limits, pdf
from postroom.mime.documents.document import Document
from postroom.mime.documents.reading import read


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Each call of a function, which still does what it does."""
    calls: list[Any] = []
    real = getattr(owner, name)

    def noted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return real(*given, **named)

    monkeypatch.setattr(owner, name, noted)
    return calls


WORD = "BT /F1 12 Tf (word) Tj ET "
LEFT_OUT = "Parts that its pages repeat too often, or that are too large, were left out."


def reading_of(content: bytes) -> Document:
    return read(content, "a.pdf", "", limits.MAX_CHARS)


@pytest.fixture
def forms_read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    from pypdf import PageObject

    return counted(monkeypatch, PageObject, "extract_xform_text")


def test_a_form_is_read_once_however_often_it_is_drawn(forms_read: list[Any]) -> None:
    document = reading_of(attached.pdf_of_forms(WORD, page="/X0 Do " * 500))

    assert document.text.split() == ["[page", "1", "of", "1]", *["word"] * 500]
    assert len(forms_read) == 1


def test_forms_within_forms_cost_no_more_than_there_are_forms(forms_read: list[Any]) -> None:
    doubling = [WORD + f"/X{number + 1} Do " * 3 for number in range(15)]
    document = reading_of(attached.pdf_of_forms(*doubling, WORD, page="/X0 Do"))

    assert len(forms_read) == 16
    assert len(document.text) < 3 * limits.MAX_PAGES_WORK
    assert document.notes == (LEFT_OUT,)


def test_forms_that_are_too_much_work_together_are_left_out(forms_read: list[Any]) -> None:
    large = WORD * (limits.MAX_PAGES_WORK // 100)
    document = reading_of(attached.pdf_of_forms(*[large] * 40, page="".join(f"/X{n} Do " for n in range(40)) + WORD))

    assert 0 < len(forms_read) < 10
    assert document.notes == (LEFT_OUT,)
    assert document.text.endswith("word\n")


def test_no_more_forms_are_unpacked_when_many_were_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = counted(monkeypatch, drawing, "_commands")
    large = WORD * (limits.MAX_PAGES_WORK // 20)
    reading_of(attached.pdf_of_forms(*[large] * 60, page=WORD + "".join(f"/X{n} Do " for n in range(60))))

    assert len(weighed) < 30


def test_pages_are_read_as_long_as_they_are_paid_for() -> None:
    costly = "a) Tj (" * (limits.MAX_PAGES_WORK // 100)
    document = reading_of(attached.pdf(*[costly] * 12))

    assert 3 <= document.text.count("[page ") < 12
    assert not document.is_whole
    assert "Only the first" in document.notes[0]


def test_a_long_document_is_read_to_its_end() -> None:
    document = reading_of(attached.pdf(*["words of a report " * 150] * 300))

    assert document.text.count("[page ") == 300
    assert (document.is_whole, document.notes) == (True, ())


@pytest.mark.parametrize(("fonts", "mapped"), [(40, 60_000), (6_000, 0)])
def test_a_page_whose_fonts_are_too_much_work_is_not_read(fonts: int, mapped: int) -> None:
    document = reading_of(attached.pdf_of_fonts(fonts, mapped))

    assert "Only the first 0 of 1 pages" in document.notes[0]


def test_a_page_with_large_fonts_is_read() -> None:
    assert reading_of(attached.pdf_of_fonts(5, 20_000)).notes == ()


def test_a_pdf_of_very_many_pages_is_refused_before_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pdf._LIMITS, "page_tree_maximum_entries", 10)

    assert "more pages or parts than are read here" in reading_of(attached.pdf(*["word"] * 11)).notes[0]
    assert reading_of(attached.pdf(*["word"] * 10)).notes == ()


def test_the_files_of_an_archive_are_counted_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 10)
    few = attached.word(attached.paragraph("hello"))
    many = attached.word(attached.paragraph("hello"), **{f"word/{number}.xml": "" for number in range(9)})
    opened = counted(monkeypatch, zipfile, "ZipFile")

    assert "more than is read here" in read(many, "a.docx", "", 100).notes[0]
    assert opened == []
    assert "hello" in read(few, "a.docx", "", 100).text
