"""Audit admin: read-only, complete, exact, safe, with a number of queries that does not grow."""

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.db.models import JSONField, Value
from django.db.models.functions import Cast
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import (
    AppState,
    Artifact,
    Event,
    Invocation,
    ScheduledTask,
    Session,
    ToolJob,
    UserState,
)

pytestmark = pytest.mark.django_db

MODELS = ("session", "event", "invocation", "tooljob", "scheduledtask", "artifact", "appstate", "userstate")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()


@pytest.fixture
def person() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key="s-1", title="Broken lamp")


@pytest.fixture
def auditor(client: Client) -> Client:
    """A client signed in as staff with only the permission to view sessions."""
    return sign_in(client, "session")


def sign_in(client: Client, *models: str) -> Client:
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=[f"view_{model}" for model in models]))
    client.force_login(staff)
    return client


def add(
    session: Session, *parts: dict[str, Any], author: str = "agent", before: Any = None, **body: Any
) -> Event:
    """Append an event to the log and apply its delta to the session state."""
    session.last_seq += 1
    actions = body.pop("actions", {})
    session_delta = {k: v for k, v in actions.get("stateDelta", {}).items() if ":" not in k}
    session.state = {**session.state, **session_delta}
    session.save()
    body = {"id": f"id-{session.last_seq}", "invocationId": "e-1", "actions": actions, **body}
    body |= {"author": author, "timestamp": START + session.last_seq * 2.5}
    if parts:
        body["content"] = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return Event.objects.create(session=session, seq=session.last_seq, body=body, before=before)


def page_of(session: Session, query: str = "") -> str:
    return reverse("admin:sessions_app_session_change", args=[session.pk]) + query


def read(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200, response
    return response.content.decode()


def text_of(html: str, start: str, end: str = "</details>") -> str:
    """Return the HTML between two marks, without line breaks and spaces beside the tags."""
    return " ".join(html.split(start, 1)[1].split(end, 1)[0].split()).replace("> ", ">").replace(" <", "<")


# Permissions


def admin_urls(session: Session) -> list[str]:
    event = session.events.get(seq=1)
    return [
        *[reverse(f"admin:sessions_app_{model}_changelist") for model in MODELS],
        page_of(session),
        reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1]),
        reverse("admin:sessions_app_event_change", args=[event.pk]),
    ]


def test_users_who_are_not_staff_are_redirected_to_the_login(
    client: Client, session: Session, person: User
) -> None:
    add(session, {"text": "Hello"})
    for user in (None, person):
        if user:
            client.force_login(user)
        for url in admin_urls(session):
            response = client.get(url)
            assert response.status_code == 302, url
            assert "/admin/login/" in response["Location"]


def test_staff_without_the_permission_gets_403_at_every_address(client: Client, session: Session) -> None:
    add(session, {"text": "Hello"})
    sign_in(client)
    assert {client.get(url).status_code for url in admin_urls(session)} == {403}


def test_the_view_permission_is_enough(client: Client, session: Session) -> None:
    add(session, {"text": "Hello"})
    sign_in(client, *MODELS)
    assert [client.get(url).status_code for url in admin_urls(session)] == [200] * 10 + [302]


@pytest.mark.parametrize("model", MODELS)
def test_nobody_adds_changes_or_deletes_not_even_a_superuser(
    client: Client, session: Session, person: User, model: str
) -> None:
    row = create_one_of_each(session, person)[model]
    client.force_login(User.objects.create_superuser("root"))
    name = f"admin:sessions_app_{model}"
    for url in (
        reverse(f"{name}_add"),
        reverse(f"{name}_change", args=[row.pk]),
        reverse(f"{name}_delete", args=[row.pk]),
        reverse(f"{name}_changelist"),
    ):
        forged = {"post": "yes", "action": "delete_selected", "_selected_action": [row.pk], "title": "forged"}
        assert client.post(url, forged).status_code == 403, url
    assert type(row).objects.filter(pk=row.pk).exists()
    assert client.get(reverse(f"{name}_changelist")).status_code == 200
    assert client.get(reverse(f"{name}_change", args=[row.pk]), follow=True).status_code == 200


