"""Rows, requests and HTML helpers for tests of the audit admin."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Permission, User
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from sessions_app.models import (
    AppState,
    Artifact,
    Event,
    Feedback,
    Invocation,
    ScheduledTask,
    Session,
    ToolJob,
    UserState,
)
from sessions_app.rendering.blocks import MAX_RESPONSE_LENGTH
from sessions_app.rendering.outline import MAX_VALUE_LENGTH

MODELS = (
    "session",
    "event",
    "invocation",
    "tooljob",
    "scheduledtask",
    "artifact",
    "feedback",
    "appstate",
    "userstate",
)
RANDOM_VALUE = re.compile(r'(name="csrfmiddlewaretoken" value=|nonce=)"[^"]*"')
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"
PARTS_OF_SECRETS = ("Tr0ub", " 4111")
"""Texts that no id or token of a page has by chance: four digits alone are in one of some hundred pages."""
START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()


def sign_in(client: Client, *models: str, rights: Iterable[str] = ("view_text",)) -> Client:
    """Sign in a member of staff who may view the rows of the models and has the rights."""
    staff = User.objects.create_user("staff", is_staff=True)
    codenames = [*[f"view_{model}" for model in models], *rights]
    staff.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(staff)
    return client


def list_url(model: str, query: str = "") -> str:
    return reverse(f"admin:sessions_app_{model}_changelist") + query


def tool_url(session: Session, name: str) -> str:
    """Return the address of a tool of the session's page, such as its export."""
    return reverse(f"admin:sessions_app_session_{name}", args=[session.pk])


def told(response: Any) -> str:
    """Return the messages that the page shows about what was done."""
    return " ".join(str(message) for message in response.context["messages"])


def append_event(
    session: Session,
    *parts: dict[str, Any],
    author: str = "agent",
    before: Any = None,
    model_call: Any = None,
    **body: Any,
) -> Event:
    """Append an event to the log and apply its delta to the session state."""
    session.last_seq += 1
    actions = body.pop("actions", {})
    session_delta = {k: v for k, v in actions.get("stateDelta", {}).items() if ":" not in k}
    session.state = {**session.state, **session_delta}
    session.save()
    names = {"id": f"id-{session.last_seq}", "invocationId": "e-1", "author": author}
    body = {**names, "timestamp": START + session.last_seq * 2.5, "actions": actions, **body}
    if parts:
        body["content"] = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return Event.objects.create(
        session=session, seq=session.last_seq, body=body, before=before, model_call=model_call
    )


def append_cut_secrets(session: Session, length: int) -> None:
    """Append results and values of the state of which a page shows the beginning; a secret is near its end.

    The end is at most 64 characters after the beginning of a note, of which the first `length` are no secret.
    """
    for secret in ("postgres://app:Tr0ub4dor-pw@db", "4111 1111 1111 1111"):
        note = f"{'z' * length} {secret} {'z' * MAX_RESPONSE_LENGTH}"
        long_note = "z" * (MAX_RESPONSE_LENGTH - 64) + note
        for response in ({"result": long_note}, {"result": {"note": long_note}}):
            append_event(session, {"functionResponse": {"id": "c-1", "name": "report", "response": response}})
        append_event(session, actions={"stateDelta": {"note": "z" * (MAX_VALUE_LENGTH - 64) + note}})


def page_of(session: Session, query: str = "") -> str:
    return reverse("admin:sessions_app_session_change", args=[session.pk]) + query


def read(client: Client, url: str) -> str:
    """Return the HTML of the page without its random values, in which a name could stand by chance."""
    response = client.get(url)
    assert response.status_code == 200, response
    return RANDOM_VALUE.sub(r'\1""', response.content.decode())


def text_of(html: str, start: str, end: str = "</details>") -> str:
    """Return the HTML between two marks, without line breaks and spaces beside the tags."""
    return " ".join(html.split(start, 1)[1].split(end, 1)[0].split()).replace("> ", ">").replace(" <", "<")


def create_one_of_each(session: Session, person: User) -> dict[str, Any]:
    return {
        "session": session,
        "event": append_event(session, {"functionCall": {"id": "c-1", "name": "report", "args": {}}}),
        "invocation": Invocation.objects.create(
            session=session, invocation_id="e-1", client_id="m-1", message={}
        ),
        "tooljob": make_job(session),
        "scheduledtask": make_scheduled_task(session),
        "artifact": make_artifact(session, "notes.txt"),
        "feedback": Feedback.objects.create(session=session, user=person, seq=1, rating="good"),
        "appstate": AppState.objects.update_or_create(app_name="help_desk", defaults={"state": {"total": 2}})[
            0
        ],
        "userstate": UserState.objects.update_or_create(
            app_name="help_desk", user=person, defaults={"state": {"name": "Ada"}}
        )[0],
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


def make_artifact(
    session: Session,
    filename: str,
    content: bytes = b"Hello",
    version: int = 0,
    mime_type: str = "text/html",
) -> Artifact:
    return Artifact.objects.create(
        app_name=session.app_name,
        user_id=session.user_id,
        session=None if filename.startswith("user:") else session,
        filename=filename,
        version=version,
        mime_type=mime_type,
        part_kind="blob",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        file=ContentFile(content, "x"),
    )
