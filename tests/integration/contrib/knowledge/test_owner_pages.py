"""Pages on which the owners of a base upload, replace and delete documents: only they, and only in their bases."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from sessions_app.contrib.knowledge.reading import read_version
from sessions_app.models import AccountAct, KnowledgeBase, KnowledgeDocument, KnowledgeVersion
from tests.integration.contrib.knowledge.bases import find, make_base, read


@pytest.fixture
def base(person: User, client: Client) -> KnowledgeBase:
    owners = Group.objects.create(name="editors")
    person.groups.add(owners)
    client.force_login(person)
    return make_base(owners=owners)


def send(
    client: Client, base: KnowledgeBase, name: str = "shop.txt", text: str = "Lamps", document: object = ""
) -> str:
    """Upload a file; return the page that follows, on one line."""
    values = {"file": SimpleUploadedFile(name, text.encode()), "document": str(document)}
    response = client.post(reverse("chat:knowledge_base", args=[base.pk]), values, follow=True)
    return " ".join(response.content.decode().split())


def page_of(client: Client, base: KnowledgeBase) -> str:
    response = client.get(reverse("chat:knowledge_base", args=[base.pk]))
    return " ".join(response.content.decode().split())


def test_an_owner_uploads_replaces_and_deletes_a_document(
    person: User, client: Client, base: KnowledgeBase, sent: list[int]
) -> None:
    make_base("of others")
    settings = client.get(reverse("chat:settings")).content.decode()
    listed = client.get(reverse("chat:knowledge")).content.decode()
    assert reverse("chat:knowledge") in settings and "handbook" in listed and "of others" not in listed
    page = send(client, base)
    document = base.documents.get()
    assert "The file is uploaded." in page and "Version 1: waits to be read" in page
    read_version(sent[0])
    assert "Version 1: in use" in page_of(client, base) and find("lamps", base)
    send(client, base, "other name.TXT", "Desks", document.pk)
    assert "Version 2: waits" in page_of(client, base) and find("lamps", base), "the old one is in use"
    read_version(sent[1])
    assert find("desks", base) and not find("lamps", base)
    assert base.documents.get() == document
    client.post(reverse("chat:delete_document", args=[base.pk, document.pk]))
    assert not find("desks", base) and not KnowledgeVersion.objects.exists()
    acts = AccountAct.objects.filter(user=person, subject_kind="knowledgedocument").order_by("pk")
    assert list(acts.values_list("action", flat=True)) == ["add", "add", "delete"]


def test_a_file_that_cannot_be_taken_or_read_gets_a_sentence(client: Client, base: KnowledgeBase) -> None:
    document = read(base, "shop.txt", "Lamps").document
    client.cookies["django_language"] = "de"
    assert "Der Name der Datei endet auf keines von" in send(client, base, "shop.exe")
    assert "ihr Name muss auf .txt enden" in send(client, base, "shop.md", document=document.pk)
    assert "wurde inzwischen gelöscht" in send(client, base, document=10**30)
    assert KnowledgeVersion.objects.count() == 1
    read(base, "<b>.pdf", "no PDF")
    page = page_of(client, base)
    assert "konnte nicht gelesen werden. Die Datei ist beschädigt oder keine Datei vom Typ .pdf." in page
    assert "&lt;b&gt;.pdf" in page and "<b>.pdf" not in page


def test_nobody_else_sees_or_changes_a_base(person: User, client: Client, base: KnowledgeBase) -> None:
    document = read(base, "shop.txt", "Lamps").document
    foreign = read(make_base("of others"), "rules.txt", "Rules").document
    assert "deleted meanwhile" in send(client, base, document=foreign.pk), "a document of another base"
    client.post(reverse("chat:delete_document", args=[base.pk, foreign.pk]))
    urls = [
        reverse("chat:knowledge_base", args=[base.pk]),
        reverse("chat:delete_document", args=[base.pk, document.pk]),
    ]
    person.groups.clear()
    for user in (person, User.objects.create_user("root", is_superuser=True, is_staff=True)):
        client.force_login(user)
        assert [
            client.post(url, {"file": SimpleUploadedFile("a.txt", b"A")}).status_code for url in urls
        ] == [
            404,
            404,
        ]
        assert client.get(urls[0]).status_code == 404
        assert "handbook" not in client.get(reverse("chat:knowledge")).content.decode()
        assert reverse("chat:knowledge") not in client.get(reverse("chat:settings")).content.decode()
    assert KnowledgeDocument.objects.count() == KnowledgeVersion.objects.count() == 2