def test_downloads_are_read_only_too(client: Client, session: Session, person: User) -> None:
    rows = create_one_of_each(session, person)
    client.force_login(User.objects.create_superuser("root"))
    assert (
        client.post(reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1])).status_code == 403
    )
    download = reverse("admin:sessions_app_artifact_download", args=[rows["artifact"].pk])
    assert client.post(download).status_code == 403


def create_one_of_each(session: Session, person: User) -> dict[str, Any]:
    return {
        "session": session,
        "event": add(session, {"functionCall": {"id": "c-1", "name": "report", "args": {}}}),
        "invocation": Invocation.objects.create(
            session=session, invocation_id="e-1", client_id="m-1", message={}
        ),
        "tooljob": make_job(session),
        "scheduledtask": make_scheduled_task(session),
        "artifact": make_artifact(session, "notes.txt"),
        "appstate": AppState.objects.create(app_name="help_desk", state={"total": 2}),
        "userstate": UserState.objects.create(app_name="help_desk", user=person, state={"name": "Ada"}),
    }


def make_job(session: Session, **values: Any) -> ToolJob:
    names = {
        "invocation_id": "e-1",
        "call_id": "c-1",
        "tool_name": "report",
        "task_name": "t",
        "agent_name": "a",
    }
    return ToolJob.objects.create(session=session, **{**names, **values})


def make_scheduled_task(session: Session, **values: Any) -> ScheduledTask:
    start = datetime.fromtimestamp(START, UTC)
    defaults = {
        "invocation_id": "e-1",
        "call_id": "c-1",
        "agent_name": "a",
        "task": "Water the plants",
        "start_at": start,
        "next_at": start + timedelta(days=2),
        "every": "0 9 * * 1-5",
        "time_zone": "Europe/Berlin",
    }
    return ScheduledTask.objects.create(session=session, **{**defaults, **values})


def make_artifact(session: Session, filename: str, content: bytes = b"Hello", version: int = 0) -> Artifact:
    return Artifact.objects.create(
        app_name=session.app_name,
        user_id=session.user_id,
        session=None if filename.startswith("user:") else session,
        filename=filename,
        version=version,
        mime_type="text/html",
        part_kind="blob",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        file=ContentFile(content, "x"),
    )


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path


# The timeline


def test_events_are_listed_in_order_with_time_gap_author_kind_text_and_tokens(
    auditor: Client, session: Session
) -> None:
    add(session, {"text": "Why is it dark?"}, author="user")
    add(session, {"text": "Let me see."}, usageMetadata={"promptTokenCount": 120, "candidatesTokenCount": 7})
    html = read(auditor, page_of(session))
    assert html.index('id="event-1"') < html.index('id="event-2"')
    second = text_of(html, 'id="event-2"', "</summary>")
    for text in ("09:00:05", "+2.5 s", "<bdi>agent</bdi>", "message", "Let me see.", "120 &rarr; 7"):
        assert text in second
    assert '<span class="audit-gap"></span>' in text_of(html, 'id="event-1"', "</summary>")


def test_a_call_and_its_response_show_arguments_and_result_and_point_to_each_other(
    auditor: Client, session: Session
) -> None:
    add(session, {"functionCall": {"id": "c-1", "name": "look_up", "args": {"city": "Rome"}}})
    add(session, {"functionResponse": {"id": "c-1", "name": "look_up", "response": {"result": 21}}})
    html = read(auditor, page_of(session))
    assert "look_up(city=&quot;Rome&quot;)" in text_of(html, 'id="event-1"', "</summary>")
    assert 'href="?event=2#event-2">answered in #2' in text_of(html, 'id="event-1"')
    assert 'href="?event=1#event-1">asked for in #1' in text_of(html, 'id="event-2"')
    assert "&quot;result&quot;: 21" in text_of(html, 'id="event-2"')


