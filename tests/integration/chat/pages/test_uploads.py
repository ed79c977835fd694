"""Uploads by HTTP: who may send what, under which name and type it is stored, and what a message may refer to."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from adk_site.asgi import http
from sessions_app.models import Artifact, Invocation, LegalHold, PersonUsage, Session
from tests.integration.chat.pages.page_helpers import add_event, body_of, file_url, page, save_artifact
from tests.integration.chat.pages.test_downloads import PNG


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def files_url(session: Session) -> str:
    return reverse("chat:files", args=[session.id])


def send(client: Client, session: Session, name: str, data: bytes, mime_type: str = "") -> Any:
    upload = SimpleUploadedFile("x", data, content_type=mime_type or "application/octet-stream")
    upload._name = name  # type: ignore[attr-defined]  # the setter would clean the name here, not on the server
    return client.post(files_url(session), {"file": upload})


def raw_upload(client: Client, session: Session, disposition: bytes, data: bytes = b"data") -> Any:
    """Send a multipart body as a hostile client writes it."""
    body = b"--b\r\nContent-Disposition: form-data; " + disposition + b"\r\n\r\n" + data + b"\r\n--b--\r\n"
    return client.generic("POST", files_url(session), body, content_type="multipart/form-data; boundary=b")


def remove(client: Client, session: Session, name: str, version: int | str = 0) -> Any:
    return client.post(reverse("chat:remove_file", args=[session.id]), {"name": name, "version": version})


def test_a_file_is_stored_as_an_artifact_with_its_bytes(browser_of_person: Client, session: Session) -> None:
    response = send(browser_of_person, session, "cat.png", PNG)
    assert response.status_code == 201
    assert response.json() == {
        "name": "cat.png",
        "version": 0,
        "facts": "PNG · 8\xa0bytes",
        "url": f"{file_url(session, 'cat.png')}?version=0",
        "preview_url": f"{reverse('chat:preview', args=[session.id, 'cat.png'])}?version=0",
        "is_image": True,
    }
    row = Artifact.objects.get()
    assert (row.session_id, row.user_id, row.size, row.is_upload) == (session.pk, session.user_id, 8, True)
    assert body_of(browser_of_person.get(response.json()["url"])) == PNG
    assert PersonUsage.objects.get(pk=session.user_id).artifact_bytes == 8


def test_the_list_and_a_preview_of_files_are_in_the_language_of_the_reader(
    browser_of_person: Client, session: Session
) -> None:
    add_event(session, "Here it is.")
    save_artifact(session, "a.csv", b"name,price\nAda,49")
    german = {"Accept-Language": "de"}
    listed = browser_of_person.get(files_url(session), headers=german).content.decode()
    assert "a.csv herunterladen" in listed and "17\xa0Bytes" in listed
    preview = reverse("chat:preview", args=[session.id, "a.csv"])
    assert "Herunterladen" in browser_of_person.get(preview, headers=german).content.decode()


def test_an_upload_looks_for_its_session_once(browser_of_person: Client, session: Session) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert send(browser_of_person, session, "cat.png", PNG).status_code == 201
    assert sum('FROM "sessions_app_session"' in query["sql"] for query in queries) == 1


def test_a_large_file_goes_through_a_temporary_file(browser_of_person: Client, session: Session) -> None:
    data = bytes(range(256)) * 16_000
    assert send(browser_of_person, session, "big.bin", data).status_code == 201
    assert body_of(browser_of_person.get(file_url(session, "big.bin"))) == data


def test_a_file_of_the_same_name_is_the_next_version(browser_of_person: Client, session: Session) -> None:
    versions = [send(browser_of_person, session, "a.txt", b"a").json()["version"] for _ in range(2)]
    assert versions == [0, 1]


@pytest.mark.django_db(transaction=True)
def test_uploads_of_one_name_at_once_are_versions(browser_of_person: Client, session: Session) -> None:
    def upload(number: int) -> int:
        client = Client()
        client.cookies = browser_of_person.cookies
        try:
            return int(send(client, session, "a.txt", b"%d" % number).json()["version"])
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(upload, range(4))) == [0, 1, 2, 3]
    texts = {body_of(browser_of_person.get(f"{file_url(session, 'a.txt')}?version={v}")) for v in range(4)}
    assert texts == {b"0", b"1", b"2", b"3"}


@pytest.mark.parametrize(
    ("disposition", "stored"),
    [
        (b'name="file"; filename="items"', "items"),
        (b'name="file"; filename="../../x"', "x"),
        (b'name="file"; filename="..\\\\..\\\\x.txt"', "x.txt"),
        (b'name="file"; filename="user:me.txt"', "me.txt"),
        (b'name="file"; filename="user:user:me.txt"', "me.txt"),
        ('name="file"; filename="cat\u202egnp.exe"'.encode(), "catgnp.exe"),
        (b'name="file"; filename="' + b"x" * 300 + b'.txt"', "x" * 251 + ".txt"),
        ('name="file"; filename="Größe.txt"'.encode(), "Größe.txt"),
        (b'name="file"; filename="a\x00b.txt"', "ab.txt"),
        (b'name="file"; filename="<img src=x>.txt"', "<img src=x>.txt"),
        (b'name="file"; filename="12%22 lamp%0D%0A 5%20.txt"', '12" lamp 5%20.txt'),
    ],
)
def test_hostile_names_are_stored_as_plain_ones(
    browser_of_person: Client, session: Session, disposition: bytes, stored: str
) -> None:
    response = raw_upload(browser_of_person, session, disposition)
    assert (response.status_code, response.json()["name"]) == (201, stored)
    row = Artifact.objects.get()
    assert (row.filename, row.session_id) == (stored, session.pk)
    assert Path(str(row.file.name)).parent == Path("artifacts")
    assert browser_of_person.get(response.json()["url"]).status_code == 200


@pytest.mark.parametrize(
    "disposition",
    [
        b'name="file"',
        b'name="file"; filename=""',
        b'name="other"; filename="a.txt"',
        b'name="file"; filename=".."',
    ],
)
def test_a_request_without_a_file_is_refused(
    browser_of_person: Client, session: Session, disposition: bytes
) -> None:
    response = raw_upload(browser_of_person, session, disposition)
    assert response.status_code == 400
    assert response.json() == {"error": "The request has no file, or a file without a name. Choose a file."}


@pytest.mark.parametrize(
    ("name", "data", "mime_type"),
    [
        ("cat.png", PNG, "image/png"),
        ("cat.txt", PNG, "image/png"),
        ("page.png", b"<script>alert(1)</script>", "text/plain"),
        ("noise.png", b"\x00\x01", "application/octet-stream"),
        ("a.pdf", b"%PDF-1.7", "application/pdf"),
        ("a.pdf", b"hello", "text/plain"),
        ("a.csv", b"a,b", "text/csv"),
        ("a.csv", b"\xff\xfe\x00", "application/octet-stream"),
        ("a.html", b"<p>", "text/html"),
        ("a.md", b"# a", "text/markdown"),
        ("a.zip", b"PK\x03\x04", "application/zip"),
        ("noname", "Größe".encode(), "text/plain"),
        ("cut", b"x" * 4095 + "ß".encode(), "text/plain"),
    ],
)
def test_the_type_is_that_of_the_bytes(
    browser_of_person: Client, session: Session, name: str, data: bytes, mime_type: str
) -> None:
    assert send(browser_of_person, session, name, data, "image/png").status_code == 201
    assert Artifact.objects.get().mime_type == mime_type


def test_html_is_saved_and_never_shown_as_a_page(browser_of_person: Client, session: Session) -> None:
    send(browser_of_person, session, "page.html", b"<script>alert(1)</script>", "text/html")
    response = browser_of_person.get(file_url(session, "page.html"))
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("setting", "data", "refusal"),
    [
        ({}, b"", (400, "The file “a.txt” is empty. Choose another one.")),
        ({"upload_bytes": 3}, b"abcd", (413, "The file “a.txt” has 4\xa0bytes; the limit is 3\xa0bytes.")),
        (
            {"upload_types": ("image/*", "application/pdf")},
            b"abcd",
            (400, "The file “a.txt” is of the type text/plain. Files may be: image/*, application/pdf."),
        ),
    ],
)
def test_a_file_beyond_a_limit_is_refused_in_words(
    browser_of_person: Client, session: Session, settings: Settings, setting: Any, data: bytes, refusal: Any
) -> None:
    settings.ADK = setting
    response = send(browser_of_person, session, "a.txt", data)
    status, sentence = refusal
    assert (response.status_code, response.json()) == (status, {"error": sentence})
    assert not Artifact.objects.exists()


def test_the_bytes_and_the_rate_of_a_person_are_limited(
    browser_of_person: Client, session: Session, settings: Settings, media: Path
) -> None:
    settings.ADK = {"max_artifact_bytes_per_user": 5, "max_frames_per_user": 2}
    assert send(browser_of_person, session, "a.txt", b"abc").status_code == 201
    full = send(browser_of_person, session, "b.txt", b"abc")
    assert full.status_code == 429
    assert "may have 5 bytes together" in full.json()["error"]
    assert "limited to 2 a minute" in send(browser_of_person, session, "c.txt", b"a").json()["error"]
    assert [row.filename for row in Artifact.objects.all()] == ["a.txt"]
    assert len([path for path in media.rglob("*") if path.is_file()]) == 1


def test_a_file_for_another_persons_session_is_not_found(
    browser_of_person: Client, session_of_another: Session
) -> None:
    assert send(browser_of_person, session_of_another, "a.txt", b"a").status_code == 404
    assert browser_of_person.get(files_url(session_of_another)).status_code == 404
    assert remove(browser_of_person, session_of_another, "a.txt").status_code == 404
    assert not Artifact.objects.exists()


def test_a_file_for_a_deleted_session_is_not_found(browser_of_person: Client, session: Session) -> None:
    address = files_url(session)
    session.delete()
    assert browser_of_person.post(address, {"file": SimpleUploadedFile("a", b"a")}).status_code == 404


def send_to_new_chat(client: Client, session_id: UUID, data: bytes, app: str = "help_desk") -> Any:
    url = reverse("chat:files", args=[session_id])
    return client.post(f"{url}?new={app}", {"file": SimpleUploadedFile("a.txt", data)})


@pytest.mark.django_db(transaction=True)  # the session is created on a connection of its own
def test_the_first_file_creates_the_session_once(browser_of_person: Client, person: User) -> None:
    new = uuid4()
    assert [send_to_new_chat(browser_of_person, new, b"a").status_code for _ in range(2)] == [201, 201]
    session = Session.objects.get()
    assert (session.pk, session.user_id, session.app_name) == (new, person.pk, "help_desk")
    assert session.artifacts.count() == 2
    html = browser_of_person.get(f"{page(session)}?new=help_desk").content.decode()
    assert "data-new" in html


def test_a_session_is_new_and_in_no_list_until_its_first_message(
    browser_of_person: Client, person: User
) -> None:
    session = Session.objects.create(app_name="help_desk", user=person, key="k")
    embedded = reverse("chat:embedded", args=["help_desk", session.pk])
    for has_message in (False, True):
        for address in (f"{page(session)}?new=help_desk", embedded):
            assert ("data-new" not in browser_of_person.get(address).content.decode()) == has_message
        assert (str(session.pk) in browser_of_person.get("/chats/").content.decode()) == has_message
        add_event(session, "Hello")


def test_a_refused_file_creates_no_session(
    browser_of_person: Client, settings: Settings, session: Session
) -> None:
    settings.ADK = {"upload_bytes": 3}
    assert send_to_new_chat(browser_of_person, uuid4(), b"four").status_code == 413
    assert send_to_new_chat(browser_of_person, uuid4(), b"a", app="nobody").status_code == 404
    assert Session.objects.get() == session


def test_a_new_chat_with_the_id_of_another_persons_session_gets_no_file(
    browser_of_person: Client, session_of_another: Session
) -> None:
    assert send_to_new_chat(browser_of_person, session_of_another.pk, b"a").status_code == 404
    assert not Artifact.objects.exists()


def test_a_connection_that_breaks_half_way_stores_nothing(
    browser_of_person: Client, session: Session, media: Path
) -> None:
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser_of_person.cookies.items())
    headers = [
        (b"host", b"localhost"),
        (b"cookie", cookies.encode()),
        (b"content-type", b"multipart/form-data; boundary=b"),
        (b"content-length", b"1000"),
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": files_url(session),
        "headers": headers,
        "query_string": b"",
    }
    half = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf'

    async def break_off() -> None:
        connect: Any = ApplicationCommunicator  # which has no type hints
        connection = connect(http, {**scope, "http_version": "1.1", "scheme": "http"})
        await connection.send_input({"type": "http.request", "body": half, "more_body": True})
        await connection.send_input({"type": "http.disconnect"})
        await connection.wait(timeout=10)

    async_to_sync(break_off)()
    assert not Artifact.objects.exists()
    assert not media.exists() or list(media.rglob("*")) == []


def test_an_upload_needs_the_csrf_token(person: User, session: Session) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)
    assert send(client, session, "a.txt", b"a").status_code == 403
    client.get(page(session))
    token = client.cookies["csrftoken"].value
    form = {"csrfmiddlewaretoken": token, "file": SimpleUploadedFile("a.txt", b"a")}
    assert client.post(files_url(session), form).status_code == 201


def test_an_unsent_upload_can_be_removed(browser_of_person: Client, session: Session, media: Path) -> None:
    send(browser_of_person, session, "a.txt", b"a")
    for _ in range(2):
        assert remove(browser_of_person, session, "a.txt").status_code == 204
    assert not Artifact.objects.exists()
    assert remove(browser_of_person, session, "a\0.txt", "x").status_code == 204


def test_what_a_message_refers_to_and_what_an_agent_made_stays(
    browser_of_person: Client, session: Session
) -> None:
    send(browser_of_person, session, "a.txt", b"a")
    save_artifact(session, "made.csv")
    message = {
        "parts": [
            {"text": "x"},
            {"fileData": {"fileUri": "artifact:a.txt?version=0", "mimeType": "text/plain"}},
        ]
    }
    Invocation.objects.create(session=session, invocation_id="e-1", client_id="c", message=message)
    refused = remove(browser_of_person, session, "a.txt")
    assert (refused.status_code, "part of a message" in refused.json()["error"]) == (409, True)
    remove(browser_of_person, session, "made.csv")
    assert Artifact.objects.count() == 2


def test_a_legal_hold_keeps_uploads(browser_of_person: Client, session: Session, person: User) -> None:
    send(browser_of_person, session, "a.txt", b"a")
    LegalHold.objects.create(session=session, reason="court", set_by=person)
    assert remove(browser_of_person, session, "a.txt").status_code == 409
    assert Artifact.objects.exists()


def test_a_page_says_the_limits(browser_of_person: Client, session: Session, settings: Settings) -> None:
    settings.ADK = {"upload_bytes": 123, "upload_files": 4, "upload_types": ("image/*", "text/csv")}
    html = browser_of_person.get(page(session)).content.decode()
    assert 'data-most-bytes="123"' in html and 'data-most-files="4"' in html
    assert 'accept="image/*,text/csv"' in html


def test_a_queued_message_of_files_is_shown_by_their_names(
    browser_of_person: Client, session: Session
) -> None:
    message = {
        "parts": [{"fileData": {"fileUri": "artifact:%C3%A4.txt?version=0", "mimeType": "text/plain"}}]
    }
    Invocation.objects.create(session=session, invocation_id="e-1", client_id="c", message=message)
    html = browser_of_person.get(page(session)).content.decode()
    assert json.dumps("ä.txt") in html


def test_a_preview_shows_a_table_and_escapes_it(browser_of_person: Client, session: Session) -> None:
    send(browser_of_person, session, "t.csv", b"name,<b>\nlamp,<script>")
    address = reverse("chat:preview", args=[session.id, "t.csv"])
    html = browser_of_person.get(address).content.decode()
    assert '<th scope="col" dir="auto">&lt;b&gt;</th>' in html
    assert '<td dir="auto">&lt;script&gt;</td>' in html
    assert browser_of_person.get(f"{address}?version=1").status_code == 404
