"""Exactness of the audit pages: state changes, snapshots, rewinds, gaps and raw JSON."""

from __future__ import annotations

import json
import re

import pytest
from django.db.models import JSONField, Value
from django.db.models.functions import Cast
from django.test import Client
from django.urls import reverse

from sessions_app.models import Session
from tests.integration.admin.audit_rows import append_event, page_of, read, text_of
from tests.integration.tampering import tamper

pytestmark = pytest.mark.django_db


def test_03_each_event_shows_its_state_changes_with_the_values_recorded_at_its_commit(
    auditor: Client, session: Session
) -> None:
    delta = {"topic": "lamps", "app:total": 2, "user:name": "Ada"}
    append_event(session, before={"app:total": 1}, actions={"stateDelta": delta})
    table = text_of(read(auditor, page_of(session)), '<table class="audit-diff">', "</table>")
    dash = '<span title="The key was new">&mdash;</span>'
    for key, scope, before, after in (
        ("topic", "session", dash, "&quot;lamps&quot;"),
        ("app:total", "app", '<pre class="audit-value" tabindex="0">1</pre>', "2"),
        ("user:name", "user", dash, "&quot;Ada&quot;"),
    ):
        value = f'<pre class="audit-value" tabindex="0">{after}</pre>'
        row = f"<code>{key}</code></th><td>{scope}</td><td>{before}</td><td>{value}"
        assert row in table


def test_04_the_state_after_each_event_is_shown(auditor: Client, session: Session) -> None:
    session.initial_state = session.state = {"step": 0}
    for step in (1, 2, 3):
        append_event(session, actions={"stateDelta": {"step": step, "user:seen": step}})
    for at in (0, 1, 2):
        state = text_of(read(auditor, page_of(session, f"?at={at}")), 'id="state"', "</section>")
        assert f'<pre class="audit-value" tabindex="0">{at}</pre>' in state
        assert f'rel="next" href="?at={at + 1}#state"' in state
        assert "the stored state" not in state
    assert "user:seen" not in text_of(read(auditor, page_of(session, "?at=0")), 'id="state"', "</section>")


def test_at_the_last_event_the_replay_is_compared_with_the_stored_state(
    auditor: Client, session: Session
) -> None:
    append_event(session, actions={"stateDelta": {"step": 1, "app:total": 5}})
    html = read(auditor, page_of(session, "?at=1"))
    assert "Equal to the stored state" in html
    assert "<h3>app</h3><dl>" in text_of(html, 'id="state"', "</section>")
    Session.objects.filter(pk=session.pk).update(state={"step": 2})
    assert "Different from the stored state" in read(auditor, page_of(session, "?at=1"))


def test_the_replay_keeps_scopes_apart_and_names_the_last_event_of_each_shared_key(
    auditor: Client, session: Session
) -> None:
    session.initial_state = session.state = {"kept": 1, "changed": 1, "app:odd": 7}
    append_event(session, actions={"stateDelta": {"changed": 2, "temp:x": 1, "user:name": "Ada"}})
    append_event(session, actions={"stateDelta": {"changed": 3, "new": None, "user:name": "Bob"}})
    html = read(auditor, page_of(session, "?at=2"))
    state = text_of(html, 'id="state"', "</section>")
    for key, value in (("kept", "1"), ("changed", "3"), ("new", "null"), ("app:odd", "7")):
        assert re.search(rf"<code>{key}</code>[^\0]*?<pre [^>]*>{value}</pre>", state), key
    assert "temp:x" not in state and "Ada" not in state
    shared = state.split("<h3>user</h3>", 1)[1]
    assert "&quot;Bob&quot;" in shared and "set by this event" in shared and "app:odd" not in shared
    assert "Equal to the stored state" in html


def test_rewound_events_are_shown_and_marked(auditor: Client, session: Session) -> None:
    for seq in (1, 2, 3):
        append_event(session, {"text": f"text {seq}"}, author="user", invocationId=f"e-{seq}")
    append_event(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-2"})
    append_event(session, {"text": "text 5"}, author="user", invocationId="e-5")
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


def test_a_switch_to_another_version_is_shown_in_words_and_changes_the_marks(
    auditor: Client, session: Session
) -> None:
    append_event(session, {"text": "old"}, author="user", invocationId="e-1")
    append_event(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-1"})
    append_event(session, {"text": "new"}, author="user", invocationId="e-3")
    undone = {"adk_undone_rewind": "id-2"}
    back = {"rewindBeforeInvocationId": "e-3"}
    append_event(session, author="user", invocationId="s", actions=back, customMetadata=undone)
    html = read(auditor, page_of(session))
    marks = re.findall(r'id="event-(\d)"( data-rewound)?', html)
    assert marks == [("1", ""), ("2", ""), ("3", " data-rewound"), ("4", "")]
    assert "switches back to the version before the rewind #2" in html and "rewinds before e-3" not in html
    assert html.count("rewound by #4") == 1
    assert 'href="?event=2#event-2">The rewind that is undone' in html


def test_a_missing_event_is_reported(auditor: Client, session: Session) -> None:
    for _ in range(3):
        append_event(session, {"text": "…"})
    assert "without a gap" not in read(auditor, page_of(session))
    tamper(session.events.filter(seq=2).delete)
    assert "are not numbered from 1 to 3 without a gap" in read(auditor, page_of(session))


def test_05_the_raw_json_equals_the_stored_json_to_the_last_digit(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "…"})
    stored = (
        '{"text": "ü 💡", "pi": 3.10, "big": 12345678901234567890.123456789012345678901, "nothing": null}'
    )
    tamper(lambda: session.events.update(body=Cast(Value(stored), JSONField())))
    response = auditor.get(reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1]))
    assert json.loads(response.content, parse_float=str) == json.loads(stored, parse_float=str)
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"
    html = read(auditor, page_of(session))
    for text in ("&quot;pi&quot;: 3.10", "12345678901234567890.123456789012345678901", "ü 💡"):
        assert text in html
