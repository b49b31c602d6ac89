"""What is read of an attachment: its text, a picture, or a sentence about why not; and never more work than allowed."""

from __future__ import annotations

import tracemalloc
import zipfile
from io import BytesIO

import pytest
from tests.unit.mime import attached

from postroom.mime.documents import archive, limits, pdf
from postroom.mime.documents.reading import read, read_document

ENOUGH = 10_000


def text_of(content: bytes, filename: str = "file", claimed: str = "application/octet-stream") -> str:
    document = read(content, filename, claimed, ENOUGH)
    assert document.kind == "text", document.notes
    return document.text


def why_not(content: bytes, filename: str = "file", claimed: str = "application/octet-stream") -> str:
    document = read(content, filename, claimed, ENOUGH)
    assert (document.kind, document.text) == ("file", "")
    return " ".join(document.notes)


@pytest.mark.parametrize(
    ("content", "filename"),
    [
        ("Grüße\nBob".encode(), "a.txt"),
        ("Grüße\nBob".encode("cp1252"), "a.txt"),
        ("\ufeffGrüße\nBob".encode("utf-16-le"), "a.csv"),
        ("\ufeffGrüße\r\nBob".encode(), "noending"),
    ],
)
def test_a_plain_text_is_decoded_whatever_its_charset(content: bytes, filename: str) -> None:
    assert text_of(content, filename) == "Grüße\nBob"


def test_invisible_characters_are_removed_from_every_text() -> None:
    assert text_of("pay\u202e \U000e0041now".encode(), "a.txt") == "pay now"


def test_html_is_read_as_a_person_would_see_it() -> None:
    shown = text_of(b"<h1>Hi</h1><p style='display:none'>obey</p><p>there</p>", "a.html", "text/html")

    assert "Hi" in shown
    assert "there" in shown
    assert "obey" not in shown


def test_a_word_document_has_headings_lists_and_tables() -> None:
    cells = "".join(f"<w:tc>{attached.paragraph(cell)}</w:tc>" for cell in ("Milk", "2"))
    body = (
        attached.paragraph("Plan", "Heading2")
        + attached.paragraph("First &amp; last")
        + f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    )

    assert text_of(attached.word(body)).split("\n") == ["## Plan", "First & last", "Milk | 2"]


def test_what_word_does_not_show_is_left_out_and_counted() -> None:
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>obey me</w:t></w:r><w:r><w:t>seen</w:t></w:r></w:p>"
    deleted = "<w:p><w:del><w:r><w:delText>struck</w:delText></w:r></w:del></w:p>"

    document = read(attached.word(hidden + deleted), "a.docx", "", ENOUGH)

    assert document.text.strip() == "seen"
    assert document.notes == ("1 hidden piece of text left out.",)


def test_a_workbook_shows_its_sheets_with_dates_as_dates() -> None:
    rows = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>'
        '<row><c r="A2" s="1"><v>46357</v></c><c r="B2"><v>2.5</v></c><c r="XFD2"><v>9</v></c></row>'
    )
    document = read(attached.workbook(rows, hidden=True), "a.xlsx", "", ENOUGH)

    assert document.text.split("\n")[:3] == ["## Costs", "Item |  | Milk", "2026-12-01 | 2.5"]
    assert "classified" not in document.text
    assert document.notes == ("Hidden sheets left out: 1.", "Cells beyond the first 200 columns left out: 1.")


def test_slides_come_in_the_order_of_the_show() -> None:
    document = read(attached.slides("Welcome", "Skipped", "Bye", hidden=2), "a.pptx", "", ENOUGH)

    assert [line for line in document.text.split("\n") if line] == ["## Slide 1", "Welcome", "## Slide 3", "Bye"]
    assert document.notes == ("1 hidden slide left out.",)


def test_a_pdf_is_read_page_by_page() -> None:
    assert text_of(attached.pdf("Invoice 17", "Total 40 EUR")).split("\n") == [
        "[page 1 of 2]", "Invoice 17", "", "[page 2 of 2]", "Total 40 EUR", "",
    ]  # fmt: skip


def test_of_a_long_pdf_no_more_pages_are_read_than_needed() -> None:
    document = read(attached.pdf(*("word " * 400 for _ in range(20))), "a.pdf", "", 1_000)

    assert not document.is_whole
    assert "[page 1 of 20]" in document.text
    assert "[page 3 of 20]" not in document.text


def test_a_pdf_that_takes_too_long_is_read_as_far_as_time_goes() -> None:
    reading = pdf.read_pdf(attached.pdf("one", "two"), ENOUGH, seconds=-1)

    assert (reading.text, reading.is_whole) == ("", False)
    assert reading.notes == ("Only the first 0 of 2 pages could be read in the time allowed.",)


def test_an_attached_message_shows_who_wrote_what_to_whom() -> None:
    raw = b"From: Eve <eve@example.com>\r\nTo: bob@example.com\r\nSubject: Hi\r\n\r\nThe words.\r\n"

    assert text_of(raw, "mail.eml", "message/rfc822").split("\n") == [
        "From: Eve <eve@example.com>", "To: bob@example.com", "Subject: Hi", "", "The words.",
    ]  # fmt: skip


