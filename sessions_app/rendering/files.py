"""Links to files of a session, and previews of limited size: image, page, PDF, table, Markdown or plain text."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urlencode
from uuid import UUID

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext

from runtime.artifacts.named_files import is_text
from runtime.sessions.state import State
from runtime.valid_text import storable
from sessions_app.models import Artifact
from sessions_app.rendering.hidden_characters import escape_hidden
from sessions_app.store.file_types import INLINE_IMAGES, PDF, named_type, signed_type

MAX_BYTES = 400_000
"""Maximum bytes of a file to read for its preview."""
MAX_CHARACTERS = 100_000
MAX_ROWS, MAX_COLUMNS, MAX_CELL_LENGTH = 200, 30, 200
KINDS = {
    "image/svg+xml": "image",  # in an `<img>` no script of it runs, and it loads nothing
    "text/csv": "table",
    "text/html": "page",
    "text/markdown": "markdown",
    "text/tab-separated-values": "table",
}
"""Kinds of previews of text files; that of all others is `text`."""
DELIMITERS = {"text/csv": ("\t", ";", ","), "text/tab-separated-values": ("\t",)}
"""Possible delimiters by MIME type; of equal ones the first.

In many countries numbers have decimal commas, and files with them have semicolons.
"""
SNIFFED_LINES = 20


@dataclass(frozen=True)
class FileLink:
    """Links to an artifact version.

    Attributes:
        name: the filename to show, without the prefix of a user's files, hidden characters as escapes.
        kind: extension in capital letters, such as PDF; empty without a short extension.
        url: address of the download.
        is_image: True if the type is that of an image that browsers show.
        is_of_user: True for a file of the user, which all sessions of the user have.
    """

    filename: str
    version: int
    name: str
    kind: str
    url: str
    preview_url: str
    is_image: bool

    @property
    def is_of_user(self) -> bool:
        return self.filename.startswith(State.USER_PREFIX)


def file_link(
    session_id: UUID | str, filename: str, version: int, mime_type: str = "", *, share_token: str = ""
) -> FileLink:
    """Return the links to an artifact version of the session or its user.

    Args:
        mime_type: type of the file, if it is known; by default that of the extension.
        share_token: token of the session's share link, for links that its readers may follow.
    """
    prefix = "chat:shared_" if share_token else "chat:"
    key = share_token or session_id
    query = urlencode({"version": version})
    name = filename.removeprefix(State.USER_PREFIX)
    _, dot, suffix = name.rpartition(".")
    kind = ""
    if dot and len(suffix) <= 5 and suffix.isalnum():
        kind = suffix.upper()
    return FileLink(
        filename=filename,
        version=version,
        name=escape_hidden(name),  # U+202E in a name can show a program as a picture.
        kind=kind,
        url=f"{reverse(f'{prefix}artifact', args=[key, filename])}?{query}",
        preview_url=f"{reverse(f'{prefix}preview', args=[key, filename])}?{query}",
        is_image=(mime_type or named_type(filename)) in INLINE_IMAGES,
    )


def file_links(session_id: UUID | str, artifacts: Mapping[str, int]) -> list[FileLink]:
    """Return links to artifacts of the session, given as {filename: version}; images first, then by name."""
    links = [file_link(session_id, filename, version) for filename, version in artifacts.items()]
    return sorted(links, key=lambda link: (not link.is_image, link.name))


def file_facts(row: Artifact, link: FileLink) -> str:
    """Return kind, size and version of a file as text; the version is left out for the first."""
    facts = [link.kind, filesizeformat(row.size)]
    if row.version:
        facts.append(gettext("version %(number)s") % {"number": row.version + 1})
    return " · ".join(filter(None, facts))


@dataclass(frozen=True)
class Preview:
    """Preview of a file.

    Attributes:
        kind: `image`, `page` (HTML), `pdf`, `table`, `markdown`, `text`, or `none` if the file can only be downloaded.
        is_cut: True if the preview is not the whole file.
    """

    kind: str
    text: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    is_cut: bool = False


def preview_of(mime_type: str, size: int, beginning: bytes, *, is_source: bool = False) -> Preview:
    """Return the preview of a file. Of an image, a page or a PDF it has the kind only: browsers ask for the file.

    Args:
        size: bytes of the whole file.
        beginning: the first bytes of the file, up to `MAX_BYTES`.
        is_source: show any text file as the text that it is.
    """
    if mime_type in INLINE_IMAGES or mime_type == PDF:
        if signed_type(beginning) != mime_type:
            return Preview("none")
        return Preview("pdf" if mime_type == PDF else "image")
    text = text_of(mime_type, beginning)
    if text is None:
        return Preview("none")
    kind = "text" if is_source else KINDS.get(mime_type, "text")
    if kind in ("image", "page"):
        return Preview(kind)
    is_cut = size > len(beginning)
    if kind == "table":
        delimiter = max(DELIMITERS[mime_type], key=lambda delimiter: _agreeing_lines(text, delimiter))
        return _table(text, delimiter, is_cut)
    return Preview(kind, text[:MAX_CHARACTERS], is_cut=is_cut or len(text) > MAX_CHARACTERS)


def text_of(mime_type: str, beginning: bytes) -> str | None:
    """Return the beginning of a file as text; None if the file is no text."""
    # A MIME type is the sender's claim: NUL shows that the file is no text.
    if not is_text(mime_type) or b"\0" in beginning:
        return None
    # `utf-8-sig` drops a byte order mark, which would become part of the first cell. The last character may be cut.
    return storable(beginning.decode("utf-8-sig", errors="replace"))


def _agreeing_lines(text: str, delimiter: str) -> int:
    """Return how many of the first lines have the most usual number of columns; 0 if that is one column."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        lengths = Counter(len(line) for line in islice(reader, SNIFFED_LINES))
    except csv.Error:
        return 0
    [(columns, lines)] = lengths.most_common(1) or [(0, 0)]
    return lines if columns > 1 else 0


def _table(text: str, delimiter: str, is_cut: bool) -> Preview:
    """Return the first rows and columns; the text if it cannot be read as a table."""
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        lines = list(islice(reader, MAX_ROWS + 2))  # a header, and one more row to see if the table is cut
    except csv.Error:
        return Preview("text", text[:MAX_CHARACTERS], is_cut=is_cut or len(text) > MAX_CHARACTERS)
    if not lines:
        return Preview("table", is_cut=is_cut)
    header, *rows = [_cells(line) for line in lines[: MAX_ROWS + 1]]
    width = max(len(line) for line in lines)
    is_cut = is_cut or len(lines) > MAX_ROWS + 1 or width > MAX_COLUMNS
    return Preview("table", header=header, rows=rows, is_cut=is_cut)


def _cells(row: list[str]) -> list[str]:
    return [cell[:MAX_CELL_LENGTH] for cell in row[:MAX_COLUMNS]]
