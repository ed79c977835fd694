"""Script of the restricted process that reads an uploaded file: it writes the text in sections, as JSON.

The process gets this source over standard input and the file in its directory, named `file` with the extension of the
upload. It has no network, no other files, and limits of time and memory: whatever a hostile file does to a library
happens here. The last line of the output is an object with `sections`, each a list of heading, page and text, or with
`error`, a sentence for staff.

Only the standard library is imported at the top: each kind of file imports its library itself.
"""

import csv
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

MAX_CHARACTERS = 5_000_000
MAX_SECTIONS = 50_000
MAX_UNPACKED_BYTES = 100 * 1024**2
MAX_HEADING_LENGTH = 150
ROWS_LENGTH = 1_000
"""Characters of the rows of a table that become a section."""
SEPARATOR = " / "
SKIPPED = frozenset("head title script style template noscript svg nav".split())
IN_LINE = frozenset(
    "a abbr b bdi bdo cite code em i img kbd mark q s small span strong sub sup time u var wbr".split()
)
CELLS = frozenset({"td", "th"})
Section = tuple[str, int | None, str]
"""Headings, page from 1, text."""


class UnreadableFile(Exception):
    """The file cannot be read; the message is a sentence for staff."""


class Headings:
    """The headings above the current place, from the outermost."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, text: str) -> None:
        """Go into the part under this heading; parts of the same and of deeper levels end."""
        self._open = [(above, title) for above, title in self._open if above < level]
        if title := " ".join(text.split())[:MAX_HEADING_LENGTH]:
            self._open.append((level, title))

    def __str__(self) -> str:
        return SEPARATOR.join(title for _, title in self._open)


class HtmlSections(HTMLParser):
    """Text of a page, cut at its headings, with a line for each block and each row of a table.

    `runtime.tools.page_text` reads pages of the web alike, in linear time and with their links. This process cannot
    import it, and may take any time within its limit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[Section] = []
        self._headings = Headings()
        self._pieces: list[str] = []
        self._level = 0
        self._skipped = 0
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":  # the end of `head` may be left out
            self._skipped = 0
        if tag in SKIPPED:
            self._skipped += 1
        if tag == "pre":
            self._preformatted += 1
        if level := _level_of(tag):
            self._end_section()
            self._level = level
        elif tag in CELLS:
            self._pieces.append(" | ")
        elif tag not in IN_LINE:
            self._pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        # An end tag may have no begin.
        if tag in SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        if _level_of(tag) and self._level:
            self._headings.enter(self._level, "".join(self._pieces))
            self._pieces = []
            self._level = 0
        elif tag not in IN_LINE and tag not in CELLS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._pieces.append(data if self._preformatted else re.sub(r"\s+", " ", data))

    def close(self) -> None:
        super().close()
        self._end_section()

    def _end_section(self) -> None:
        lines = [line.strip(" |") for line in "".join(self._pieces).split("\n")]
        self.sections.append((str(self._headings), None, "\n".join(lines)))
        self._pieces = []


def _level_of(tag: str) -> int:
    return int(tag[1]) if re.fullmatch("h[1-6]", tag) else 0


