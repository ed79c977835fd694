"""Resumable uploads: chunks by tus 1.0 end as the same artifact as an upload at once, each byte stored once."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from sessions_app.api.v1.resumable_uploads import CHUNK_TYPE
from sessions_app.data_protection.leftovers import delete_orphaned_files
from sessions_app.errors import ConflictError
from sessions_app.models import Artifact, ResumableUpload, Session
from sessions_app.store import resumable_uploads
from sessions_app.store.erasing import delete_session_row
from sessions_app.store.resumable_uploads import delete_expired_uploads
from tests.integration.access import make_session
from tests.integration.api.conftest import make_key
from tests.integration.chat.pages.page_helpers import body_of

WORDS = b"Each byte is stored once."


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def program(person: User, background_end: None) -> Client:
    return Client(headers={"authorization": f"Bearer {make_key(person)}"})


@pytest.fixture
def session(person: User) -> Session:
    return make_session(person)


def metadata(name: str) -> str:
    return f"filename {b64encode(name.encode()).decode()},filetype dGV4dC9wbGFpbg=="


def create(program: Client, session: Session, length: Any = 25, named: str | None = None) -> Any:
    headers = {
        "upload-length": str(length),
        "upload-metadata": metadata("words.txt") if named is None else named,
        "tus-resumable": "1.0.0",
    }
    return program.post(f"/api/v1/sessions/{session.pk}/resumable-uploads", headers=headers)


def send(program: Client, address: str, offset: Any, data: bytes, **headers: str) -> Any:
    sent = {"upload-offset": str(offset), "tus-resumable": "1.0.0", "content-type": CHUNK_TYPE, **headers}
    return program.patch(address, data, content_type=CHUNK_TYPE, headers=sent)


def offset_of(program: Client, address: str) -> int:
    return int(program.head(address)["Upload-Offset"])


def files_in(media: Path) -> int:
    return len([path for path in media.rglob("*") if path.is_file()])


def test_the_last_chunk_makes_the_file(program: Client, session: Session, media: Path) -> None:
    created = create(program, session)
    address = created["Location"]
    assert (created.status_code, created["Tus-Resumable"]) == (201, "1.0.0")
    assert "Upload-Expires" in created
    first = send(program, address, 0, WORDS[:10])
    assert (first.status_code, first["Upload-Offset"]) == (204, "10")
    told = program.head(address)
    assert (told["Upload-Offset"], told["Upload-Length"], told["Cache-Control"]) == ("10", "25", "no-store")
    last = send(program, address, 10, WORDS[10:])
    assert (last.status_code, last["Upload-Offset"]) == (204, "25")
    assert last["Content-Location"] == f"/api/v1/sessions/{session.pk}/files/words.txt?version=0"
    assert body_of(program.get(last["Content-Location"])) == WORDS
    row = Artifact.objects.get()
    assert (row.sha256, row.size, row.is_upload) == (hashlib.sha256(WORDS).hexdigest(), 25, True)
    assert (row.session_id, row.mime_type) == (session.pk, "text/plain")
    assert files_in(media) == 1


def test_a_client_that_missed_the_last_response_learns_what_became_of_the_file(
    program: Client, session: Session
) -> None:
    address = create(program, session)["Location"]
    send(program, address, 0, WORDS)
    assert offset_of(program, address) == 25
    assert program.get(address).json()["file"]["sha256"] == hashlib.sha256(WORDS).hexdigest()
    assert send(program, address, 0, WORDS).status_code == 409
    assert program.delete(address).status_code == 204
    assert Artifact.objects.count() == 1


@pytest.mark.parametrize("offset", [5, 11, 10**30])
def test_another_offset_is_a_conflict_and_stores_nothing(
    program: Client, session: Session, offset: int
) -> None:
    address = create(program, session)["Location"]
    send(program, address, 0, WORDS[:10])
    response = send(program, address, offset, WORDS[10:])
    assert (response.status_code, response.json()["code"]) == (409, "conflict")
    assert "10" in response.json()["detail"]
    assert response["Tus-Resumable"] == "1.0.0"
    assert offset_of(program, address) == 10


@pytest.mark.parametrize("offset", ["-1", "x", "", "1.5", "9" * 5000])
def test_an_offset_that_is_no_number_is_named(program: Client, session: Session, offset: str) -> None:
    response = send(program, create(program, session)["Location"], offset, WORDS)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"].endswith("Upload-Offset")


@pytest.mark.parametrize(
    ("length", "status"), [(0, 422), (-1, 422), ("x", 422), ("9" * 5000, 422), (10**30, 413), (10**8, 413)]
)
def test_a_length_that_cannot_be_is_refused(
    program: Client, session: Session, length: Any, status: int
) -> None:
    assert create(program, session, length).status_code == status
    assert not ResumableUpload.objects.exists()


@pytest.mark.parametrize("named", ["filename ***", "filename /w==", "", "other YQ==", ",,,", "\x00"])
def test_metadata_without_a_name_is_refused(program: Client, session: Session, named: str) -> None:
    response = create(program, session, named=named)
    assert (response.status_code, response.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a\x00b\u202e.txt", "a\ufffdb.txt"),
        ("../../etc/x.txt", "x.txt"),
        ("user:x.txt", "x.txt"),
        ("..", "file"),
    ],
)
def test_a_hostile_name_becomes_one_that_can_be_shown(
    program: Client, session: Session, name: str, stored: str
) -> None:
    address = create(program, session, named=metadata(name))["Location"]
    assert send(program, address, 0, WORDS).status_code == 204
    assert Artifact.objects.get().filename == stored


def test_chunks_have_the_size_that_is_missing(program: Client, session: Session) -> None:
    address = create(program, session)["Location"]
    assert send(program, address, 0, WORDS + b"!").status_code == 413
    assert send(program, address, 0, b"").status_code == 400
    assert program.patch(address, WORDS, headers={"upload-offset": "0"}).status_code == 415
    assert offset_of(program, address) == 0
    assert send(program, address, 0, WORDS).status_code == 204
    assert Artifact.objects.get().sha256 == hashlib.sha256(WORDS).hexdigest()


def test_a_chunk_may_be_as_large_as_the_largest_file(
    program: Client, session: Session, configure: Any
) -> None:
    size = 10 * 1024**2
    configure(upload_bytes=size)
    address = create(program, session, size)["Location"]
    assert send(program, address, 0, b"x" * size, **{"idempotency-key": "k-1"}).status_code == 204
    assert Artifact.objects.get().size == size


def test_a_file_of_another_type_is_refused_at_its_end(
    program: Client, session: Session, configure: Any
) -> None:
    configure(upload_types=("image/*",))
    address = create(program, session)["Location"]
    response = send(program, address, 0, WORDS)
    assert response.status_code == 400
    assert "image/*" in response.json()["detail"]
    assert not Artifact.objects.exists()


def test_the_files_of_a_person_have_a_limit_together(
    program: Client, session: Session, configure: Any
) -> None:
    address = create(program, session)["Location"]
    configure(max_artifact_bytes_per_user=24)
    assert create(program, session).status_code == 429
    assert send(program, address, 0, WORDS).status_code == 429
    assert not Artifact.objects.exists()


def test_a_person_has_twenty_unfinished_uploads_at_most(program: Client, session: Session) -> None:
    addresses = [create(program, session)["Location"] for _ in range(20)]
    assert create(program, session).status_code == 429
    send(program, addresses[0], 0, WORDS)
    assert create(program, session).status_code == 201


def test_a_chunk_that_a_process_stored_before_it_died_is_not_counted(
    program: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = create(program, session)["Location"]
    send(program, address, 0, WORDS[:10])

    def die(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("The process dies.")

    with monkeypatch.context() as dying:
        dying.setattr(ResumableUpload, "save", die)
        assert send(program, address, 10, b"lost").status_code == 500
    assert offset_of(program, address) == 10
    assert send(program, address, 10, WORDS[10:]).status_code == 204
    assert Artifact.objects.get().sha256 == hashlib.sha256(WORDS).hexdigest()


class SlowChunk(BytesIO):
    """A chunk that comes when the test lets it."""

    def __init__(self, begun: Event, released: Event) -> None:
        super().__init__(WORDS[:10])
        self._begun, self._released = begun, released

    def read(self, size: int | None = -1) -> bytes:
        self._begun.set()
        assert self._released.wait(20)
        return super().read(size)


def test_of_two_requests_with_the_same_chunk_one_is_a_conflict(program: Client, session: Session) -> None:
    address = create(program, session)["Location"]
    row, begun, released = ResumableUpload.objects.get(), Event(), Event()

    def store_slowly() -> ResumableUpload:
        try:
            return resumable_uploads.store_chunk(row, 0, SlowChunk(begun, released))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        storing = pool.submit(store_slowly)
        assert begun.wait(20)
        try:
            with pytest.raises(ConflictError, match="Another request"):
                resumable_uploads.store_chunk(row, 0, SlowChunk(begun, released))
        finally:
            released.set()
        assert storing.result().offset == 10
    assert offset_of(program, address) == 10


def test_an_upload_expires_after_a_day_with_its_chunks(
    program: Client, session: Session, media: Path
) -> None:
    address = create(program, session)["Location"]
    send(program, address, 0, WORDS[:10])
    delete_orphaned_files()
    delete_expired_uploads()
    assert (offset_of(program, address), files_in(media)) == (10, 1)
    ResumableUpload.objects.update(created_at=Now() - timedelta(days=1, seconds=1))
    assert program.head(address).status_code == 404
    assert send(program, address, 10, WORDS[10:]).status_code == 404
    delete_expired_uploads()
    assert not ResumableUpload.objects.exists()
    assert files_in(media) == 0


@pytest.mark.parametrize("end", ["given up", "erased"])
def test_the_chunks_go_with_the_upload_and_with_its_session(
    program: Client, session: Session, media: Path, end: str
) -> None:
    address = create(program, session)["Location"]
    send(program, address, 0, WORDS[:10])
    if end == "given up":
        assert program.delete(address).status_code == 204
    else:
        delete_session_row(Session.objects.filter(pk=session.pk))
    assert (program.head(address).status_code, files_in(media)) == (404, 0)


def test_another_version_of_tus_is_refused_and_the_site_tells_its_own(
    program: Client, session: Session
) -> None:
    address = f"/api/v1/sessions/{session.pk}/resumable-uploads"
    told = program.options(address)
    assert (told["Tus-Version"], told["Tus-Max-Size"]) == ("1.0.0", str(10 * 1024**2))
    response = program.post(address, headers={"tus-resumable": "0.2.2"})
    assert (response.status_code, response["Tus-Version"]) == (412, "1.0.0")
