"""Access log: what staff read of conversations is recorded with who, when, from where and why; nobody changes it."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission, User
from django.http import FileResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from sessions_app.data_protection.leftovers import delete_old_accesses
from sessions_app.history import word_search
from sessions_app.models import AccessKind, AnswerRequest, Invocation, Session, StaffAccess, StaffAct
from tests.integration.admin.audit_rows import (
    HOSTILE,
    MODELS,
    append_event,
    create_one_of_each,
    list_url,
    make_job,
    page_of,
    read,
    sign_in,
    tool_url,
)

pytestmark = pytest.mark.django_db
ADDRESS = "203.0.113.7"
KEY = "hunter2-and-more"


@pytest.fixture(autouse=True)
def address(client: Client) -> None:
    client.defaults["REMOTE_ADDR"] = ADDRESS


def make_request(session: Session) -> AnswerRequest:
    names = {"session": session, "invocation_id": "e-9"}
    Invocation.objects.create(client_id="m-9", message={}, status="waiting", **names)
    return AnswerRequest.objects.create(
        **names, call_id="c-9", kind="confirmation", agent_name="a", tool_name="pay", effect="Pay 7",
        answered_by="person", asked_at=timezone.now(),
    )  # fmt: skip


def accesses() -> list[tuple[str, str, str]]:
    return list(StaffAccess.objects.order_by("pk").values_list("kind", "subject_kind", "subject_id"))


def test_18_each_way_to_read_leaves_a_row(client: Client, session: Session, person: User) -> None:
    append_event(session, {"text": "Hello"}, author="user")
    rows = create_one_of_each(session, person)
    asked = make_request(session)
    inbox = "admin:sessions_app_answerrequest"
    rights = ("view_text", "export_data", "correct_state", "approve_answerrequest")
    sign_in(client, *MODELS, "answerrequest", rights=rights)
    urls: list[tuple[str, tuple[str, str, str]]] = [
        (page_of(session), ("open", "session", str(session.pk))),
        (tool_url(session, "trace") + "?invocation=e-1", ("open", "session", str(session.pk))),
        (tool_url(session, "state"), ("open", "session", str(session.pk))),
        (tool_url(session, "state") + "?key=total", ("open", "session", str(session.pk))),
        (reverse(f"{inbox}_change", args=[asked.pk]), ("open", "session", str(session.pk))),
        (
            reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1]),
            ("open", "session", str(session.pk)),
        ),
        (
            reverse("admin:sessions_app_artifact_download", args=[rows["artifact"].pk]),
            ("download", "artifact", str(rows["artifact"].pk)),
        ),
        (reverse("admin:sessions_app_session_csv"), ("export", "session", "")),
        *[
            (
                reverse(f"admin:sessions_app_{model}_change", args=[rows[model].pk]),
                ("open", model, str(rows[model].pk)),
            )
            for model in ("tooljob", "invocation", "artifact", "scheduledtask", "feedback", "userstate")
        ],
        *[
            (reverse(f"admin:sessions_app_{model}_changelist") + "?q=lamp", ("search", model, ""))
            for model in ("session", "event", "tooljob")
        ],
    ]
    for url, expected in urls:
        StaffAccess.objects.all().delete()
        response = client.get(url)
        assert response.status_code == 200, url
        assert accesses() == [expected], url
        if isinstance(response, FileResponse):
            list(response)  # Reads the file to its end, which closes it.
    row = StaffAccess.objects.get()
    assert (row.actor_kind, row.actor_name, row.address, row.detail) == ("staff", "staff", ADDRESS, "lamp")
    assert timezone.now() - row.at < timedelta(minutes=1)
    StaffAccess.objects.all().delete()
    for url in (reverse(f"{inbox}_answer", args=[asked.pk]), tool_url(session, "state") + "?key=total"):
        assert client.post(url, {"answer": "perhaps", "key": "total"}).status_code == 200
    assert list(StaffAccess.objects.order_by("pk").values_list("subject_id", "detail")) == [
        (str(session.pk), "inbox"),
        (str(session.pk), "state"),
    ]


def test_the_row_of_an_app_is_recorded_by_the_name_of_the_app(
    client: Client, session: Session, person: User
) -> None:
    app = create_one_of_each(session, person)["appstate"].pk
    sign_in(client, "appstate")
    read(client, reverse("admin:sessions_app_appstate_change", args=[quote(app)]))
    assert "_" in app and accesses() == [("open", "appstate", app)]


def test_what_is_refused_or_has_no_words_leaves_no_row(
    client: Client, session: Session, person: User
) -> None:
    rows = create_one_of_each(session, person)
    sign_in(client, "session", "invocation", "tooljob", rights=())
    client.get(page_of(session))
    client.get(reverse("admin:sessions_app_tooljob_change", args=[rows["tooljob"].pk]))
    client.get(reverse("admin:sessions_app_session_changelist") + "?q=lamp")
    client.get(reverse("admin:sessions_app_session_changelist"))
    client.force_login(User.objects.create_superuser("root"))
    for name in ("news", "integrity"):
        assert client.get(tool_url(rows["session"], name)).status_code == 200
    for model in ("tooljob", "invocation"):
        assert (
            client.get(reverse(f"admin:sessions_app_{model}_live", args=[rows[model].pk])).status_code == 200
        )
    assert accesses() == []


def test_no_search_goes_round_the_log(client: Client, session: Session, person: User) -> None:
    """Django's autocomplete view searches all models that others refer to, and records nothing."""
    append_event(session, {"text": "the lamp"}, author="user")
    make_job(session, error="the lamp")
    client.force_login(User.objects.create_superuser("root"))
    for model, field in (("event", "session"), ("answerrequest", "job")):
        query = {"app_label": "sessions_app", "model_name": model, "field_name": field, "term": "lamp"}
        assert client.get(reverse("admin:autocomplete"), query).status_code == 404, model
    assert accesses() == []