def test_an_invitation_says_what_when_where_and_who() -> None:
    assert text_of(attached.INVITATION.encode(), "invite.ics", "text/calendar").split("\n") == [
        "Invitation (REQUEST)",
        "",
        "What: Planning, second round",
        "When: Tuesday 2026-12-01 09:00 to 10:30 (Europe/Berlin, UTC+0100)",
        "Where: Room 4",
        "Organizer: Lee, Ada <ada@example.com>",
        "Attendees: Alex Rivera <alex@demo.example> [no answer yet]; sam@demo.example [accepted]",
        "Description:",
        "Bring numbers.",
        "And coffee.",
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("DTSTART:20261201T090000Z", "Tuesday 2026-12-01 09:00 (UTC)"),
        ("DTSTART;TZID=W. Europe Standard Time:20261201T090000", "Tuesday 2026-12-01 09:00 (W. Europe Standard Time)"),
        ("DTSTART:20261201T090000", "Tuesday 2026-12-01 09:00 (local time, no zone given)"),
        ("DTSTART;VALUE=DATE:20261201", "Tuesday 2026-12-01, all day"),
        ("DTSTART;TZID=../../etc/passwd:20261201T090000", "Tuesday 2026-12-01 09:00 (../../etc/passwd)"),
    ],
)
def test_a_time_is_shown_with_the_zone_it_was_given_in(written: str, shown: str) -> None:
    calendar = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x\n{written}\nEND:VEVENT\nEND:VCALENDAR"

    assert f"When: {shown}" in text_of(calendar.encode()).split("\n")


def test_a_picture_is_known_by_its_bytes_and_not_by_its_name() -> None:
    assert read(attached.png(), "a.pdf", "application/pdf", ENOUGH).mime_type == "image/png"
    assert read(attached.png(), "a.pdf", "application/pdf", ENOUGH).kind == "image"
    assert read(b"not a picture at all", "a.png", "image/png", ENOUGH).kind == "text"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (attached.png(60_000, 60_000), "60000 by 60000 pixels"),
        (attached.png() + bytes(limits.MAX_IMAGE), "larger than 750 KB"),
        (b"\xff\xd8\xff\xe0", "damaged"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (b"\0\1\2\3 unknown", "cannot be read as text"),
        (attached.zipped({"a.txt": "x"}), "cannot be read as text"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "old or encrypted Office document"),
        (attached.pdf("", ""), "a scan"),
        (attached.locked_pdf("s3cret"), "protected by a password"),
        (b"%PDF-1.7 and then nothing", "damaged"),
        (attached.word("")[:-40], "damaged"),
        (attached.word("<w:p><unclosed>"), "damaged"),
        (b"BEGIN:VCALENDAR\nEND:VCALENDAR", "no events"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(content: bytes, reason: str) -> None:
    assert reason in why_not(content)


def test_a_pdf_without_a_password_for_reading_is_read() -> None:
    assert "secret" in text_of(attached.locked_pdf(""))


def test_entities_that_expand_without_end_are_refused_before_the_first_one() -> None:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(12))
    bomb = f"<!DOCTYPE x [{laughs}]><w:document {attached.W}><w:p><w:r><w:t>&a11;</w:t></w:r></w:p></w:document>"

    assert "declares XML entities" in why_not(attached.zipped({"word/document.xml": bomb}))


def test_an_external_entity_is_never_opened() -> None:
    sly = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><w:document/>'

    assert "declares XML entities" in why_not(attached.zipped({"word/document.xml": sly}))


def test_a_zip_bomb_is_given_up_at_the_limit_without_holding_what_it_unpacks() -> None:
    body = b"<w:document><w:body>" + b" " * 70_000_000
    packed = attached.zipped(
        {"word/document.xml": body.replace(b"<w:document>", f"<w:document {attached.W}>".encode())}
    )
    assert len(packed) < 500_000

    tracemalloc.start()
    said = why_not(packed)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert "unpacks to more" in said
    assert peak < 20_000_000


def test_a_locked_archive_is_told_from_a_damaged_one() -> None:
    content = bytearray(attached.word(attached.paragraph("x")))
    with zipfile.ZipFile(BytesIO(content)) as archive:
        name = archive.getinfo("word/document.xml")
    content[name.header_offset + 6] |= 1
    at = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 4)
    content[at + 8] |= 1

    assert "protected by a password" in why_not(bytes(content))


def test_a_far_away_cell_and_deep_tables_cost_nothing() -> None:
    far = text_of(attached.workbook('<row><c r="XFD1048576"><v>1</v></c><c r="B1"><v>7</v></c></row>'))
    deep = "<w:tbl><w:tr><w:tc>" * 500 + attached.paragraph("core") + "</w:tc></w:tr></w:tbl>" * 500

    assert far.split("\n")[1] == " | 7"
    assert len(text_of(attached.word(deep + attached.paragraph("end")))) < 200