def decoded(data: bytes) -> str:
    """Return the text by its byte order mark, as UTF-8, or as Windows' encoding of Western languages."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    if "\0" in text:
        raise UnreadableFile("The file is no text.")
    return text


def read_html(data: bytes) -> Iterator[Section]:
    yield from _sections_of_html(_text_of_page(data))


def _text_of_page(data: bytes) -> str:
    """Return the text by the encoding that the page declares, or else as that of any file."""
    declared = re.search(rb"charset=[\"']?([\w-]+)", data[:2048])
    # A declaration that can be read is not in UTF-16.
    if declared is None or declared[1].lower().startswith(b"utf-16"):
        return decoded(data)
    try:
        return data.decode(declared[1].decode(), "replace")
    except (LookupError, UnicodeError):
        # No encoding of texts. Browsers ignore such a declaration, too.
        return decoded(data)


def read_markdown(data: bytes) -> Iterator[Section]:
    from markdown_it import MarkdownIt

    yield from _sections_of_html(MarkdownIt().enable("table").render(decoded(data)))


def read_docx(data: bytes) -> Iterator[Section]:
    import mammoth

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED_BYTES:
            raise UnreadableFile(f"The file unpacks to more than {MAX_UNPACKED_BYTES // 1024**2} MB.")
    without_pictures = mammoth.images.img_element(lambda image: {"src": ""})
    yield from _sections_of_html(
        mammoth.convert_to_html(io.BytesIO(data), convert_image=without_pictures).value
    )


def _sections_of_html(text: str) -> list[Section]:
    parser = HtmlSections()
    parser.feed(text)
    parser.close()
    return parser.sections


def read_text(data: bytes) -> Iterator[Section]:
    yield "", None, decoded(data)


def read_csv(data: bytes) -> Iterator[Section]:
    """Yield the rows in groups, each value behind the name of its column. The heading tells the numbers of the rows."""
    text = decoded(data)
    first_line = text.partition("\n")[0]
    delimiter = max(",;\t", key=first_line.count)
    csv.field_size_limit(MAX_CHARACTERS)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    names = next(rows, [])
    lines: list[str] = []
    begin = number = 1
    for row in rows:
        number += 1
        cells = [f"{name}: {value}" for name, value in zip(names, row, strict=False) if value.strip()]
        lines.append("; ".join(cells))
        if sum(map(len, lines)) >= ROWS_LENGTH:
            yield f"{begin + 1}–{number}", None, "\n".join(lines)
            begin = number
            lines = []
    yield f"{begin + 1}–{number}", None, "\n".join(lines)


def read_pdf(data: bytes) -> Iterator[Section]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableFile("The PDF needs a password.")
    titles = _titles_by_page(reader, reader.outline)
    headings = Headings()
    for number, page in enumerate(reader.pages):
        waiting = titles.get(number, [])
        lines: list[str] = []
        for line in page.extract_text().split("\n"):
            # A part begins at the line with its title.
            if waiting and _same_words(line, waiting[0][1]):
                yield str(headings), number + 1, "\n".join(lines)
                lines = []
                headings.enter(*waiting.pop(0))
            lines.append(line)
        yield str(headings), number + 1, "\n".join(lines)
        for level, title in waiting:
            headings.enter(level, title)


def _titles_by_page(reader: Any, outline: list[Any], level: int = 1) -> dict[int, list[tuple[int, str]]]:
    """Return level and title of each part, by the page on which it begins, from 0."""
    titles: dict[int, list[tuple[int, str]]] = {}
    for entry in outline:
        if isinstance(entry, list):
            for page, below in _titles_by_page(reader, entry, level + 1).items():
                titles.setdefault(page, []).extend(below)
        else:
            page = reader.get_destination_page_number(entry)
            titles.setdefault(page, []).append((level, entry.title or ""))
    return titles


def _same_words(line: str, title: str) -> bool:
    return "".join(line.split()).casefold() == "".join(title.split()).casefold()


READERS: dict[str, Callable[[bytes], Iterator[Section]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".html": read_html,
    ".htm": read_html,
    ".md": read_markdown,
    ".txt": read_text,
    ".csv": read_csv,
}


def read(path: Path) -> dict[str, Any]:
    """Return the sections with text of the file, or the reason why there are none."""
    sections: list[Section] = []
    characters = 0
    try:
        for heading, page, text in READERS[path.suffix](path.read_bytes()):
            if not text.strip():
                continue
            sections.append((heading, page, text))
            characters += len(text)
            if characters > MAX_CHARACTERS or len(sections) > MAX_SECTIONS:
                raise UnreadableFile(
                    f"The file has more than {MAX_CHARACTERS:,} characters or {MAX_SECTIONS:,} sections. Split it."
                )
    except UnreadableFile as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "Reading the file needs too much memory."}
    except Exception as error:  # noqa: BLE001  # libraries raise anything for a damaged file
        detail = f"{type(error).__name__}: {error}"
        return {"error": f"The file is damaged, or it is no {path.suffix} file.", "detail": detail[:500]}
    if not sections:
        return {"error": "The file has no text. Pages that are pictures need OCR first."}
    return {"sections": sections}


if __name__ == "__main__":
    [found] = Path().glob("file.*")
    # One line: libraries may print to standard output, too.
    sys.stdout.write("\n" + json.dumps(read(found)))
