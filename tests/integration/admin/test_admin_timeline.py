"""Timeline of a session: order, paging, filters and the content of events."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app.models import Event, Session
from tests.integration.admin.audit_rows import append_event, page_of, read, text_of

pytestmark = pytest.mark.django_db


def test_events_are_listed_in_order_with_time_gap_author_kind_text_and_tokens(
    auditor: Client, session: Session
) -> None:
    append_event(session, {"text": "Why is it dark?"}, author="user")
    append_event(
        session, {"text": "Let me see."}, usageMetadata={"promptTokenCount": 120, "candidatesTokenCount": 7}
    )
    html = read(auditor, page_of(session))
    assert html.index('id="event-1"') < html.index('id="event-2"')
    second = text_of(html, 'id="event-2"', "</summary>")
    for text in ("09:00:05", "+2.5 s", "<bdi>agent</bdi>", "message", "Let me see.", "120 &rarr; 7"):
        assert text in second
    assert '<span class="audit-gap"></span>' in text_of(html, 'id="event-1"', "</summary>")


def test_a_call_and_its_response_show_arguments_and_result_and_point_to_each_other(
    auditor: Client, session: Session
) -> None:
    append_event(session, {"functionCall": {"id": "c-1", "name": "look_up", "args": {"city": "Rome"}}})
    append_event(session, {"functionResponse": {"id": "c-1", "name": "look_up", "response": {"result": 21}}})
    html = read(auditor, page_of(session))
    assert "look_up(city=&quot;Rome&quot;)" in text_of(html, 'id="event-1"', "</summary>")
    assert 'href="?event=2#event-2">answered in #2' in text_of(html, 'id="event-1"')
    assert 'href="?event=1#event-1">asked for in #1' in text_of(html, 'id="event-2"')
    assert "&quot;result&quot;: 21" in text_of(html, 'id="event-2"')


def test_the_sources_of_an_answer_are_listed(auditor: Client, session: Session) -> None:
    web = {"title": "Lamps", "uri": "https://lamps.example/"}
    append_event(session, {"text": "Blue."}, groundingMetadata={"groundingChunks": [{"web": web}]})
    listed = text_of(read(auditor, page_of(session)), '<details class="sources" open>', "</details>")
    assert '<a href="https://lamps.example/"' in listed and "Lamps" in listed


def test_a_response_on_another_page_is_found_too(auditor: Client, session: Session) -> None:
    append_event(session, {"functionCall": {"id": "c-1", "name": "look_up", "args": {}}})
    for _ in range(100):
        append_event(session, {"text": "…"})
    append_event(session, {"functionResponse": {"id": "c-1", "name": "look_up", "response": {}}})
    first, last = (" ".join(read(auditor, page_of(session, page)).split()) for page in ("", "?page=last"))
    assert "answered in #102" in first
    assert "asked for in #1<" in last


def test_errors_transfers_and_unknown_parts_are_shown(auditor: Client, session: Session) -> None:
    append_event(session, errorCode="SAFETY", errorMessage="It was blocked.")
    append_event(session, {"text": "Over to you"}, actions={"transferToAgent": "billing"})
    append_event(
        session,
        {"inlineData": {"mimeType": "image/png", "data": "QUJD" * 500}},
        {"executableCode": {"code": "1+1"}, "thoughtSignature": "U0lH" * 500},
    )
    html = read(auditor, page_of(session))
    assert "SAFETY: It was blocked." in text_of(html, 'id="event-1"', "</summary>")
    assert "transfers to billing" in text_of(html, 'id="event-2"', "</summary>")
    third = text_of(html, 'id="event-3"')
    assert "image/png, about 1500 bytes" in third
    assert "1+1" in third and "signature, 1500 bytes" in third and "U0lH" not in third


def test_malformed_events_do_not_break_the_page(auditor: Client, session: Session) -> None:
    for body in ({}, {"content": None, "actions": None}, {"content": {"parts": [{}, {"text": ""}]}}):
        session.last_seq += 1
        Event.objects.create(session=session, seq=session.last_seq, body=body)
    session.save()
    assert 'id="event-3"' in read(auditor, page_of(session))


def test_a_page_has_100_events_and_a_link_to_the_newest(auditor: Client, session: Session) -> None:
    for _ in range(205):
        append_event(session, {"text": "…"})
    first = read(auditor, page_of(session))
    assert first.count('class="audit-event"') == 100
    assert 'href="?page=last#timeline"' in first
    assert read(auditor, page_of(session, "?page=last")).count('class="audit-event"') == 5


def test_a_permalink_opens_the_page_with_its_event(auditor: Client, session: Session) -> None:
    for _ in range(205):
        append_event(session, {"text": "…"})
    html = read(auditor, page_of(session, "?event=101"))
    assert 'id="event-101" open' in html
    assert 'id="event-100"' not in html


def test_events_are_filtered_by_kind_author_and_invocation(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "one"}, author="user")
    append_event(session, {"text": "two"}, author="agent")
    append_event(session, {"functionCall": {"id": "c", "name": "f"}}, author="agent", invocationId="e-2")
    for query, seqs in (
        ("?kind=call", [3]),
        ("?author=user", [1]),
        ("?author=agent&kind=message", [2]),
        ("?invocation=e-2", [3]),
        ("?invocation=nobody", []),
    ):
        html = read(auditor, page_of(session, query))
        assert [seq for seq in (1, 2, 3) if f'id="event-{seq}"' in html] == seqs, query


@pytest.mark.parametrize(
    "query",
    ["?kind=nonsense", "?at=-1", "?at=x", "?event=9" + "9" * 30, "?page=0", "?page=7e9"],
)
def test_an_invalid_query_string_still_shows_the_page(auditor: Client, session: Session, query: str) -> None:
    append_event(session, {"text": "one"})
    assert 'id="event-1"' in read(auditor, page_of(session, query))


def test_an_unknown_session_or_event_is_not_found(auditor: Client, session: Session) -> None:
    session.pk = uuid.uuid4()
    assert auditor.get(page_of(session)).status_code == 404
    assert auditor.get(reverse("admin:sessions_app_session_change", args=["nonsense"])).status_code == 404
    assert (
        auditor.get(reverse("admin:sessions_app_session_event_raw", args=[session.pk, 1])).status_code == 404
    )