def test_a_response_on_another_page_is_found_too(auditor: Client, session: Session) -> None:
    add(session, {"functionCall": {"id": "c-1", "name": "look_up", "args": {}}})
    for _ in range(100):
        add(session, {"text": "…"})
    add(session, {"functionResponse": {"id": "c-1", "name": "look_up", "response": {}}})
    assert "answered in #102" in read(auditor, page_of(session))
    assert "asked for in #1<" in read(auditor, page_of(session, "?page=last"))


def test_errors_transfers_and_unknown_parts_are_shown(auditor: Client, session: Session) -> None:
    add(session, errorCode="SAFETY", errorMessage="It was blocked.")
    add(session, {"text": "Over to you"}, actions={"transferToAgent": "billing"})
    add(
        session,
        {"inlineData": {"mimeType": "image/png", "data": "QUJD" * 500}},
        {"executableCode": {"code": "1+1"}},
    )
    html = read(auditor, page_of(session))
    assert "SAFETY: It was blocked." in text_of(html, 'id="event-1"', "</summary>")
    assert "transfers to billing" in text_of(html, 'id="event-2"', "</summary>")
    third = text_of(html, 'id="event-3"')
    assert "image/png, about 1500 bytes" in third
    assert "1+1" in third


def test_malformed_events_do_not_break_the_page(auditor: Client, session: Session) -> None:
    for body in ({}, {"content": None, "actions": None}, {"content": {"parts": [{}, {"text": ""}]}}):
        session.last_seq += 1
        Event.objects.create(session=session, seq=session.last_seq, body=body)
    session.save()
    assert 'id="event-3"' in read(auditor, page_of(session))


def test_a_page_has_100_events_and_a_link_to_the_newest(auditor: Client, session: Session) -> None:
    for _ in range(205):
        add(session, {"text": "…"})
    first = read(auditor, page_of(session))
    assert first.count('class="audit-event"') == 100
    assert 'href="?page=last#timeline"' in first
    assert read(auditor, page_of(session, "?page=last")).count('class="audit-event"') == 5


def test_a_permalink_opens_the_page_with_its_event(auditor: Client, session: Session) -> None:
    for _ in range(205):
        add(session, {"text": "…"})
    html = read(auditor, page_of(session, "?event=101"))
    assert 'id="event-101" open' in html
    assert 'id="event-100"' not in html


def test_events_are_filtered_by_kind_author_and_invocation(auditor: Client, session: Session) -> None:
    add(session, {"text": "one"}, author="user")
    add(session, {"text": "two"}, author="agent")
    add(session, {"functionCall": {"id": "c", "name": "f"}}, author="agent", invocationId="e-2")
    for query, seqs in (
        ("?kind=call", [3]),
        ("?author=user", [1]),
        ("?author=agent&kind=message", [2]),
        ("?invocation=e-2", [3]),
        ("?invocation=nobody", []),
    ):
        html = read(auditor, page_of(session, query))
        assert [seq for seq in (1, 2, 3) if f'id="event-{seq}"' in html] == seqs, query


@pytest.mark.parametrize(
    "query",
    ["?kind=nonsense", "?author=%00", "?at=-1", "?at=x", "?event=9" + "9" * 30, "?page=0", "?page=7e9"],
)
def test_an_invalid_query_string_still_shows_the_page(auditor: Client, session: Session, query: str) -> None:
    add(session, {"text": "one"})
    assert 'id="event-1"' in read(auditor, page_of(session, query))


def test_an_unknown_session_or_event_is_not_found(auditor: Client, session: Session) -> None:
    session.pk = uuid.uuid4()
    assert auditor.get(page_of(session)).status_code == 404
    assert auditor.get(reverse("admin:sessions_app_session_change", args=["nonsense"])).status_code == 404
    assert (
        auditor.get(reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1])).status_code == 404
    )


