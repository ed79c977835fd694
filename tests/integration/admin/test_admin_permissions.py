"""Permissions of the audit admin: read-only, for staff with the view permission."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import Session
from tests.integration.admin.audit_rows import MODELS, append_event, create_one_of_each, page_of, sign_in

pytestmark = pytest.mark.django_db


def admin_urls(session: Session) -> list[str]:
    event = session.events.get(seq=1)
    return [
        *[reverse(f"admin:sessions_app_{model}_changelist") for model in MODELS],
        page_of(session),
        reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1]),
        reverse("admin:sessions_app_event_change", args=[event.pk]),
    ]


def test_the_view_permission_is_enough(client: Client, session: Session) -> None:
    append_event(session, {"text": "Hello"})
    sign_in(client, *MODELS)
    assert [client.get(url).status_code for url in admin_urls(session)] == [200] * 11 + [302]


@pytest.mark.parametrize("model", MODELS)
def test_01_nobody_adds_changes_or_deletes_not_even_a_superuser(
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
