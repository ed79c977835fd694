"""Reading of files: places of their passages, hostile files, workers that die, and versions that replace others."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from sessions_app.contrib.knowledge import publishing, read_file, reading
from sessions_app.contrib.knowledge.documents import delete_with_versions
from sessions_app.contrib.knowledge.reading import read_version
from sessions_app.contrib.knowledge.repairs import knowledge_repairs
from sessions_app.models import KnowledgePassage, KnowledgeVersion
from sessions_app.process.sweeping import sweep_over
from sessions_app.process.threads import in_thread
from tests.integration.contrib.knowledge.bases import HANDBOOK, find, make_base, read, upload
from tests.integration.contrib.knowledge.files import docx, paragraph, pdf
from tests.integration.locks import blocked, held

HTML = (
    "<head><title>no</title><body><h1>Shop</h1>Lamps<script>evil()</script>"
    "<h2>Hours</h2><p>Open <b>dai</b>ly<table><tr><td>9<td>17"
)
CSV = "item;price\nlamp;20\ndesk;120\n"


def places(version: KnowledgeVersion) -> list[tuple[str, int | None, str]]:
    assert version.status == "current", version.error
    return list(version.passages.order_by("position").values_list("heading", "page", "text"))


def test_passages_have_the_places_of_their_kind_of_file() -> None:
    base = make_base()
    assert places(read(base, "a.md", HANDBOOK))[2] == (
        "Shop / Refunds / Late returns",
        None,
        "After 14 days a voucher is given.",
    )
    assert places(read(base, "a.html", HTML)) == [
        ("Shop", None, "Lamps"),
        ("Shop / Hours", None, "Open daily\n\n9 | 17"),
    ]
    for encoding in ("latin-1", "xyz", "hex", "idna", "utf-16"):
        page = f"<meta charset={encoding}><p>Grüße".encode("cp1252")
        assert places(read(base, "b.html", page)) == [("", None, "Grüße")], encoding
    word = paragraph("Shop", "Heading1") + paragraph("Lamps") + paragraph("Hours", "Heading2")
    assert places(read(base, "a.docx", docx(word + paragraph("Open daily")))) == [
        ("Shop", None, "Lamps"),
        ("Shop / Hours", None, "Open daily"),
    ]
    assert places(read(base, "a.csv", CSV)) == [
        ("2–3", None, "item: lamp; price: 20\nitem: desk; price: 120")
    ]
    pages = places(read(base, "a.pdf", pdf([("Shop", ["Lamps"]), ("Hours", ["Open daily", "9–17"])])))
    assert pages == [("Shop", 1, "Shop\nLamps"), ("Hours", 2, "Hours\nOpen daily\n9–17")]
    assert places(read(base, "a.txt", "Grüße".encode("cp1252"))) == [("", None, "Grüße")]


def test_a_file_that_somebody_replaced_or_deleted_is_not_read() -> None:
    version = upload(make_base())
    Path(version.file.path).write_text("Pay to another account.")
    read_version(version.pk)
    version.refresh_from_db()
    assert (version.status, version.error) == ("failed", reading.ALTERED)
    assert not version.passages.exists()
    lost = upload(make_base("other"))
    Path(lost.file.path).unlink()
    read_version(lost.pk)
    lost.refresh_from_db()
    assert (lost.status, lost.error) == ("failed", reading.MISSING)


def test_a_version_waits_while_the_storage_is_down(sent: list[int]) -> None:
    base = make_base()
    version = upload(base)
    stored = Path(version.file.path)
    data = stored.read_bytes()
    stored.unlink()
    stored.mkdir()  # No file can be read there.
    for _ in range(4):
        read_version(version.pk)
        KnowledgeVersion.objects.update(sent_at=timezone.now() - timedelta(days=1))
        sweep_over(knowledge_repairs())
    assert sent == [version.pk] * 5
    stored.rmdir()
    stored.write_bytes(data)
    read_version(version.pk)
    assert find("lamps", base) == ["shop.md v1, Shop"]


LAUGHS = "<!DOCTYPE a [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {name} '{f'&{before};' * 10}'>" for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE = {
    "bomb.docx": (
        docx(paragraph("x"), picture=bytes(200 * 1024**2)),
        "unpacks to more than 100 MB",
    ),
    "laughs.docx": (docx(paragraph("&j;"), prolog=f"{LAUGHS}]>"), "damaged"),
    "no.docx": (b"PK\x03\x04 not a zip", "damaged"),
    "broken.pdf": (b"%PDF-1.7\n1 0 obj <</Type /Catalog /Pages 1 0 R>>", "damaged"),
    "empty.pdf": (pdf([("", [])]), "no text"),
    "binary.txt": (b"\x00\x01\x02", "no text"),
    "deep.html": (b"<div>" * 400_000, "no text"),
    "long.txt": (b"word " * 1_200_000, "more than 5,000,000 characters"),
    "slow.md": (b"a**b" * 400_000 + b"[" * 300_000, "too long"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_fails_in_words_and_the_version_before_stays(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The slow file must take longer, on each machine; no other file may, on a busy one.
    monkeypatch.setattr(reading, "READ_SECONDS", 2.0 if name == "slow.md" else 60.0)
    base = make_base()
    suffix = name[name.index(".") :]
    if suffix != ".pdf":
        good = {".docx": docx(paragraph("Good lamp")), ".html": b"Good lamp"}.get(suffix, b"Good lamp")
        read(base, name, good)
    data, reason = HOSTILE[name]
    version = read(base, name, data)
    assert version.status == "failed"
    assert reason in version.error and "Error" not in version.error
    assert not version.passages.exists()
    assert find("lamp", base) == ([f"{name} v1"] if suffix != ".pdf" else [])


def test_the_process_that_reads_a_file_reaches_no_other_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    """A library that a hostile file takes over could do as much as this script."""
    secret = f"{tmp_path}/secret"
    with open(secret, "w") as file:
        file.write("hunter2")
    script = f"{tmp_path}/evil.py"
    with open(script, "w") as file:
        file.write(f"import sys; sys.stdout.write(open({secret!r}).read())")
    monkeypatch.setattr(read_file, "__file__", script)
    caplog.set_level(logging.WARNING)
    version = read(make_base())
    assert (version.status, version.passages.count()) == ("failed", 0)
    assert "PermissionError" in caplog.text and "hunter2" not in caplog.text


def test_a_version_that_a_dead_worker_left_is_read_again(
    sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_base()
    read(base, data="Old lamp", name="a.txt")
    version = upload(base, data="New lamp", name="a.txt")

    def die(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    # In the middle of the transaction that stores the passages.
    with monkeypatch.context() as patched:
        patched.setattr(KnowledgePassage.objects, "bulk_create", die)
        patched.setattr(type(KnowledgePassage.objects), "bulk_create", die)
        with pytest.raises(KeyboardInterrupt):
            read_version(version.pk)
    read_version(version.pk)  # the broker delivers the task twice: nothing is queued
    assert find("lamp", base) == ["a.txt v1"]
    sent.clear()
    sweep_over(knowledge_repairs())
    assert sent == [], "the worker may still read"
    KnowledgeVersion.objects.filter(pk=version.pk).update(started_at=timezone.now() - timedelta(minutes=10))
    sweep_over(knowledge_repairs())
    assert sent == [version.pk]
    read_version(version.pk)
    assert find("lamp", base) == ["a.txt v2"]
    assert KnowledgePassage.objects.count() == 1


def test_a_worker_that_was_taken_for_dead_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    base = make_base()
    version = upload(base)

    def slow(claimed: KnowledgeVersion) -> list[KnowledgePassage]:
        KnowledgeVersion.objects.filter(pk=version.pk).update(status="queued")
        return [KnowledgePassage(version=claimed, position=0, text="late", words="late")]

    with monkeypatch.context() as patched:
        patched.setattr(reading, "_passages", slow)
        read_version(version.pk)
    assert not KnowledgePassage.objects.exists()
    read_version(version.pk)
    assert find("lamps", base) == ["shop.md v1, Shop"]


def test_a_search_sees_all_of_one_version_while_the_next_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Searches run without a pause while versions of ten passages replace each other."""
    base = make_base()
    texts = {
        number: "\n".join(f"# Part {part}\n\nlamp {number}" for part in range(10)) for number in range(8)
    }
    read(base, data=texts[0])
    seen: list[set[str]] = []
    is_done = threading.Event()

    def search() -> None:
        try:
            while not is_done.is_set():
                seen.append({place.split(",")[0] for place in find("lamp", base, limit=10)})
        finally:
            connection.close()

    searcher = threading.Thread(target=search)
    searcher.start()
    try:
        for number in range(1, 8):
            read(base, data=texts[number])
    finally:
        is_done.set()
        searcher.join()
    assert {len(versions) for versions in seen} == {1}
    assert len(set.union(*seen)) > 1, "no search ran between two versions"
    assert KnowledgeVersion.objects.filter(status="current").count() == 1