# State


def test_each_event_shows_its_state_changes_with_the_values_recorded_at_its_commit(
    auditor: Client, session: Session
) -> None:
    delta = {"topic": "lamps", "app:total": 2, "user:name": "Ada"}
    add(session, before={"app:total": 1}, actions={"stateDelta": delta})
    table = text_of(read(auditor, page_of(session)), '<table class="audit-diff">', "</table>")
    dash = '<span title="The key was new">&mdash;</span>'
    for key, scope, before, after in (
        ("topic", "session", dash, "&quot;lamps&quot;"),
        ("app:total", "app", '<pre class="audit-value">1</pre>', "2"),
        ("user:name", "user", dash, "&quot;Ada&quot;"),
    ):
        row = f'<code>{key}</code></th><td>{scope}</td><td>{before}</td><td><pre class="audit-value">{after}</pre>'
        assert row in table


def test_the_state_after_each_event_is_shown(auditor: Client, session: Session) -> None:
    session.initial_state = session.state = {"step": 0}
    for step in (1, 2, 3):
        add(session, actions={"stateDelta": {"step": step, "user:seen": step}})
    for at in (0, 1, 2):
        state = text_of(read(auditor, page_of(session, f"?at={at}")), 'id="state"', "</section>")
        assert f'<pre class="audit-value">{at}</pre>' in state
        assert f'rel="next" href="?at={at + 1}#state"' in state
        assert "the stored state" not in state
    assert "user:seen" not in text_of(read(auditor, page_of(session, "?at=0")), 'id="state"', "</section>")


def test_at_the_last_event_the_replay_is_compared_with_the_stored_state(
    auditor: Client, session: Session
) -> None:
    add(session, actions={"stateDelta": {"step": 1, "app:total": 5}})
    html = read(auditor, page_of(session, "?at=1"))
    assert "Equal to the stored state" in html
    assert "<code>app:total</code></th><td>app</td>" in text_of(html, 'id="state"', "</section>")
    Session.objects.filter(pk=session.pk).update(state={"step": 2})
    assert "Different from the stored state" in read(auditor, page_of(session, "?at=1"))


def test_rewound_events_are_shown_and_marked(auditor: Client, session: Session) -> None:
    for seq in (1, 2, 3):
        add(session, {"text": f"text {seq}"}, author="user", invocationId=f"e-{seq}")
    add(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-2"})
    add(session, {"text": "text 5"}, author="user", invocationId="e-5")
    html = read(auditor, page_of(session))
    assert re.findall(r'id="event-(\d)"( data-rewound)?', html) == [
        ("1", ""),
        ("2", " data-rewound"),
        ("3", " data-rewound"),
        ("4", ""),
        ("5", ""),
    ]
    assert "text 2" in html and "rewinds before e-2" in html
    assert html.count("rewound by #4") == 2 and html.count('href="?event=4#event-4">The rewind') == 2


def test_a_missing_event_is_reported(auditor: Client, session: Session) -> None:
    for _ in range(3):
        add(session, {"text": "…"})
    assert "numbered without a gap" in read(auditor, page_of(session))
    session.events.filter(seq=2).delete()
    assert "are not numbered from 1 to 3 without a gap" in read(auditor, page_of(session))


# Raw


def test_the_raw_json_equals_the_stored_json_to_the_last_digit(auditor: Client, session: Session) -> None:
    add(session, {"text": "…"})
    stored = (
        '{"text": "ü 💡", "pi": 3.10, "big": 12345678901234567890.123456789012345678901, "nothing": null}'
    )
    session.events.update(body=Cast(Value(stored), JSONField()))
    response = auditor.get(reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1]))
    assert json.loads(response.content, parse_float=str) == json.loads(stored, parse_float=str)
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"
    html = read(auditor, page_of(session))
    for text in ("&quot;pi&quot;: 3.10", "12345678901234567890.123456789012345678901", "ü 💡"):
        assert text in html


