"""Large events: a page loads a line of each, and one of them whole when it is opened."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions_app.models import Event, Invocation, Session
from tests.integration.admin.audit_rows import append_event, make_job, page_of, read, sign_in

pytestmark = pytest.mark.django_db
EVENTS = 100
SIZE = 120_000
PAGE_BYTES = 1_000_000
MAX_OPENED_BYTES = 2_500_000


def noise(size: int) -> str:
    """Text that PostgreSQL cannot compress well."""
    return random.Random(size).randbytes(size // 2).hex()


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, "session", "event", "invocation", "tooljob")


@pytest.fixture
def large(person: User) -> Session:
    """A session whose events are large in each of the places that a page shows."""
    session = Session.objects.create(app_name="shop", user=person, key="large", last_seq=EVENTS)
    text = noise(SIZE)
    part_or_actions: list[dict[str, Any]] = [
        {"content": {"parts": [{"text": f"Look: {text}"}]}},
        {"content": {"parts": [{"functionCall": {"id": "c-1", "name": "f", "args": {"a": text}}}]}},
        {"content": {"parts": [{"functionResponse": {"id": "c-1", "name": "f", "response": {"a": text}}}]}},
        {"actions": {"stateDelta": {f"key-{n}": n for n in range(SIZE // 20)}}},
        {"content": {"parts": [{"text": f"{n}"} for n in range(SIZE // 20)]}},
    ]
    Event.objects.bulk_create(
        Event(
            session=session,
            seq=seq,
            body={"id": f"id-{seq}", "author": "agent", **part_or_actions[seq % len(part_or_actions)]},
        )
        for seq in range(1, EVENTS + 1)
    )
    return session


def fetched_bytes(client: Client, url: str) -> tuple[int, int]:
    """Return the bytes of the page, and the bytes of all rows that PostgreSQL sent for it."""
    with CaptureQueriesContext(connection) as queries:
        page = client.get(url).content
    statements = [query["sql"] for query in queries if re.match(r"\s*(SELECT|WITH)\b", query["sql"])]
    fetched = 0
    with connection.cursor() as cursor:
        for statement in statements:
            sizes = f"SELECT coalesce(sum(octet_length(rows::text)), 0) FROM ({statement}) rows"
            cursor.execute(sizes.replace("%", "%%"), [])
            fetched += cursor.fetchone()[0]
    return len(page), fetched


def test_a_page_of_large_events_is_small_and_fetches_little(staff: Client, large: Session) -> None:
    for url in (page_of(large), reverse("admin:sessions_app_event_changelist")):
        page, fetched = fetched_bytes(staff, url)
        assert page < PAGE_BYTES and fetched < PAGE_BYTES, url
    html = read(staff, page_of(large))
    assert html.count('class="audit-event"') == EVENTS
    assert html.count("Open this large event") == EVENTS
    assert "Look: " in html


def test_an_opened_event_is_shown_cut_and_the_others_stay_closed(staff: Client, large: Session) -> None:
    for seq in range(1, 6):  # each kind of large event
        page, fetched = fetched_bytes(staff, page_of(large, f"?event={seq}"))
        assert page < PAGE_BYTES and fetched < MAX_OPENED_BYTES, seq
        html = read(staff, page_of(large, f"?event={seq}"))
        assert html.count("Open this large event") == EVENTS - 1, seq
        assert "truncated: " in html, seq
        raw = read(staff, reverse("admin:sessions_app_session_event_raw", args=[large.pk, seq]))
        assert json.loads(raw) == Event.objects.get(session=large, seq=seq).body, seq


def test_an_event_that_is_too_large_to_open_shows_its_beginning(staff: Client, session: Session) -> None:
    append_event(session, {"text": f"Look: {noise(3_000_000)}"})
    page, fetched = fetched_bytes(staff, page_of(session, "?event=1"))
    assert page < PAGE_BYTES and fetched < PAGE_BYTES
    assert "too large for a page" in read(staff, page_of(session, "?event=1"))


def test_an_event_whose_text_is_large_is_opened_and_names_its_keys_before(
    staff: Client, session: Session
) -> None:
    # PostgreSQL compresses it below the size at which its length is not looked at.
    append_event(session, {"text": "y" * 50_000}, actions={"stateDelta": {"topic": "tea", "step": 2}})
    closed = read(staff, page_of(session))
    assert "Open this large event" in closed and "too large for a page" not in closed
    assert 'title="topic, step"' in closed or 'title="step, topic"' in closed
    opened = read(staff, page_of(session, "?event=1"))
    assert "Open this large event" not in opened and "&quot;tea&quot;" in opened


def test_a_large_result_answers_its_call(staff: Client, session: Session) -> None:
    call = {"id": "c-1", "name": "refund", "args": {"order": 7}}
    append_event(session, {"functionCall": call})
    response = {"id": "c-1", "name": "refund", "response": {"report": noise(900_000)}}
    append_event(session, {"functionResponse": response})
    html = read(staff, page_of(session))
    assert "unanswered" not in html and 'data-status="ok"' in html
    assert "refund → {&quot;report&quot;: &quot;" in html
    assert html.count('class="audit-entry"') == 1
    seen = read(staff, page_of(session, "?view=person"))
    assert "Refund" in seen


def test_large_states_messages_and_results_are_cut_too(staff: Client, session: Session) -> None:
    session.initial_state = {f"key-{n}": noise(20_000) for n in range(100)}
    append_event(session, {"text": "x"}, actions={"stateDelta": {"topic": noise(400_000)}})
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={"text": noise(600_000)}
    )
    jobs = [make_job(session, call_id=f"c-{n}", result={"a": noise(200_000)}) for n in range(10)]
    page, fetched = fetched_bytes(staff, page_of(session, "?at=1"))
    assert page < PAGE_BYTES and fetched < MAX_OPENED_BYTES
    for row in (invocation, jobs[0]):
        url = reverse(f"admin:sessions_app_{row._meta.model_name}_change", args=[row.pk])
        assert len(staff.get(url).content) < 200_000
    for model in ("invocation", "tooljob", "session"):
        page, fetched = fetched_bytes(staff, reverse(f"admin:sessions_app_{model}_changelist"))
        assert fetched < 200_000, model
