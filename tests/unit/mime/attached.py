"""Files as people attach them, and as attackers do: made here, byte by byte."""

from __future__ import annotations

import struct
import zipfile
import zlib
from io import BytesIO

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def zipped(parts: dict[str, str | bytes]) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return made.getvalue()


def word(body: str, **parts: str) -> bytes:
    document = f"<?xml version='1.0'?><w:document {W}><w:body>{body}</w:body></w:document>"
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": document, **parts})


def paragraph(text: str, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def related(*targets: str) -> str:
    each = "".join(
        f'<Relationship Id="rId{number}" Target="{target}" Type="x"/>' for number, target in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{RELATIONS}">{each}</Relationships>'


def workbook(rows: str, *, hidden: bool = False, columns: str = "") -> bytes:
    sheets = '<sheet name="Costs" sheetId="1" r:id="rId1"/>'
    sheets += '<sheet name="Secret" sheetId="2" state="hidden" r:id="rId2"/>' if hidden else ""
    return zipped(
        {
            "xl/workbook.xml": f"<workbook {S} {R}><workbookPr/><sheets>{sheets}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": related("worksheets/sheet1.xml", "/xl/worksheets/sheet2.xml"),
            "xl/sharedStrings.xml": f"<sst {S}><si><t>Item</t></si><si><r><t>Mi</t></r><r><t>lk</t></r>"
            "<rPh><t>noise</t></rPh></si></sst>",
            "xl/styles.xml": f'<styleSheet {S}><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy"/></numFmts>'
            '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>',
            "xl/worksheets/sheet1.xml": f"<worksheet {S}>{columns}<sheetData>{rows}</sheetData></worksheet>",
            "xl/worksheets/sheet2.xml": f'<worksheet {S}><sheetData><row><c t="inlineStr"><is><t>classified</t></is>'
            "</c></row></sheetData></worksheet>",
        }
    )


def slides(*texts: str, hidden: int = 0) -> bytes:
    ids = "".join(f'<p:sldId r:id="rId{number}" id="{255 + number}"/>' for number in range(1, len(texts) + 1))
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {P} {R}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": related(*(f"slides/slide{n}.xml" for n in range(1, len(texts) + 1))),
    }
    for number, text in enumerate(texts, 1):
        show = ' show="0"' if number == hidden else ""
        parts[f"ppt/slides/slide{number}.xml"] = f"<p:sld {P} {A}{show}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"
    return zipped(parts)


def pdf(*pages: str) -> bytes:
    """One line of text on each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    return _with_table(objects)


def pdf_of_forms(*forms: str, page: str) -> bytes:
    """A page that draws forms, which may draw those after them: each is named by its number."""
    named = " ".join(f"/X{number} {6 + number} 0 R" for number in range(len(forms)))
    resources = f"/Resources << /Font << /F1 3 0 R >> /XObject << {named} >> >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R {resources} >>",
        f"<< /Length {len(page)} >>\nstream\n{page}\nendstream",
    ]
    for drawn in forms:
        kind = f"/Type /XObject /Subtype /Form /BBox [0 0 9 9] {resources}"
        objects.append(f"<< {kind} /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    return _with_table(objects)


def pdf_of_fonts(count: int, mapped: int) -> bytes:
    """A page whose fonts map so many characters each, by one line of a few bytes."""
    table = f"1 beginbfrange\n<0000> <{mapped:04x}> <0020>\nendbfrange"
    fonts = " ".join(f"/F{number} 3 0 R" for number in range(count))
    drawn = "BT /F1 12 Tf (word) Tj ET"
    return _with_table(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /ToUnicode 6 0 R >>",
            f"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << {fonts} >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
            f"<< /Length {len(table)} >>\nstream\n{table}\nendstream",
        ]
    )


def _with_table(objects: list[str]) -> bytes:
    made, places = bytearray(b"%PDF-1.4\n"), []
    for number, text in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{text}\nendobj\n".encode()
    start = len(made)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    made += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    made += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(made)


def locked_pdf(password: str) -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer, made = PdfWriter(clone_from=PdfReader(BytesIO(pdf("secret")))), BytesIO()
    writer.encrypt(password, algorithm="AES-256")
    writer.write(made)
    return made.getvalue()


def bomb_pdf(megabytes: int) -> bytes:
    """A page whose content unpacks to far more than it takes."""
    packed = zlib.compress(b"q " * (megabytes * 500_000), 9).decode("latin-1")
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
    ]
    raw = _with_table([*objects, f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n@@\nendstream"])
    return raw.replace(b"@@", packed.encode("latin-1"))


def png(width: int = 1, height: int = 1) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


INVITATION = """\
BEGIN:VCALENDAR\r
PRODID:-//Example//EN\r
VERSION:2.0\r
METHOD:REQUEST\r
BEGIN:VTIMEZONE\r
TZID:Europe/Berlin\r
BEGIN:STANDARD\r
DTSTART:19701025T030000\r
TZOFFSETFROM:+0200\r
TZOFFSETTO:+0100\r
END:STANDARD\r
END:VTIMEZONE\r
BEGIN:VEVENT\r
UID:plan-1@example.com\r
SEQUENCE:2\r
DTSTAMP:20261101T080000Z\r
DTSTART;TZID=Europe/Berlin:20261201T090000\r
DTEND;TZID=Europe/Berlin:20261201T103000\r
SUMMARY:Planning\\, second round\r
LOCATION:Room 4\r
ORGANIZER;CN="Lee, Ada":mailto:ada@example.com\r
ATTENDEE;CN=Alex Rivera;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:alex@demo.exam\r
 ple\r
ATTENDEE;PARTSTAT=ACCEPTED:mailto:sam@demo.example\r
DESCRIPTION:Bring numbers.\\nAnd coffee.\r
BEGIN:VALARM\r
DESCRIPTION:Reminder\r
END:VALARM\r
END:VEVENT\r
END:VCALENDAR\r
"""