# Invocations, jobs, files


def test_the_page_lists_the_invocations_and_jobs_of_the_session(client: Client, session: Session) -> None:
    sign_in(client, "session", "invocation", "tooljob")
    add(
        session,
        {"functionCall": {"id": "c-1", "name": "report"}},
        usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 2},
    )
    invocation = Invocation.objects.create(
        session=session,
        invocation_id="e-1",
        client_id="m",
        message={},
        status="failed",
        error_message="Lost it.",
    )
    job = make_job(session, status="running", progress_done=2, progress_total=8, progress_message="Counting")
    html = read(client, page_of(session))
    table = text_of(html, 'id="invocations"', "</section>")
    for text in (
        reverse("admin:sessions_app_invocation_change", args=[invocation.pk]),
        "Lost it.",
        "failed",
        "5 &rarr; 2",
    ):
        assert text in table
    table = text_of(html, 'id="jobs"', "</section>")
    for text in (
        reverse("admin:sessions_app_tooljob_change", args=[job.pk]),
        'value="25"',
        "Counting",
        "running",
    ):
        assert text in table
    assert "/chat/" not in html


def test_a_job_and_an_invocation_link_to_their_events(client: Client, session: Session) -> None:
    sign_in(client, "tooljob", "invocation")
    add(session, {"text": "Hello"})
    add(session, {"functionCall": {"id": "c-1", "name": "report"}})
    job = make_job(
        session, status="failed", error="Out of paper", attempts=3, worker="w@1", result={"pages": 3}
    )
    html = read(client, reverse("admin:sessions_app_tooljob_change", args=[job.pk]))
    for text in (page_of(session, "?event=2#event-2"), "Out of paper", "w@1", "&quot;pages&quot;: 3"):
        assert text in html
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={"parts": []}
    )
    html = read(client, reverse("admin:sessions_app_invocation_change", args=[invocation.pk]))
    assert page_of(session, "?invocation=e-1") in html


def test_the_artifacts_of_an_event_can_be_downloaded(client: Client, session: Session) -> None:
    sign_in(client, "session", "artifact")
    artifact = make_artifact(session, "page.html", b"<script>alert(1)</script>", version=1)
    user_artifact = make_artifact(session, "user:me.txt")
    add(session, actions={"artifactDelta": {"page.html": 1, "user:me.txt": 0, "gone.txt": 4}})
    html = text_of(read(client, page_of(session)), 'id="event-1"')
    for row in (artifact, user_artifact):
        assert reverse("admin:sessions_app_artifact_change", args=[row.pk]) in html
    assert "no longer stored" in html
    page = read(client, reverse("admin:sessions_app_artifact_change", args=[artifact.pk]))
    assert artifact.sha256 in page
    response = client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk]))
    assert b"".join(response) == b"<script>alert(1)</script>"
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"] == 'attachment; filename="page.html"'
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_download_needs_the_permission_to_view_artifacts(auditor: Client, session: Session) -> None:
    artifact = make_artifact(session, "notes.txt")
    assert auditor.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk])).status_code == 403


def test_an_artifact_whose_file_is_missing_is_not_found(client: Client, session: Session) -> None:
    sign_in(client, "artifact")
    artifact = make_artifact(session, "notes.txt")
    artifact.file.delete(save=False)
    assert client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk])).status_code == 404


def test_a_hostile_file_name_cannot_end_a_header(client: Client, session: Session) -> None:
    sign_in(client, "artifact")
    artifact = make_artifact(session, 'a/b"\r\nSet-Cookie: x=1.txt')
    response = client.get(reverse("admin:sessions_app_artifact_download", args=[artifact.pk]))
    response.close()
    assert response["Content-Disposition"] == 'attachment; filename="b\\"__Set-Cookie: x=1.txt"'


