"""Search and filters of the lists in the audit admin."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from sessions_app.models import Invocation, Session
from sessions_app.models.session import TitleSource
from tests.integration.admin.audit_rows import append_event, create_one_of_each, page_of, read, sign_in

pytestmark = pytest.mark.django_db


def listed_keys(client: Client, query: str) -> set[str]:
    html = read(client, reverse("admin:sessions_app_session_changelist") + query)
    return {session.key for session in Session.objects.all() if f"/session/{session.pk}/change/" in html}


def test_12_sessions_are_found_by_title_key_user_text_and_ids(auditor: Client, session: Session) -> None:
    other = Session.objects.create(
        app_name="shop", user=User.objects.create_user("bob"), key="s-2", title="Order"
    )
    session.title_source = TitleSource.PERSON
    session.save()
    event = append_event(session, {"text": "The filament is 100% gone"}, author="user")
    append_event(other, {"text": "Two boxes, please"})
    Invocation.objects.create(session=other, invocation_id="e-77", client_id="m", message={})
    assert listed_keys(auditor, "") == {"s-1", "s-2"}
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
        assert listed_keys(auditor, f"?q={words}") == found, words


def test_rows_are_found_by_the_words_of_their_own_and_by_the_key_of_their_session(
    admin_client: Client, session: Session
) -> None:
    rows = create_one_of_each(session, session.user)
    rows["feedback"].comment = "Too slow"
    rows["feedback"].save()
    for model, own in (
        ("feedback", "slow"),
        ("artifact", "notes"),
        ("scheduledtask", rows["scheduledtask"].task[:5]),
    ):
        url = reverse(f"admin:sessions_app_{model}_changelist")
        for words, count in ((own, 1), (session.key, 1), ("nothing like it", 0), ("%ED%A0%80", 0)):
            with CaptureQueriesContext(connection) as queries:
                html = read(admin_client, f"{url}?q={words}")
            assert html.count('class="field-') > 0 if count else 'class="field-' not in html, (model, words)
            assert not [
                query for query in queries if '"sessions_app_session"."key"::text) LIKE' in query["sql"]
            ]


def test_sessions_are_filtered_by_app_and_by_invocation_status(auditor: Client, session: Session) -> None:
    Session.objects.create(app_name="shop", user=session.user, key="s-2")
    Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={}, status="waiting"
    )
    assert listed_keys(auditor, "?app_name=shop") == {"s-2"}
    assert listed_keys(auditor, "?status=waiting") == {"s-1"}
    assert listed_keys(auditor, "?status=running") == set()
    html = read(auditor, reverse("admin:sessions_app_session_changelist"))
    assert html.count('data-status="waiting"') == 1


def test_the_list_of_events_summarizes_each_event_and_links_to_its_session(
    client: Client, session: Session
) -> None:
    sign_in(client, "event")
    append_event(session, {"functionResponse": {"id": "c-1", "name": "look_up", "response": {"result": 21}}})
    html = read(client, reverse("admin:sessions_app_event_changelist"))
    assert page_of(session, "?event=1#event-1") in html
    assert "look_up → { &quot;result&quot;: 21 }" in html
    assert "look_up" not in read(client, reverse("admin:sessions_app_event_changelist") + "?kind=call")
