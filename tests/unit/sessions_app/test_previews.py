"""Previews of files: by type, of limited size, and never of what the bytes are not."""

from __future__ import annotations

import pytest

from sessions_app.rendering.files import (
    MAX_BYTES,
    MAX_CELL_LENGTH,
    MAX_CHARACTERS,
    MAX_COLUMNS,
    MAX_ROWS,
    preview_of,
)

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("mime_type", "content", "kind"),
    [
        ("image/png", PNG, "image"),
        ("image/png", b"<script>", "none"),
        ("image/jpeg", PNG, "none"),
        ("image/png", b"<h1>no picture</h1>", "none"),
        ("image/svg+xml", b"<svg/>", "image"),
        ("text/html", b"<script>alert(1)</script>", "page"),
        ("text/html", b"<h1>\0", "none"),
        ("application/json", b"{}", "text"),
        ("text/markdown", b"# a", "markdown"),
        ("text/csv", b"a,b", "table"),
        ("text/plain", b"\xff\x00", "none"),
        ("application/pdf", b"%PDF-", "pdf"),
        ("application/pdf", b"<script>", "none"),
        ("application/zip", b"PK", "none"),
    ],
)
def test_the_type_and_the_bytes_decide(mime_type: str, content: bytes, kind: str) -> None:
    assert preview_of(mime_type, len(content), content).kind == kind


@pytest.mark.parametrize(
    ("mime_type", "source"),
    [
        ("image/svg+xml", b"<svg/>"),
        ("text/html", b"<b>"),
        ("text/markdown", b"# a"),
        ("text/csv", b"a,b"),
        ("application/json", b"{}"),
    ],
)
def test_each_text_file_is_shown_as_its_source_on_request(mime_type: str, source: bytes) -> None:
    preview = preview_of(mime_type, len(source), source, is_source=True)
    assert (preview.kind, preview.text) == ("text", source.decode())


def test_a_huge_table_is_cut_as_a_table_and_as_its_source() -> None:
    beginning = (b"lamp,20\n" * 100_000)[:MAX_BYTES]
    table = preview_of("text/csv", 800_000, beginning)
    assert (len(table.rows), table.is_cut) == (MAX_ROWS, True)
    source = preview_of("text/csv", 800_000, beginning, is_source=True)
    assert (len(source.text), source.is_cut) == (MAX_CHARACTERS, True)


def test_a_table_has_limited_rows_columns_and_cells() -> None:
    row = ",".join(["x" * (MAX_CELL_LENGTH + 1)] * (MAX_COLUMNS + 1))
    content = "\n".join([row] * (MAX_ROWS + 2)).encode()
    preview = preview_of("text/csv", len(content), content)
    assert (len(preview.header), len(preview.rows), preview.is_cut) == (MAX_COLUMNS, MAX_ROWS, True)
    assert {len(cell) for cell in [*preview.header, *preview.rows[0]]} == {MAX_CELL_LENGTH}


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"name,price\nlamp,49", 2),
        (b"name;price\nlamp;49", 2),
        (b"name;price, euro\nlamp;49,50\nchair;1,99", 2),
        (b'name,remark\nlamp,"a; b; c"\nchair,"d; e"', 2),
        (b"name\tprice\tremark\nlamp\t49;50\tnew, used", 3),
        (b"name\nlamp", 1),
        (b"", 0),
    ],
)
def test_the_delimiter_of_a_table_is_found(content: bytes, columns: int) -> None:
    preview = preview_of("text/csv", len(content), content)
    assert (preview.kind, len(preview.header)) == ("table", columns)
    assert all(len(row) == columns for row in preview.rows)


def test_a_small_table_is_whole() -> None:
    preview = preview_of("text/tab-separated-values", 16, "\ufeffname\tprice\nä\t2".encode())
    assert (preview.header, preview.rows, preview.is_cut) == (["name", "price"], [["ä", "2"]], False)


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\u2028", "\x0b", "\x0c"])
def test_a_cell_keeps_its_line_breaks(mark: str) -> None:
    content = f'name,note\r\nAda,"one{mark}two"\r\nBob,x'.encode()
    preview = preview_of("text/csv", len(content), content)
    assert (preview.header, preview.rows) == (["name", "note"], [["Ada", f"one{mark}two"], ["Bob", "x"]])


@pytest.mark.parametrize("content", [b"", b"\n", b'"', b'a,"b\nc', ("x" * 200_000).encode()])
def test_odd_tables_are_shown(content: bytes) -> None:
    assert preview_of("text/csv", len(content), content).kind in ("table", "text")


def test_a_long_text_is_cut_and_says_so() -> None:
    content = b"x" * (MAX_CHARACTERS + 1)
    preview = preview_of("text/plain", len(content), content)
    assert (len(preview.text), preview.is_cut) == (MAX_CHARACTERS, True)
    assert preview_of("text/plain", 10, b"whole text").is_cut is False
