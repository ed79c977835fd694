"""Time travel of shared state: `app:` and `user:` keys that other sessions set."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from sessions_app.admin.session.timeline import shared_keys
from sessions_app.models import AppState, Event, Session, UserState
from tests.integration.admin.audit_rows import append_event, page_of, read, text_of

pytestmark = pytest.mark.django_db


def shared_at(client: Client, session: Session, at: int) -> dict[str, str]:
    """Return the shared keys on the page of the state after an event, with a mark for those of other sessions."""
    state = text_of(read(client, page_of(session, f"?at={at}")), 'id="state"', "</section>")
    lines = re.findall(r"<dt><code>((?:app|user):\w+)</code>(.*?)</dt>.*?>([^<]*)</pre>", state)
    return {key: value + ("*" if "another session" in note else "") for key, note, value in lines}


def test_the_state_after_an_event_has_what_other_sessions_had_set_by_then(
    auditor: Client, session: Session, person: User
) -> None:
    other = Session.objects.create(app_name="help_desk", user=person, key="s-2")
    stranger = Session.objects.create(app_name="help_desk", user=User.objects.create_user("zoe"), key="s-3")
    elsewhere = Session.objects.create(app_name="shop", user=person, key="s-4")
    append_event(session, before={}, actions={"stateDelta": {"app:own": 1}})
    append_event(other, before={"app:total": 1}, actions={"stateDelta": {"app:total": 2, "user:name": "Ada"}})
    append_event(stranger, before={"user:name": "Zoe"}, actions={"stateDelta": {"user:name": "Z"}})
    append_event(elsewhere, before={"app:total": 70}, actions={"stateDelta": {"app:total": 71}})
    append_event(session, {"text": "…"})
    append_event(other, before={"user:name": "Ada"}, actions={"stateDelta": {"user:name": "Bob"}})
    AppState.objects.update_or_create(app_name="help_desk", defaults={"state": {"total": 2, "own": 1}})
    UserState.objects.update_or_create(app_name="help_desk", user=person, defaults={"state": {"name": "Bob"}})
    assert shared_at(auditor, session, 0) == {"app:total": "1*"}
    assert shared_at(auditor, session, 1) == {"app:own": "1", "app:total": "1*"}
    assert shared_at(auditor, session, 2) == {
        "app:own": "1",
        "app:total": "2*",
        "user:name": "&quot;Ada&quot;*",
    }


def test_a_page_says_when_there_are_too_many_later_writes_to_follow(
    auditor: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_keys, "MAX_WRITES", 1)
    AppState.objects.update_or_create(app_name="help_desk", defaults={"state": {"total": 2}})
    for number in (1, 2):
        append_event(session, before={"app:total": 0}, actions={"stateDelta": {"app:total": number}})
    words = "may be newer"
    assert words in read(auditor, page_of(session, "?at=0")) and words not in read(
        auditor, page_of(session, "?at=2")
    )


def test_later_writes_are_found_by_their_index(session: Session) -> None:
    append_event(session, before={}, actions={"stateDelta": {"app:total": 1}})
    # Beside few other events, PostgreSQL may as well read the index of the ids.
    others = (Event(session=session, seq=seq, body={"actions": {}}) for seq in range(2, 1000))
    Event.objects.bulk_create(others)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_event")
        parameters: dict[str, Any] = {
            "session": str(session.pk),
            "seq": 1,
            "app": "app:",
            "user": "user:",
            "writes": 9,
        }
        cursor.execute(f"EXPLAIN {shared_keys._VALUES}", {**parameters, "keys": 9, "characters": 9})
        assert any("event_shared_state" in line for (line,) in cursor.fetchall())
