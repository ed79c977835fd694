"""Hostile text on the audit pages."""

from __future__ import annotations

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import AppState, Feedback, Invocation, Session, UserState
from tests.integration.admin.audit_rows import (
    HOSTILE,
    MODELS,
    append_event,
    make_artifact,
    make_job,
    page_of,
    sign_in,
)

pytestmark = pytest.mark.django_db


def test_20_hostile_text_is_escaped_on_every_page_and_no_style_or_script_is_inline(
    client: Client, person: User
) -> None:
    sign_in(client, *MODELS)
    session = Session.objects.create(
        app_name=HOSTILE, user=person, key=HOSTILE, title=HOSTILE, state={HOSTILE: HOSTILE}
    )
    session.initial_state = session.state
    append_event(
        session,
        {"text": HOSTILE},
        author=HOSTILE,
        invocationId=HOSTILE,
        errorCode=HOSTILE,
        errorMessage=HOSTILE,
    )
    delta = {HOSTILE: HOSTILE, f"app:{HOSTILE}": HOSTILE}
    call = {"functionCall": {"id": "c-1", "name": HOSTILE, "args": {HOSTILE: HOSTILE}}}
    append_event(session, call, before=delta, actions={"stateDelta": delta, "artifactDelta": {HOSTILE: 0}})
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={"t": HOSTILE}, error_message=HOSTILE
    )
    job = make_job(session, tool_name=HOSTILE, error=HOSTILE, args={"a": HOSTILE}, progress_message=HOSTILE)
    artifact = make_artifact(session, HOSTILE)
    feedback = Feedback.objects.create(session=session, user=person, seq=1, rating="bad", comment=HOSTILE)
    state, _ = AppState.objects.update_or_create(app_name=HOSTILE, defaults={"state": delta})
    UserState.objects.update_or_create(app_name=HOSTILE, user=person, defaults={"state": delta})
    pages = [
        *[reverse(f"admin:sessions_app_{model}_changelist") for model in MODELS],
        page_of(session, "?at=2"),
        reverse("admin:sessions_app_invocation_change", args=[invocation.pk]),
        reverse("admin:sessions_app_tooljob_change", args=[job.pk]),
        reverse("admin:sessions_app_artifact_change", args=[artifact.pk]),
        reverse("admin:sessions_app_feedback_change", args=[feedback.pk]),
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
