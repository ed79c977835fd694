"""Export and erasure of a session or a person in the admin: counts first, a reason, a record, a tombstone, no hold.

From the admin's index each takes three clicks: the list, the link beside the row, the confirmation.
"""

from __future__ import annotations

import hashlib
import json
import re
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runtime.artifacts.referenced_artifacts import ArtifactReference
from sessions_app.models import (
    Event,
    LegalHold,
    SavedCredential,
    Session,
    StaffAccess,
    StaffAct,
    Tombstone,
)
from sessions_app.process import threads
from tests.integration.admin.audit_rows import (
    HOSTILE,
    PARTS_OF_SECRETS,
    append_cut_secrets,
    append_event,
    make_artifact,
    page_of,
    read,
    sign_in,
    text_of,
    tool_url,
)
from tests.integration.admin.test_session_page import append_refund
from tests.integration.tampering import tamper

pytestmark = pytest.mark.usefixtures("transactional_db", "background_end")


@pytest.fixture
def session(person: User) -> Session:
    session = Session.objects.create(app_name="help_desk", user=person, key="s-1", title=HOSTILE)
    append_event(session, {"text": f"Hello {HOSTILE} password=hunter2"}, author="user")
    make_artifact(session, "notes.txt")
    return session


def downloaded(response: Any) -> bytes:
    async def read() -> bytes:
        return b"".join([piece async for piece in response])

    return threads.run(read())


def test_an_archive_has_all_of_the_session_and_is_recorded(client: Client, session: Session) -> None:
    sign_in(client, "session", rights=("view_text", "export_data"))
    assert "1 event" in read(client, tool_url(session, "export"))
    assert client.post(tool_url(session, "export"), {"form": "archive", "reason": ""}).status_code == 200
    assert not StaffAccess.objects.filter(kind="export").exists()
    response = client.post(tool_url(session, "export"), {"form": "archive", "reason": "A court asked."})
    with ZipFile(BytesIO(downloaded(response))) as archive:
        names = set(archive.namelist())
        document = json.loads(archive.read(f"sessions/{session.pk}.json"))
    assert {"manifest.json", "artifacts.json", "invocations.json"} <= names
    assert len(document["events"]) == 1
    row = StaffAccess.objects.get(kind="export")
    assert (row.subject_id, row.reason) == (str(session.pk), "A court asked.")


