"""Downloads of a session's artifacts: of their owner only, and safe for the browser."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Session
from tests.integration.chat.pages.page_helpers import body_of, file_url, save_artifact

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_file_of_another_session_is_not_found_in_ones_own(
    browser_of_person: Client, session: Session, session_of_another: Session
) -> None:
    save_artifact(session_of_another, "notes.csv")
    save_artifact(session_of_another, "user:notes.csv", session=None)
    assert browser_of_person.get(file_url(session, "notes.csv")).status_code == 404
    assert browser_of_person.get(file_url(session, "user:notes.csv")).status_code == 404


@pytest.mark.parametrize(
    ("filename", "mime_type", "disposition", "content_type"),
    [
        (
            "bill-\u202efdp.exe",
            "application/pdf",
            'attachment; filename="bill-_fdp.exe"',
            "application/pdf",
        ),
        ("table.csv", "text/csv", 'attachment; filename="table.csv"', "text/csv"),
        ("page.html", "text/html", 'attachment; filename="page.html"', "text/html"),
        ("drawing.svg", "image/svg+xml", 'attachment; filename="drawing.svg"', "image/svg+xml"),
        ("chart.png", "image/png", 'inline; filename="chart.png"', "image/png"),
        ("no.png", "image/png", 'attachment; filename="no.png"', "application/octet-stream"),
        ("text", "", 'attachment; filename="text"', "text/plain; charset=utf-8"),
        ("folder/of/notes.txt", "text/plain", 'attachment; filename="notes.txt"', "text/plain"),
        ("a\r\nSet-Cookie: x", "text/plain", 'attachment; filename="a__Set-Cookie: x"', "text/plain"),
        ("odd", "text/html\r\nX: y", 'attachment; filename="odd"', "application/octet-stream"),
        ("Größe.txt", "text/plain", "attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe.txt", "text/plain"),
        ('q"<b>.txt', "text/plain", r'attachment; filename="q\"<b>.txt"', "text/plain"),
    ],
)
def test_a_file_is_saved_unless_it_is_a_plain_picture(
    browser_of_person: Client,
    session: Session,
    filename: str,
    mime_type: str,
    disposition: str,
    content_type: str,
) -> None:
    content = PNG if disposition.startswith("inline") else b"bytes"
    created = save_artifact(session, filename, content, mime_type=mime_type)
    response = browser_of_person.get(file_url(session, created.filename))
    assert response["Content-Disposition"] == disposition
    assert response["Content-Type"] == content_type
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Length"] == str(len(content))
    assert body_of(response) == content


def test_a_file_has_versions(browser_of_person: Client, session: Session) -> None:
    save_artifact(session, "a.csv", b"old")
    save_artifact(session, "a.csv", b"new", version=1)
    address = file_url(session, "a.csv")
    assert body_of(browser_of_person.get(address)) == b"new"
    assert body_of(browser_of_person.get(f"{address}?version=0")) == b"old"
    assert browser_of_person.get(f"{address}?version=2").status_code == 404
    assert browser_of_person.get(f"{address}?version=x").status_code == 404


def test_a_file_of_the_person_is_there_in_each_of_their_chats_with_the_app(
    browser_of_person: Client, session: Session
) -> None:
    save_artifact(session, "user:photo.png", PNG, session=None, mime_type="image/png")
    response = browser_of_person.get(file_url(session, "user:photo.png"))
    assert body_of(response) == PNG
    assert response["Content-Disposition"] == 'inline; filename="photo.png"'
    elsewhere = Session.objects.create(app_name="other", user=session.user, key="o")
    assert browser_of_person.get(file_url(elsewhere, "user:photo.png")).status_code == 404


def test_a_file_that_the_browser_has_is_not_sent_again(browser_of_person: Client, session: Session) -> None:
    save_artifact(session, "a.csv")
    first = browser_of_person.get(file_url(session, "a.csv"))
    again = browser_of_person.get(file_url(session, "a.csv"), headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304
    assert first["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("asked", "status", "content", "content_range"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_a_part_of_a_file_is_sent(
    browser_of_person: Client,
    session: Session,
    asked: str,
    status: int,
    content: bytes | None,
    content_range: str | None,
) -> None:
    save_artifact(session, "a.csv", b"0123456789")
    address = file_url(session, "a.csv")
    response = browser_of_person.get(address, headers={"range": asked})
    sent = body_of(response) if response.streaming else response.content
    assert (response.status_code, response.get("Content-Range")) == (status, content_range)
    assert int(response["Content-Length"]) == len(sent)
    if content is not None:
        assert sent == content
        of_another = {"range": asked, "if-range": '"other"'}
        assert body_of(browser_of_person.get(address, headers=of_another)) == b"0123456789"