def test_what_cannot_be_recorded_is_not_shown(
    auditor: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_event(session, {"text": "Hello"}, author="user")

    def fail(**values: Any) -> None:
        raise RuntimeError("The log is full.")

    monkeypatch.setattr(StaffAccess.objects, "create", fail)
    auditor.raise_request_exception = False
    response = auditor.get(page_of(session))
    assert response.status_code == 500 and b"Hello" not in response.content


@pytest.mark.parametrize("model", [StaffAccess, StaffAct])
@pytest.mark.parametrize("seconds", [0, 60])
def test_a_search_of_the_log_finds_names_addresses_and_subjects(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, model: Any, seconds: int
) -> None:
    monkeypatch.setattr(word_search, "OTHER_FIRST_SLICE", 2)
    monkeypatch.setattr(word_search, "MAX_FEW", 3)
    monkeypatch.setattr(word_search, "SEARCH_SECONDS", seconds)
    for n in range(12):
        name = "Ada L" if n % 2 else "bob_50%"
        address = "2001:db8::1" if n == 4 else None
        model.objects.create(actor_name=name, address=address, subject_kind="session", subject_id=f"s-{n}")
    for term, expected in {
        "ada": set(range(1, 12, 2)), "ADA L": set(range(1, 12, 2)), "bob_": set(range(0, 12, 2)), "da": set(),
        "bob%": set(), "s-7": {7}, "s-": set(), "2001:DB8:0::1": {4}, "2001:db8::2": set(), "2001": set(),
    }.items():  # fmt: skip
        url: str | None = list_url(model._meta.model_name) + "?" + urlencode({"q": term})
        found: list[str] = []
        while url:
            page = read(admin_client, url)
            found += re.findall(r'field-subject nowrap">(s-\d+)<|field-subject">(s-\d+)<', page)
            following = re.search(r'href="(\?[^"]+)" rel="next"', page)
            url = following and list_url(model._meta.model_name) + html.unescape(following[1])
        assert sorted("".join(names) for names in found) == sorted(f"s-{n}" for n in expected), term


def test_the_page_of_a_session_leads_to_who_read_it(client: Client, session: Session) -> None:
    url = f"{list_url('staffaccess')}?q={session.pk}"
    assert url not in read(sign_in(client, "session"), page_of(session))
    User.objects.get(username="staff").user_permissions.add(
        Permission.objects.get(codename="view_staffaccess")
    )
    assert f'href="{url}">who read it</a>' in read(client, page_of(session))
    assert "2 rows" in read(client, url)


def test_the_log_is_read_only_and_inert(client: Client, session: Session) -> None:
    client.force_login(User.objects.create_superuser("root"))
    client.get(reverse("admin:sessions_app_session_changelist"), {"q": HOSTILE})
    row = StaffAccess.objects.get()
    name = "admin:sessions_app_staffaccess"
    assert HOSTILE not in read(client, reverse(f"{name}_changelist"))
    assert HOSTILE not in read(client, reverse(f"{name}_change", args=[row.pk]))
    for url in (
        reverse(f"{name}_add"),
        *(reverse(f"{name}_{page}", args=[row.pk]) for page in ("change", "delete")),
    ):
        assert client.post(url, {"detail": "x", "post": "yes"}).status_code == 403
    assert accesses() == [("search", "session", "")]


def test_the_log_is_kept_as_long_as_the_setting_says(settings: Settings) -> None:
    for days in (400, 3):
        row = StaffAccess.objects.create(kind=AccessKind.OPEN, subject_kind="session")
        StaffAccess.objects.filter(pk=row.pk).update(at=timezone.now() - timedelta(days=days))
    settings.ADK = {**settings.ADK, "access_log_days": 0}
    assert delete_old_accesses() == 0
    settings.ADK = {**settings.ADK, "access_log_days": 365}
    assert delete_old_accesses() == 1
    assert StaffAccess.objects.count() == 1


def test_masked_values_are_shown_for_a_reason_for_one_session_and_one_sign_in(
    client: Client, session: Session, person: User
) -> None:
    other = Session.objects.create(app_name="help_desk", user=person, key="s-2")
    for one in (session, other):
        append_event(one, {"text": f"password={KEY}"}, author="user")
    job = make_job(session, args={"api_key": KEY})
    job_page = reverse("admin:sessions_app_tooljob_change", args=[job.pk])
    sign_in(client, "session", "tooljob", rights=("view_text", "unmask_data"))
    assert KEY not in read(client, page_of(session))
    assert client.post(tool_url(session, "unmask"), {"reason": ""}).status_code == 200
    assert KEY not in read(client, page_of(session)), "A reason is demanded."
    assert client.post(tool_url(session, "unmask"), {"reason": "Case 7"}).status_code == 302
    for url in (
        page_of(session),
        reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1]),
        job_page,
    ):
        assert KEY in read(client, url), url
    page = read(client, page_of(session))
    assert re.search(r"Masked values are shown until \d\d:\d\d UTC\.", page) and "Unmask…" not in page
    assert "Unmask…" in read(client, page_of(other))
    assert KEY not in read(client, page_of(other))
    assert KEY not in read(client, reverse("admin:sessions_app_session_changelist"))
    row = StaffAccess.objects.get(kind="unmask")
    assert (row.reason, row.subject_id, row.actor_name) == ("Case 7", str(session.pk), "staff")
    assert StaffAccess.objects.filter(detail="change unmasked").exists()
    client.post(tool_url(session, "mask"))
    assert KEY not in read(client, page_of(session))


def test_a_grant_to_unmask_ends_by_itself_and_with_the_right(
    client: Client, session: Session, settings: Settings
) -> None:
    append_event(session, {"text": f"password={KEY}"}, author="user")
    sign_in(client, "session", rights=("view_text", "unmask_data"))
    client.post(tool_url(session, "unmask"), {"reason": "Case 7"})
    User.objects.get(username="staff").user_permissions.remove(
        *User.objects.get(username="staff").user_permissions.filter(codename="unmask_data")
    )
    assert KEY not in read(client, page_of(session))
    client.force_login(User.objects.create_superuser("root"))
    settings.ADK = {**settings.ADK, "unmask_seconds": 0.000001}
    client.post(tool_url(session, "unmask"), {"reason": "Case 8"})
    assert KEY not in read(client, page_of(session))