def test_a_document_that_breaks_or_exhausts_its_reader_is_a_file_with_a_sentence() -> None:
    """In a real worker: the page unpacks to 100 MB."""
    document = read_document(attached.bomb_pdf(100), "bomb.pdf", "application/pdf", ENOUGH)

    assert document.kind == "file"
    assert document.notes


def test_too_large_a_file_is_not_even_looked_at() -> None:
    document = read_document(bytes(limits.MAX_BYTES + 1), "a.pdf", "application/pdf", ENOUGH)

    assert "larger than 25 MB" in document.notes[0]


def test_what_a_workbook_hides_in_rows_and_columns_is_left_out_and_counted() -> None:
    def cell(place: str, text: str) -> str:
        return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'

    rows = (
        f'<row hidden="1">{cell("A1", "obey")}</row><row ht="0" customHeight="1">{cell("A2", "obey")}</row>'
        f"<row>{cell('A3', 'seen')}{cell('B3', 'obey')}{cell('D3', 'too')}</row>"
    )
    columns = '<cols><col min="2" max="3" hidden="1"/></cols>'
    made = attached.workbook(rows, columns=columns)
    document = read(made, "a.xlsx", "", ENOUGH)

    assert document.text.strip() == "## Costs\nseen |  |  | too"
    assert document.notes == ("Cells in hidden rows and columns left out: 3.",)


def test_text_that_a_document_hides_by_a_style_or_moved_away_is_left_out() -> None:
    styles = (
        f'<w:styles {attached.W}><w:style w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:styleId="Heir"><w:basedOn w:val="Base"/></w:style></w:styles>'
    )
    runs = "".join(f'<w:r><w:rPr><w:rStyle w:val="{name}"/></w:rPr><w:t>obey</w:t></w:r>' for name in ("Base", "Heir"))
    body = f"<w:p>{runs}<w:moveFrom><w:r><w:t>obey</w:t></w:r></w:moveFrom><w:r><w:t>seen</w:t></w:r></w:p>"
    made = attached.word(body + attached.paragraph("obey", "Base"), **{"word/styles.xml": styles})
    document = read(made, "a.docx", "", ENOUGH)

    assert document.text.strip() == "seen"
    assert document.notes == ("3 hidden pieces of text left out.",)


def test_white_and_tiny_text_is_counted() -> None:
    looks = {"a": "<w:color w:val='ffffff'/>", "b": "<w:sz w:val='2'/>"}
    runs = "".join(f"<w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r>" for text, look in looks.items())
    document = read(attached.word(f"<w:p>{runs}<w:r><w:t>c</w:t></w:r></w:p>"), "a.docx", "", ENOUGH)

    assert (document.text.strip(), document.notes) == ("abc", ("White or tiny pieces of text: 2.",))


def test_compressions_that_unpack_without_a_bound_are_not_begun() -> None:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("word/document.xml", f"<a>{' ' * 1_000_000}</a>")

    assert "damaged" in why_not(made.getvalue())


def test_a_row_of_one_long_text_again_and_again_takes_no_more_than_is_shown_of_it() -> None:
    once = "a" * 100_000
    cell = f'<c t="inlineStr"><is><t>{once}</t></is></c>'
    content = attached.workbook(f"<row>{cell * 150}</row>")

    tracemalloc.start()
    document = read(content, "a.xlsx", "", ENOUGH)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert document.text.split("\n")[1] == "a" * limits.MAX_CELL
    assert not document.is_whole
    assert peak < len(content) + 20 * len(once)


@pytest.mark.parametrize("markup", ["<c/>", "<c><v/></c>", '<c r="A1" s="1" t="n"/>', "<x/>"])
def test_markup_without_text_is_read_as_far_as_its_work_is_allowed(
    markup: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_WORK", 2_000)
    rows = f"<row><c><v>17</v></c></row><row>{markup * 2_000}</row><row><c><v>99</v></c></row>"

    document = read(attached.workbook(rows), "a.xlsx", "", ENOUGH)

    assert "17" in document.text
    assert "99" not in document.text
    assert (document.is_whole, document.notes[-1].endswith("download_attachment saves it.")) == (False, True)


def test_one_tag_that_never_ends_is_not_waited_for() -> None:
    attributes = " ".join(f'a{number}="1"' for number in range(400_000))

    assert "damaged" in why_not(attached.word(f"<w:p {attributes}/>"))


def test_the_strings_of_a_workbook_leave_work_for_its_cells() -> None:
    assert limits.MAX_WORK - limits.MAX_PART_WORK >= 300_000


def test_a_page_that_is_drawn_by_too_many_commands_is_left_out_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(pdf._LIMITS, "stream_parsing_work_maximum_count", 100)
    document = read(attached.pdf("a) Tj (" * 200 + "b", "the end"), "a.pdf", "", ENOUGH)

    assert document.text.split("\n") == ["[page 2 of 2]", "the end", ""]
    assert document.notes == ("Page 1 is damaged or too large and was left out.",)
