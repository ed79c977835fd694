"""Contract: files in an object store are as safe as in a directory: for their owner only, as stored, and erased.

The store is a server of Amazon S3's protocol on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zipfile import ZipFile

import httpx
import pytest
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.errors import SessionNotFoundError
from runtime.tools import ToolContext
from runtime.types import Part
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection import leftovers
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.errors import FilesUnavailableError, InvalidInputError
from sessions_app.history.evidence.root_file import parse_root, roots_at, storage_at
from sessions_app.history.evidence.sealing import seal
from sessions_app.invocations.worker import worker
from sessions_app.models import Artifact, Invocation, Pack, Session
from sessions_app.process.threads import in_thread
from sessions_app.store.object_storage import ObjectStorage
from sessions_app.store.packs import open_pack
from sessions_app.store.uploads import store_upload
from tests.fakes import ScriptedModel, call
from tests.free_port import free_port
from tests.integration.admin.audit_rows import append_event
from tests.integration.chat.pages.page_helpers import body_of, file_url, save_artifact
from tests.integration.session_helpers import pack
from tests.integration.tampering import verified
from tests.served_agents import Served

PNG = b"\x89PNG\r\n\x1a\n"
OPTIONS = {"bucket_name": "files", "access_key": "key", "secret_key": "secret", "region_name": "eu-west-1"}
TYPES = {"a.csv": "text/csv", "a.png": "image/png"}
PLACE = {"LocationConstraint": "eu-west-1"}
DOWN = "The storage of files does not answer. Try again."
IN_A_TURN = (
    "The storage of files did not answer, so this answer is not complete. "
    "Your message is kept. Try again later."
)
DELETED = "The storage of the site does not have this file: somebody has deleted it there."
ALTERED = "This file is not the one that was stored. Ask the people who run this site."


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def store(server: str, settings: Settings) -> ObjectStorage:
    """The storage of the site, with an empty bucket."""
    use_store(settings, server)
    httpx.post(f"{server}/moto-api/reset")
    made = storages["default"]
    assert isinstance(made, ObjectStorage)
    made.connection.meta.client.create_bucket(Bucket="files", CreateBucketConfiguration=PLACE)
    return made


def use_store(settings: Settings, endpoint: str, **options: Any) -> None:
    backend = {
        "BACKEND": "sessions_app.store.object_storage.ObjectStorage",
        "OPTIONS": {**OPTIONS, "endpoint_url": endpoint, **options},
    }
    settings.STORAGES = {**settings.STORAGES, "default": backend, "roots": backend}


def use_store_that_is_down(settings: Settings) -> None:
    use_store(settings, f"http://127.0.0.1:{free_port()}")


def objects(store: ObjectStorage) -> set[str]:
    return set(store.listdir("artifacts")[1])


def reads(requests: pytest.LogCaptureFixture) -> int:
    """Return how often the store was asked for the bytes of an object."""
    return sum('"GET /files/artifacts/' in record.getMessage() for record in requests.records)


def staff_download(row: Artifact) -> str:
    return reverse("admin:sessions_app_artifact_download", args=[row.pk])


def replace_object(row: Artifact, content: bytes) -> None:
    """Replace the object as a program with the keys of the bucket would."""
    name = str(row.file.name)
    row.file.storage.delete(name)
    row.file.storage.save(name, ContentFile(content))


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key="s-1", title="Broken lamp")


@pytest.fixture
def browser(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def test_a_person_uploads_a_file_and_saves_it_from_an_address_that_lives_a_minute(
    browser: Client, session: Session, store: ObjectStorage
) -> None:
    upload = SimpleUploadedFile("prices; 1.csv", b"lamp,20", content_type="text/csv")
    sent = browser.post(reverse("chat:files", args=[session.id]), {"file": upload})
    assert sent.status_code == 201, sent.content
    assert len(objects(store)) == 1
    answer = browser.get(file_url(session, "prices; 1.csv"))
    assert (answer.status_code, answer["Cache-Control"]) == (302, "private, no-store")
    assert parse_qs(urlsplit(answer["Location"]).query)["X-Amz-Expires"] == ["60"]
    saved = httpx.get(answer["Location"])
    assert saved.content == b"lamp,20"
    assert saved.headers["Content-Disposition"] == 'attachment; filename="prices; 1.csv"'
    assert saved.headers["Content-Type"] == "text/csv"


def test_nobody_else_gets_an_address(session: Session, store: ObjectStorage, client: Client) -> None:
    save_artifact(session, "a.csv")
    assert client.get(file_url(session, "a.csv"))["Location"].startswith("/accounts/login/")
    client.force_login(User.objects.create_user("eve"))
    answer = client.get(file_url(session, "a.csv"))
    assert (answer.status_code, answer.headers.get("Location")) == (404, None)


@pytest.mark.parametrize("option", [{"custom_domain": "files.example.org"}, {"querystring_auth": False}])
def test_the_site_sends_a_file_whose_address_would_not_be_signed(
    browser: Client,
    session: Session,
    store: ObjectStorage,
    settings: Settings,
    server: str,
    option: dict[str, Any],
) -> None:
    """An address without a signature would work for ever."""
    save_artifact(session, "a.csv", b"lamp,20")
    use_store(settings, server, **option)
    assert body_of(browser.get(file_url(session, "a.csv"))) == b"lamp,20"


def test_what_the_page_shows_comes_from_the_site_which_reads_it_once(
    browser: Client, session: Session, store: ObjectStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """The content security policy of the site allows no pictures of other servers."""
    row = save_artifact(session, "a.png", PNG, mime_type="image/png")
    caplog.set_level("INFO", "werkzeug")
    assert body_of(browser.get(file_url(session, "a.png"))) == PNG
    assert reads(caplog) == 1
    browser.force_login(User.objects.create_superuser("root"))
    assert b"".join(browser.get(staff_download(row))) == PNG
    assert reads(caplog) == 2


def test_a_file_that_was_closed_is_read_again(session: Session, store: ObjectStorage) -> None:
    row = save_artifact(session, "a.csv", b"lamp,20")
    assert row.read() == row.read() == b"lamp,20"
    store.delete(str(row.file.name))
    with pytest.raises(FileNotFoundError):
        row.read()


@pytest.mark.parametrize("name", ["a.csv", "a.png"])
def test_a_file_that_somebody_deleted_in_the_store_is_not_found(
    browser: Client, session: Session, store: ObjectStorage, name: str
) -> None:
    store.delete(str(save_artifact(session, name, PNG, mime_type=TYPES[name]).file.name))
    answer = browser.get(file_url(session, name))
    assert (answer.status_code, answer.json()["detail"]) == (404, DELETED)


@pytest.mark.parametrize("name", ["a.csv", "a.png"])
def test_a_file_that_somebody_replaced_is_not_shown(
    browser: Client, session: Session, store: ObjectStorage, name: str
) -> None:
    row = save_artifact(session, name, PNG, mime_type=TYPES[name])
    replace_object(row, PNG[:-1] + b"!")
    for part in ({}, {"range": "bytes=1-2"}):
        answer = browser.get(file_url(session, name), headers=part)
        assert (answer.status_code, answer.json()["detail"]) == (409, ALTERED)
    preview = browser.get(reverse("chat:preview", args=[session.id, name]))
    assert name == "a.png" or ALTERED in preview.content.decode()


def test_while_the_store_is_down_pages_say_so_and_an_upload_leaves_no_row(
    browser: Client, session: Session, store: ObjectStorage, settings: Settings
) -> None:
    row = save_artifact(session, "a.csv")
    use_store_that_is_down(settings)
    for answer in (browser.get(file_url(session, "a.csv")), browser.post(reverse("chat:export_data"))):
        assert (answer.status_code, answer.json()["detail"]) == (503, DOWN)
    of_browser = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    for answer in (
        browser.get(file_url(session, "a.csv"), headers=of_browser),
        browser.post(reverse("chat:export_data"), headers=of_browser),
    ):
        assert answer.status_code == 503 and f'<p role="alert">{DOWN}</p>' in answer.content.decode()
        assert "Accept" in answer["Vary"].split(", ")
    assert DOWN in browser.get(reverse("chat:preview", args=[session.id, "a.csv"])).content.decode()
    upload = SimpleUploadedFile("b.csv", b"b", content_type="text/csv")
    sent = browser.post(reverse("chat:files", args=[session.id]), {"file": upload})
    assert (sent.status_code, sent.json()) == (503, {"error": DOWN})
    assert Artifact.objects.get() == row
    browser.force_login(User.objects.create_superuser("root"))
    assert browser.get(staff_download(row)).json()["detail"] == DOWN


def test_an_upload_says_why_it_has_no_row_also_when_its_object_cannot_be_deleted(
    session: Session, store: ObjectStorage, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    def delete_session(**_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM sessions_app_session WHERE id = %s", [session.pk])
        use_store_that_is_down(settings)

    pre_save.connect(delete_session, sender=Artifact)
    try:
        with pytest.raises(SessionNotFoundError):
            store_upload(session, SimpleUploadedFile("b.csv", b"b"), "text/csv")
    finally:
        pre_save.disconnect(delete_session, sender=Artifact)
    assert "An unused file could not be deleted" in caplog.text


def test_an_erased_session_leaves_no_object_also_when_the_store_was_down(
    session: Session,
    store: ObjectStorage,
    settings: Settings,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    other = Session.objects.create(app_name="help_desk", user=session.user, key="s-2")
    rows = [save_artifact(session, "a.csv"), save_artifact(other, "b.csv")]
    order = ErasureOrder(reason="She asked for it.")
    with django_capture_on_commit_callbacks(execute=True):
        erase_session(session.pk, order)
    assert objects(store) == {str(rows[1].file.name).removeprefix("artifacts/")}
    use_store_that_is_down(settings)
    with django_capture_on_commit_callbacks(execute=True):
        erase_session(other.pk, order)
    use_store(settings, server)
    assert len(objects(store)) == 1
    monkeypatch.setattr(leftovers, "ORPHAN_AGE", timedelta(0))
    assert leftovers.delete_orphaned_files() == 1
    assert objects(store) == set()


def test_a_pack_is_an_object_that_comes_back_and_is_erased(
    session: Session,
    store: ObjectStorage,
    settings: Settings,
    server: str,
    admin_client: Client,
    django_capture_on_commit_callbacks: Any,
) -> None:
    append_event(session, {"text": "We sell lanterns."})
    pack(session.pk)
    session.refresh_from_db()
    assert not session.events.exists()
    [stored] = store.listdir("packs")[1]
    use_store_that_is_down(settings)
    with pytest.raises(FilesUnavailableError):
        open_pack(session)
    told = verified()
    assert f"check_packs: impossible: {DOWN}" in told and "1 session checked, 0 not" in told
    use_store(settings, server)
    assert "1 session checked, 0 not" in verified() and not session.events.exists()
    page = admin_client.get(f"/admin/sessions_app/session/{session.pk}/change/").content.decode()
    assert "We sell lanterns." in page and Pack.objects.get().sha256 in page
    pack(session.pk)
    assert store.listdir("packs")[1] == [stored]
    with django_capture_on_commit_callbacks(execute=True):
        erase_session(session.pk, ErasureOrder(reason="She asked for it."))
    assert store.listdir("packs")[1] == []


def test_an_export_has_the_bytes(session: Session, store: ObjectStorage, tmp_path: Path) -> None:
    row = save_artifact(session, "a.csv", b"lamp,20")
    call_command("adk_export", "--user", session.user.username, tmp_path / "export.zip", stdout=StringIO())
    with ZipFile(tmp_path / "export.zip") as archive:
        assert archive.read(f"artifacts/{row.pk}") == b"lamp,20"


def test_signed_roots_are_kept_in_the_store_and_none_is_written_over(
    transactional_db: None, session: Session, store: ObjectStorage
) -> None:
    key = Ed25519PrivateKey.generate()
    for _ in range(2):
        seal(storage_at("roots"), key)
    assert [root.number for root in roots_at("roots", key.public_key())] == [1, 2]
    assert store.save("root-00000001.txt", ContentFile(b"forged")) != "root-00000001.txt"


def test_an_object_lock_keeps_a_root_that_somebody_deletes_or_writes_over(
    transactional_db: None, session: Session, server: str, settings: Settings
) -> None:
    httpx.post(f"{server}/moto-api/reset")
    use_store(settings, server, bucket_name="roots")
    store = storages["roots"]
    assert isinstance(store, ObjectStorage)
    bucket = store.connection.meta.client
    bucket.create_bucket(Bucket="roots", CreateBucketConfiguration=PLACE, ObjectLockEnabledForBucket=True)
    locked = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}}
    bucket.put_object_lock_configuration(Bucket="roots", ObjectLockConfiguration=locked)
    key = Ed25519PrivateKey.generate()
    (sealed,) = seal(storage_at("roots"), key)
    root = {"Bucket": "roots", "Key": "root-00000001.txt"}
    version = bucket.head_object(**root)["VersionId"]
    with pytest.raises(ClientError, match="AccessDenied"):
        bucket.delete_object(**root, VersionId=version)
    bucket.put_object(**root, Body=b"forged")
    with pytest.raises(InvalidInputError, match="does not have the signature of this key"):
        list(roots_at("roots", key.public_key()))
    kept = bucket.get_object(**root, VersionId=version)["Body"].read()
    assert parse_root(kept, key.public_key(), "root-00000001.txt") == sealed
    # A deletion without a version hides the root behind a mark, and deletes nothing.
    bucket.delete_object(**root)
    assert bucket.get_object(**root, VersionId=version)["Body"].read() == kept


async def save_note(text: str, tool_context: ToolContext) -> str:
    """Save a note."""
    version = await tool_context.save_artifact("note.txt", Part(text=text))
    return f"version {version}"


@pytest.mark.usefixtures("loop_end")
async def test_a_turn_in_which_the_store_goes_down_is_finished_by_a_retry(
    transactional_db: None, store: ObjectStorage, settings: Settings, server: str, served: Served
) -> None:
    person = await User.objects.acreate_user("grace")
    model = ScriptedModel()
    served(LlmAgent(name="clerk", model=model, tools=[save_note]))
    save = call("save_note", text="buy lamps")
    model.turns = [save, save, "Saved."]
    session = await use_cases.create_session(person, "clerk")
    use_store_that_is_down(settings)
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "note it")
    await worker().wait_until_idle()
    failed = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (failed.status, failed.error_message) == ("failed", IN_A_TURN)
    use_store(settings, server)
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    await worker().wait_until_idle()
    assert (await Invocation.objects.aget(invocation_id=invocation_id)).status == "completed"
    row = await Artifact.objects.aget()
    assert await in_thread(row.read) == b"buy lamps"


@pytest.mark.parametrize(
    ("options", "missing"),
    [({"bucket_name": ""}, "no 'bucket_name'"), ({"bucket": "files"}, "bucket"), ({}, "404")],
)
def test_the_check_names_what_is_missing(
    server: str, settings: Settings, options: dict[str, str], missing: str
) -> None:
    httpx.post(f"{server}/moto-api/reset")
    use_store(settings, server, **options)
    found = [error for error in run_checks(include_deployment_checks=True) if "E02" in str(error.id)]
    assert len(found) == 1 and missing in str(found[0].msg)