# Safety


def test_hostile_text_is_escaped_on_every_page_and_no_style_or_script_is_inline(
    client: Client, person: User
) -> None:
    sign_in(client, *MODELS)
    session = Session.objects.create(
        app_name=HOSTILE, user=person, key=HOSTILE, title=HOSTILE, state={HOSTILE: HOSTILE}
    )
    session.initial_state = session.state
    add(
        session,
        {"text": HOSTILE},
        author=HOSTILE,
        invocationId=HOSTILE,
        errorCode=HOSTILE,
        errorMessage=HOSTILE,
    )
    delta = {HOSTILE: HOSTILE, f"app:{HOSTILE}": HOSTILE}
    call = {"functionCall": {"id": "c-1", "name": HOSTILE, "args": {HOSTILE: HOSTILE}}}
    add(session, call, before=delta, actions={"stateDelta": delta, "artifactDelta": {HOSTILE: 0}})
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={"t": HOSTILE}, error_message=HOSTILE
    )
    job = make_job(session, tool_name=HOSTILE, error=HOSTILE, args={"a": HOSTILE}, progress_message=HOSTILE)
    artifact = make_artifact(session, HOSTILE)
    state = AppState.objects.create(app_name=HOSTILE, state=delta)
    UserState.objects.create(app_name=HOSTILE, user=person, state=delta)
    pages = [
        *[reverse(f"admin:sessions_app_{model}_changelist") for model in MODELS],
        page_of(session, "?at=2"),
        reverse("admin:sessions_app_invocation_change", args=[invocation.pk]),
        reverse("admin:sessions_app_tooljob_change", args=[job.pk]),
        reverse("admin:sessions_app_artifact_change", args=[artifact.pk]),
        reverse("admin:sessions_app_appstate_change", args=[quote(state.pk)]),
    ]
    for url in pages:
        response = client.get(url)
        html = response.content.decode()
        assert response.status_code == 200, url
        assert "alert(1)" in html or "alert(2)" in html, url
        assert "<script>" not in html, url
        assert "<img src=x" not in html, url
        assert "<style" not in html, url
        assert " style=" not in html, url
        assert "script-src 'self'" in response["Content-Security-Policy"]


# Search


def listed(client: Client, query: str) -> set[str]:
    html = read(client, reverse("admin:sessions_app_session_changelist") + query)
    return {session.key for session in Session.objects.all() if f"/session/{session.pk}/change/" in html}


def test_sessions_are_found_by_title_key_user_text_and_ids(auditor: Client, session: Session) -> None:
    other = Session.objects.create(
        app_name="shop", user=User.objects.create_user("bob"), key="s-2", title="Order"
    )
    event = add(session, {"text": "The filament is 100% gone"}, author="user")
    add(other, {"text": "Two boxes, please"})
    Invocation.objects.create(session=other, invocation_id="e-77", client_id="m", message={})
    assert listed(auditor, "") == {"s-1", "s-2"}
    for words, found in (
        ("broken", {"s-1"}),
        ("s-2", {"s-2"}),
        ("bob", {"s-2"}),
        ("FILAMENT is", {"s-1"}),
        ("100%25+gone", {"s-1"}),
        ("e-77", {"s-2"}),
        (str(other.pk), {"s-2"}),
        (event.body["id"], {"s-1", "s-2"}),
        ("nothing like it", set()),
    ):
        assert listed(auditor, f"?q={words}") == found, words


def test_sessions_are_filtered_by_app_and_by_invocation_status(auditor: Client, session: Session) -> None:
    Session.objects.create(app_name="shop", user=session.user, key="s-2")
    Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={}, status="waiting"
    )
    assert listed(auditor, "?app_name=shop") == {"s-2"}
    assert listed(auditor, "?status=waiting") == {"s-1"}
    assert listed(auditor, "?status=running") == set()
    html = read(auditor, reverse("admin:sessions_app_session_changelist"))
    assert html.count('data-status="waiting"') == 1