@pytest.mark.usefixtures("loop_end")
async def test_a_document_is_deleted_while_a_worker_stores_its_passages(sent: list[int]) -> None:
    base = await in_thread(make_base)
    version = await in_thread(upload, base)
    async with held("LOCK TABLE sessions_app_knowledgepassage IN SHARE ROW EXCLUSIVE MODE"):
        reading_it = asyncio.create_task(in_thread(read_version, version.pk))
        await blocked(1)
        deleting = asyncio.create_task(in_thread(delete_with_versions, version.document))
        await blocked(2)
    await reading_it
    assert await deleting
    assert await KnowledgePassage.objects.acount() == 0
    assert not await in_thread(delete_with_versions, version.document)


@pytest.mark.usefixtures("loop_end")
async def test_a_base_is_deleted_while_a_worker_stores_the_passages_of_a_document(
    sent: list[int], admin_client: Client
) -> None:
    base = await in_thread(make_base)
    version = await in_thread(upload, base)
    page = reverse("admin:sessions_app_knowledgebase_delete", args=[base.pk])
    async with held("LOCK TABLE sessions_app_knowledgepassage IN SHARE ROW EXCLUSIVE MODE"):
        reading_it = asyncio.create_task(in_thread(read_version, version.pk))
        await blocked(1)
        deleting = asyncio.create_task(in_thread(admin_client.post, page, {"post": "yes"}))
        await blocked(2)
    await reading_it
    assert (await deleting).status_code == 302
    assert await KnowledgePassage.objects.acount() == await KnowledgeVersion.objects.acount() == 0


def test_an_older_version_that_is_late_does_not_replace_a_newer_one() -> None:
    base = make_base()
    first, second = upload(base, data="First lamp"), upload(base, data="Second lamp")
    read_version(second.pk)
    read_version(first.pk)
    assert find("lamp", base) == ["shop.md v2"]
    first.refresh_from_db()
    assert (first.status, first.passages.count()) == ("replaced", 0)
    assert publishing.publish(first) is False