def test_a_record_is_one_inert_page_whose_name_has_its_hash(client: Client, session: Session) -> None:
    sign_in(client, "session", rights=("view_text", "export_data"))
    tamper(lambda: Event.objects.filter(session=session).update(before={"order": 9}))
    append_event(session, {"text": "Undone words"}, author="user", invocationId="e-2")
    append_event(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-2"})
    response = client.post(tool_url(session, "export"), {"form": "record", "reason": "A court asked."})
    content = downloaded(response)
    html = content.decode()
    assert "Undone words" in html.split("<del>")[1].split("</del>")[0] and html.count("<del>") == 1
    sha256 = hashlib.sha256(content).hexdigest()
    assert sha256 in response["Content-Disposition"]
    assert sha256 in StaffAccess.objects.get(kind="export").detail
    assert HOSTILE not in html and "<script" not in html and "src=" not in html.replace("img src=x", "")
    assert "Hello" in html and "hunter2" not in html
    assert "href=" not in html and "default-src 'none'" in html
    assert "not as it was written" in html


def test_a_record_tells_what_happened_in_its_order_and_names_the_picture_of_a_model(
    client: Client, session: Session
) -> None:
    append_refund(session)
    picture = ArtifactReference("lamp.png", 0, "image/png")
    part = {"fileData": {"fileUri": picture.uri, "mimeType": picture.mime_type}}
    append_event(session, {"text": "This lamp."}, part, actions={"artifactDelta": {"lamp.png": 0}})
    append_event(session, {"text": "Taken back"}, author="user", invocationId="e-3")
    append_event(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-3"})
    append_event(session, {"text": "The end"}, author="user", invocationId="e-4")
    file = make_artifact(session, "lamp.png")
    sign_in(client, "session", "artifact", rights=("view_text", "export_data"))
    record = downloaded(
        client.post(tool_url(session, "export"), {"form": "record", "reason": "A court asked."})
    )
    seen = read(client, page_of(session, "?view=person"))
    told = ["Hello", "Refund", "Approved by", "This lamp.", "lamp.png", "Taken back", "The end"]
    for html in (record.decode(), seen):
        conversation = html.split("<h2>Conversation</h2>")[-1].split('id="timeline"')[-1]
        places = [conversation.index(words) for words in told]
        assert places == sorted(places)
        assert "Taken back" in conversation.split("<del>")[1].split("</del>")[0]
        assert "Refund" in conversation[places[2] : places[3]]  # done, after its approval
    row = reverse("admin:sessions_app_artifact_change", args=[file.pk])
    assert f'<a href="{row}"><bdi>lamp.png</bdi></a>' in text_of(
        read(client, page_of(session)), 'id="event-7"'
    )


@pytest.mark.parametrize("length", range(36, 62, 5))
def test_a_record_shows_no_part_of_a_secret_where_it_shortens_a_text(
    client: Client, session: Session, length: int
) -> None:
    args = {"order_number": f"{'z' * length} sk-{'q7' * 20}"}
    append_event(session, {"functionCall": {"id": "c-1", "name": "refund_order", "args": args}})
    append_cut_secrets(session, length)
    sign_in(client, "session", rights=("view_text", "export_data"))
    form = {"form": "record", "reason": "A court asked."}
    html = downloaded(client.post(tool_url(session, "export"), form)).decode()
    assert "zzz" in html and not any(part in html for part in ("q7q7", *PARTS_OF_SECRETS))


def test_25_an_erasure_shows_counts_asks_why_and_leaves_a_tombstone(client: Client, session: Session) -> None:
    sign_in(client, "session", rights=("view_text", "erase_data"))
    html = read(client, tool_url(session, "erase"))
    assert "1 session, 1 event" in html and "1 artifact" in html
    assert client.post(tool_url(session, "erase"), {"reason": ""}).status_code == 200
    assert Session.objects.filter(pk=session.pk).exists()
    response = client.post(tool_url(session, "erase"), {"reason": "Asked for."}, follow=True)
    assert "Erased: 1 session, 1 event" in response.content.decode()
    assert not Event.objects.filter(session=session.pk).exists()
    tombstone = Tombstone.objects.get()
    assert (tombstone.subject_id, tombstone.reason, tombstone.by.username) == (  # type: ignore[union-attr]
        str(session.pk), "Asked for.", "staff",
    )  # fmt: skip
    act = StaffAct.objects.get()
    assert (act.action, act.subject_kind, act.subject_id) == ("delete", "session", str(session.pk))
    assert client.get(page_of(session)).status_code == 404


def test_a_hold_is_shown_and_blocks_an_erasure_in_the_admin(client: Client, session: Session) -> None:
    sign_in(client, "session", rights=("view_text", "erase_data"))
    assert "legal hold</span>" not in read(client, page_of(session))
    hold = LegalHold.objects.create(user=session.user, reason="A court asked.")
    assert "legal hold</span>" in read(client, page_of(session))
    html = read(client, tool_url(session, "erase"))
    assert f"Nothing may be erased: {hold} is in force." in html and 'name="reason"' not in html
    client.post(tool_url(session, "erase"), {"reason": "Asked for."})
    assert Session.objects.filter(pk=session.pk).exists()
    assert not StaffAct.objects.exists() and not Tombstone.objects.exists()


def test_a_page_that_asks_for_a_reason_leads_back_to_the_list_and_to_the_row(
    client: Client, session: Session
) -> None:
    sign_in(client, "session", rights=("view_text", "erase_data"))
    trail = read(client, tool_url(session, "erase")).split('class="breadcrumbs"')[1].split("</div>")[0]
    links = re.findall(r'href="([^"]+)"', trail)
    assert links[-2:] == [reverse("admin:sessions_app_session_changelist"), page_of(session)]


def test_each_tool_needs_its_own_right_and_is_offered_with_it(client: Client, session: Session) -> None:
    sign_in(client, "session", rights=("view_text",))
    html = read(client, page_of(session))
    hold = f"{reverse('admin:sessions_app_legalhold_add')}?session={session.pk}"
    assert hold not in html
    for name in ("export", "unmask", "erase"):
        assert tool_url(session, name) not in html
        assert client.get(tool_url(session, name)).status_code == 403
        assert client.post(tool_url(session, name), {"reason": "x", "form": "archive"}).status_code == 403
    lists = [reverse("admin:sessions_app_session_changelist") + query for query in ("", "?q=hello")]
    assert not any(tool_url(session, "export") in read(client, url) for url in lists)
    User.objects.update(is_superuser=True)
    html = read(client, page_of(session))
    assert all(tool_url(session, name) in html for name in ("export", "unmask", "erase"))
    assert hold in html and f'value="{session.pk}"' in read(client, hold)
    for html in (read(client, url) for url in lists):
        assert tool_url(session, "export") in html and tool_url(session, "erase") in html


def test_the_data_of_a_person_are_exported_and_erased_from_the_list_of_users(
    client: Client, session: Session
) -> None:
    pages = {
        name: reverse(f"admin:auth_user_{name}", args=[session.user_id]) for name in ("export", "delete")
    }
    users = reverse("admin:auth_user_changelist")
    sign_in(client, "session", "user", rights=("view_text", "delete_user"))
    assert not any(page in read(client, users) for page in pages.values())
    assert client.get(pages["export"]).status_code == 403
    User.objects.update(is_superuser=True)
    html = read(client, users)
    assert all(page in html for page in pages.values())
    assert "1 session, 1 event" in read(client, pages["export"])
    assert client.post(pages["export"], {"reason": ""}).status_code == 200
    assert not StaffAccess.objects.filter(kind="export").exists()
    response = client.post(pages["export"], {"reason": "They asked."})
    with ZipFile(BytesIO(downloaded(response))) as archive:
        assert json.loads(archive.read("person.json"))["id"] == str(session.user_id)
        assert len(json.loads(archive.read(f"sessions/{session.pk}.json"))["events"]) == 1
    row = StaffAccess.objects.get(kind="export")
    assert (row.subject_kind, row.subject_id, row.reason) == ("user", str(session.user_id), "They asked.")
    saved = {"app_name": "shop", "key": "k", "encrypted": "x", "saved_at": timezone.now()}
    SavedCredential.objects.create(user_id=session.user_id, **saved)
    html = read(client, pages["delete"])
    assert "<li>Sessions: 1</li>" in html and "<li>Credentials that tools saved: 1</li>" in html
    assert "Webhooks: 0" not in html, "nothing that the person has not"
    assert "[masked]" not in html
    assert "This field is required" in client.post(pages["delete"], {"reason": " "}).content.decode()
    assert User.objects.filter(pk=session.user_id).exists()
    client.post(pages["delete"], {"reason": "They asked again."})
    assert Tombstone.objects.get(kind="person").reason == "They asked again."
    act = StaffAct.objects.get(action="delete")
    assert (act.subject_kind, act.reason) == ("user", "They asked again.")
    assert not User.objects.filter(pk=session.user_id).exists()