def test_the_list_of_events_summarizes_each_event_and_links_to_its_session(
    client: Client, session: Session
) -> None:
    sign_in(client, "event")
    add(session, {"functionResponse": {"id": "c-1", "name": "look_up", "response": {"result": 21}}})
    html = read(client, reverse("admin:sessions_app_event_changelist"))
    assert page_of(session, "?event=1#event-1") in html
    assert "look_up → { &quot;result&quot;: 21 }" in html
    assert "look_up" not in read(client, reverse("admin:sessions_app_event_changelist") + "?kind=call")


# Speed


def rich_session(person: User, key: str, events: int) -> Session:
    """Create a session with `events` rows of each kind that a page looks up."""
    session = Session.objects.create(app_name="help_desk", user=person, key=key)
    for n in range(events):
        call = {"functionCall": {"id": f"c-{n}", "name": "report", "args": {}}}
        add(
            session,
            call,
            actions={"stateDelta": {"n": n}, "artifactDelta": {f"f-{n}": 0}},
            invocationId=f"{key}-{n}",
        )
        Invocation.objects.create(session=session, invocation_id=f"{key}-{n}", client_id=f"m-{n}", message={})
        make_job(session, call_id=f"c-{n}", invocation_id=f"{key}-{n}")
        make_scheduled_task(session, call_id=f"c-{n}", invocation_id=f"{key}-{n}")
        make_artifact(session, f"f-{n}")
    return session


def test_scheduled_tasks_are_shown_on_the_page_of_their_session_and_on_their_own(
    client: Client, session: Session, person: User
) -> None:
    add(session, {"functionCall": {"id": "c-1", "name": "schedule_task", "args": {}}})
    active = make_scheduled_task(session)
    run = {"invocation_id": "e-7", "client_id": f"schedule:{active.pk}:1", "message": {}}
    Invocation.objects.create(session=session, **run)
    cancelled = {"cancelled_at": active.start_at, "cancelled_by": person, "next_at": None}
    make_scheduled_task(session, call_id="c-2", task=HOSTILE, **cancelled)
    sign_in(client, *MODELS)
    page = read(client, page_of(session))
    table = text_of(page, 'id="scheduled-tasks"', "</section>")
    task_page = reverse("admin:sessions_app_scheduledtask_change", args=[active.pk])
    assert f'href="{task_page}"' in table and "2026-11-23 09:00:00" in table
    assert "every weekday at 09:00 (Europe/Berlin)" in table and "by ada" in table
    assert HOSTILE not in page and 'href="#scheduled-tasks">2 scheduled tasks<' in page
    assert page_of(session, "?event=1#event-1") in read(client, task_page)
    assert page_of(session, "?invocation=e-7") in read(client, task_page)


def test_the_number_of_queries_of_a_session_page_does_not_grow(
    auditor: Client, person: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    few, many = rich_session(person, "few", 2), rich_session(person, "many", 30)
    for session in (few, many):
        with django_assert_num_queries(20):
            auditor.get(page_of(session, "?at=2"))


@pytest.mark.parametrize("model", MODELS)
def test_the_number_of_queries_of_a_list_does_not_grow(
    client: Client, person: User, model: str, count_queries: Callable[[str], int]
) -> None:
    sign_in(client, *MODELS)
    url = reverse(f"admin:sessions_app_{model}_changelist")
    rich_session(person, "s-1", 2)
    few = count_queries(url)
    for n in range(5):
        rich_session(User.objects.create_user(f"u{n}"), f"s-{n + 2}", 3)
    assert count_queries(url) == few


@pytest.fixture
def count_queries(client: Client, django_assert_max_num_queries: Any) -> Callable[[str], int]:
    def count(url: str) -> int:
        with django_assert_max_num_queries(12) as queries:
            read(client, url)
        return len(queries)

    return count
