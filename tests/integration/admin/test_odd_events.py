"""Stored events of odd shape: every audit page shows the other events, and the odd one as one row."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import JSONField, Value
from django.db.models.functions import Cast
from django.test import Client
from django.urls import reverse

from sessions_app.models import Event, Invocation, Session
from tests.integration.admin.audit_rows import (
    MODELS,
    append_event,
    make_artifact,
    make_job,
    make_scheduled_task,
    page_of,
    read,
    sign_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
NAMES = {"id": "odd", "invocationId": "e-1", "author": "agent", "timestamp": 1_795_000_000.0}


def nested(depth: int) -> str:
    return "[" * depth + "5" + "]" * depth


def event(**body: Any) -> dict[str, Any]:
    return {**NAMES, **body}


def part(value: Any) -> dict[str, Any]:
    return event(content={"role": "model", "parts": [value]})


BODIES: dict[str, Any] = {
    "an empty object": {},
    "a list": [1, "x"],
    "a text": "x",
    "a number": 5,
    "true": True,
    "null": None,
    "a number for each name": {"id": 1, "author": 2, "invocationId": 3, "branch": 4, "modelVersion": 5},
    "an object for each name": {"id": {}, "author": {"a": 1}, "invocationId": [], "branch": {}},
    "no author": {"id": "odd"},
    "no timestamp": {"id": "odd", "author": "agent"},
    "a year that no calendar has": event(timestamp=1e13),
    "content as a list": event(content=["x"]),
    "content as a text": event(content="x"),
    "no parts": event(content={"parts": []}),
    "a text for a part": event(content={"parts": ["x"]}),
    "a list for a part": part(["x"]),
    "null for a part": part(None),
    "an empty part": part({}),
    "a number as text": part({"text": 5}),
    "an object as text": part({"text": {"a": 1}}),
    "a number as call": part({"functionCall": 5}),
    "a call without name": part({"functionCall": {}}),
    "a call with a number as id": part({"functionCall": {"id": 5, "name": 6, "args": 7}}),
    "a call with a list as id": part({"functionCall": {"id": [], "name": [], "args": []}}),
    "a call with a text as arguments": part({"functionCall": {"id": "c-1", "name": "f", "args": "x"}}),
    "a text as response": part({"functionResponse": "x"}),
    "a response with an object as id": part({"functionResponse": {"id": {}, "name": {}, "response": 5}}),
    "a text as file": part({"inlineData": "x"}),
    "a file with a number as bytes": part({"inlineData": {"mimeType": 5, "data": 6}}),
    "a thought that is a number": part({"text": "x", "thought": 5}),
    "actions as a list": event(actions=[]),
    "actions as a list with something": event(actions=["x"]),
    "actions as a text": event(actions="x"),
    "a state delta as a list": event(actions={"stateDelta": ["x"]}),
    "a state delta as a text": event(actions={"stateDelta": "x"}),
    "a state delta of null": event(actions={"stateDelta": {"a": None, "": None, "user:": None}}),
    "an artifact delta as a list": event(actions={"artifactDelta": ["x"]}),
    "an artifact delta with texts": event(actions={"artifactDelta": {"a.txt": "x", "": None}}),
    "an artifact delta with lists": event(actions={"artifactDelta": {"a.txt": []}}),
    "a transfer to a number": event(actions={"transferToAgent": 5}),
    "a rewind to a number": event(actions={"rewindBeforeInvocationId": 5}),
    "a rewind to an object": event(actions={"rewindBeforeInvocationId": {"a": []}}),
    "an error code that is an object": event(errorCode={"a": 1}, errorMessage=[5]),
    "tokens of a text": event(usageMetadata="x"),
    "metadata as a list": event(customMetadata=["x"], longRunningToolIds=5, interrupted={"a": 1}),
    "a huge number": event(actions={"stateDelta": {"a": 10**400}}),
}
NOT_FOR_PYTHON = {
    "deep nesting in a part": (part({"executableCode": "?"}), nested(900)),
    "deep nesting in arguments": (
        part({"functionCall": {"id": "c-1", "name": "f", "args": "?"}}),
        nested(900),
    ),
    "deep nesting in the state": (event(actions={"stateDelta": "?"}), f'{{"a": {nested(900)}}}'),
    "deeper nesting in the state": (event(actions={"stateDelta": "?"}), f'{{"a": {nested(2500)}}}'),
    "deeper nesting in a part": (part({"executableCode": "?"}), nested(2500)),
    "a deep call id": (part({"functionCall": {"id": "?"}}), nested(2500)),
    "a rewind to deep nesting": (event(actions={"rewindBeforeInvocationId": "?"}), nested(2500)),
    "a number of many digits": (event(actions={"stateDelta": "?"}), f'{{"a": {"7" * 5000}}}'),
}
"""Bodies with `?` in the place of JSON that PostgreSQL stores and Python refuses to parse, or nearly."""
ON_ONE_PAGE = 9
TEXTS = {name: json.dumps(body) for name, body in BODIES.items()} | {
    name: json.dumps(body).replace('"?"', text) for name, (body, text) in NOT_FOR_PYTHON.items()
}


def batched(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names in groups that share a session: a page that shows it takes most of a test's time."""
    rest = [*names]
    return [tuple(rest[start : start + ON_ONE_PAGE]) for start in range(0, len(rest), ON_ONE_PAGE)]


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, *MODELS)


