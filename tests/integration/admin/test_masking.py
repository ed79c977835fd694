"""Secrets are masked on every page of staff, in downloads and in hits of a search; the log itself stays as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import Event, Feedback, Invocation, Session, UserState
from sessions_app.rendering.audit_values import EXCERPT_LENGTH
from tests.integration.admin.audit_rows import (
    MODELS,
    PARTS_OF_SECRETS,
    append_cut_secrets,
    append_event,
    make_job,
    make_scheduled_task,
    page_of,
    read,
    sign_in,
)

pytestmark = pytest.mark.django_db
CARD = "4111 1111 1111 1111"
KEY = "hunter2-and-more"
SECRETS = (CARD, KEY)


@pytest.fixture
def rows(session: Session, person: User) -> dict[str, Any]:
    text = f"My card is {CARD}, password={KEY}"
    args = {"api_key": KEY, "nested": {"Access-Token": {"deep": KEY}}, "card": CARD, "count": 1.10}
    call = {"functionCall": {"id": "c-1", "name": "pay", "args": args}}
    append_event(session, {"text": text}, author="user")
    append_event(session, call, before={"api_key": KEY}, actions={"stateDelta": {"api_key": KEY, "n": 1}})
    append_event(session, {"functionResponse": {"id": "c-1", "name": "pay", "response": {"result": text}}})
    session.title = f"Card {CARD}"
    session.save()
    return {
        "session": session,
        "invocation": Invocation.objects.create(
            session=session, invocation_id="e-1", client_id="m-1", message={"text": text}, error_message=text
        ),
        "tooljob": make_job(session, args=args, result={"said": text}, error=text),
        "scheduledtask": make_scheduled_task(session, task=text),
        "feedback": Feedback.objects.create(session=session, user=person, seq=1, rating="bad", comment=text),
        "userstate": UserState.objects.update_or_create(
            app_name="help_desk", user=person, defaults={"state": {"secret": KEY}}
        )[0],
    }


def test_19_no_page_has_a_secret(client: Client, rows: dict[str, Any]) -> None:
    sign_in(client, *MODELS)
    urls = [reverse(f"admin:sessions_app_{model}_changelist") for model in MODELS]
    urls += [
        reverse(f"admin:sessions_app_{model}_{page}", args=[row.pk])
        for model, row in rows.items()
        for page in ("change", "history")
    ]
    urls += [page_of(rows["session"], query) for query in ("?at=2", "?event=1", "?q=card")]
    urls += [reverse("admin:sessions_app_session_changelist") + "?q=card"]
    urls += [reverse("admin:sessions_app_event_changelist") + "?q=4111"]
    for url in urls:
        html = read(client, url)
        assert not any(secret in html for secret in SECRETS), url
    assert "[masked]" in read(client, page_of(rows["session"]))
    assert CARD in Event.objects.get(session=rows["session"], seq=1).text


def test_a_secret_that_is_cut_off_is_masked_whole(auditor: Client, session: Session) -> None:
    session.title = "Connect my account to the shop and charge the card " + CARD
    session.save()
    append_event(session, {"text": "Hello"}, author="user")
    html = read(auditor, page_of(session))
    assert "charge the card [" in html and "card 4111" not in html


@pytest.mark.parametrize("length", range(36, 62, 4))
def test_no_page_shows_a_part_of_a_secret_where_it_shortens_a_text(
    client: Client, session: Session, length: int
) -> None:
    secret = "sk-" + "q7" * 20
    note = f"{'z' * length} {secret}"
    append_event(
        session, {"functionCall": {"id": "c-1", "name": "refund_order", "args": {"order_number": note}}}
    )
    append_event(session, {"text": f"{' ' * (4 * EXCERPT_LENGTH - 10)}{secret}"})
    append_event(
        session, {"functionResponse": {"id": "c-1", "name": "refund_order", "response": {"error": note}}}
    )
    append_cut_secrets(session, length)
    make_job(session, status="failed", error=f"{' ' * (4 * EXCERPT_LENGTH - 10)}{secret}")
    client.force_login(User.objects.create_superuser("root"))
    urls = [page_of(session, query) for query in ("", "?view=person", "?view=raw")]
    urls += [reverse(f"admin:sessions_app_{name}_changelist") for name in ("event", "tooljob", "session")]
    for url in urls:
        html = read(client, url)
        assert not any(part in html for part in ("q7q7", *PARTS_OF_SECRETS)), url


def test_the_raw_event_differs_in_masked_values_only(auditor: Client, rows: dict[str, Any]) -> None:
    raw = read(auditor, reverse("admin:sessions_app_session_event_raw", args=[rows["session"].pk, 2]))
    assert "1.10" in raw or "1.1" in raw
    stored = Event.objects.get(session=rows["session"], seq=2).body
    args = stored["content"]["parts"][0]["functionCall"]["args"]
    args.update({"api_key": "[masked]", "nested": {"Access-Token": "[masked]"}, "card": "[masked]"})
    stored["actions"]["stateDelta"]["api_key"] = "[masked]"
    assert json.loads(raw) == stored
