"""Files of the kinds that knowledge bases read, made without a library where that is short."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pdf(pages: Sequence[tuple[str, Sequence[str]]]) -> bytes:
    """Return a PDF with a page for each title and its lines; each title is in the outline."""
    writer = PdfWriter()
    names = {
        "/Type": "/Font",
        "/Subtype": "/Type1",
        "/BaseFont": "/Helvetica",
        "/Encoding": "/WinAnsiEncoding",
    }
    font = writer._add_object(
        DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
    )
    for number, (title, lines) in enumerate(pages):
        page = writer.add_blank_page(width=400, height=600)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        shown = b" T* ".join(
            b"<" + line.encode("cp1252").hex().encode() + b"> Tj" for line in (title, *lines)
        )
        stream.set_data(b"BT /F1 10 Tf 14 TL 20 560 Td " + shown + b" ET")
        page[NameObject("/Contents")] = writer._add_object(stream)
        writer.add_outline_item(title=title, page_number=number)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def docx(body: str, *, prolog: str = "", picture: bytes = b"") -> bytes:
    """Return a Word file with this XML as its body, and a picture."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{RELATIONSHIPS}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml", f'{prolog}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
        )
        archive.writestr("word/media/picture", picture)
    return target.getvalue()


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"