def store(session: Session, *names: str) -> int:
    """Store the odd events of these names between two ordinary events; return the last seq."""
    append_event(session, {"text": "The lamp before"}, author="user")
    for seq, name in enumerate(names, start=2):
        body = Cast(Value(TEXTS[name]), JSONField())
        # Not `create`: since Django 6 it reads the value of an expression.
        Event.objects.bulk_create([Event(session=session, seq=seq, body=body)])
    session.last_seq = len(names) + 1
    append_event(session, {"text": "The lamp behind"})
    return session.last_seq


@pytest.mark.parametrize("names", batched(TEXTS), ids=lambda names: names[0])
def test_an_odd_event_is_one_row_of_its_session(
    staff: Client, session: Session, names: tuple[str, ...]
) -> None:
    last = store(session, *names)
    odd = range(2, last)
    for query in ("", "?event=2", *(f"?at={seq}" for seq in odd), f"?at={last}"):
        html = read(staff, page_of(session, query))
        assert "The lamp before" in html and "The lamp behind" in html, query
        assert html.count('class="audit-event"') == last, query
        assert [seq for seq in range(1, last + 1) if f'id="event-{seq}"' not in html] == [], query
    for seq, name in zip(odd, names, strict=True):
        raw = read(staff, reverse("admin:sessions_app_session_event_raw", args=[session.pk, seq]))
        if name in BODIES:
            assert json.loads(raw) == BODIES[name]
        else:
            assert NOT_FOR_PYTHON[name][1] in raw


def test_odd_events_spoil_no_list_and_no_row_that_refers_to_them(
    staff: Client, session: Session, person: User
) -> None:
    last = store(session, *TEXTS)
    for query in ("?author=agent", "?invocation=e-1"):
        assert "The lamp behind" in read(staff, page_of(session, query)), query
    rows = [
        Invocation.objects.create(session=session, invocation_id="e-1", client_id="m", message={}),
        make_job(session),
        make_scheduled_task(session),
        make_artifact(session, "a.txt"),
    ]
    for row in rows:
        read(staff, reverse(f"admin:sessions_app_{row._meta.model_name}_change", args=[row.pk]))
    events = reverse("admin:sessions_app_event_changelist")
    sessions = reverse("admin:sessions_app_session_changelist")
    html = read(staff, events)
    assert all(f"event={seq}#event-{seq}" in html for seq in range(1, last + 1))
    html = read(staff, f"{events}?q=lamp")
    assert "event=1#event-1" in html and f"event={last}#event-{last}" in html
    read(staff, f"{events}?q=odd")
    for url in (sessions, f"{sessions}?q=lamp", f"{sessions}?q=e-1"):
        assert str(session.pk) in read(staff, url), url
