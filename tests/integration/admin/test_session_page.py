"""A session's page: calls as one entry, groups of invocations, views and filters."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.models import Invocation, Session
from tests.fakes import ScriptedModel
from tests.integration.admin.audit_rows import (
    HOSTILE,
    append_event,
    make_artifact,
    make_job,
    page_of,
    read,
    sign_in,
    text_of,
)
from tests.served_agents import Served

pytestmark = pytest.mark.django_db
PENDING = {"status": "pending", "message": "This call requires confirmation."}


def call(call_id: str, name: str, **args: object) -> dict[str, object]:
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def response(call_id: str, name: str, **result: object) -> dict[str, object]:
    return {"functionResponse": {"id": call_id, "name": name, "response": result}}


def ask(request_id: str, call_id: str, name: str) -> dict[str, object]:
    original = {"id": call_id, "name": name, "args": {}}
    return call(request_id, "adk_request_confirmation", originalFunctionCall=original, toolConfirmation={})


def append_refund(session: Session, is_confirmed: bool = True) -> None:
    """Append a call, its pending response, the question, the person's answer and the result, as events 1 to 5."""
    append_event(session, call("c-1", "refund", order=1001))
    append_event(session, response("c-1", "refund", **PENDING))
    append_event(session, ask("r-1", "c-1", "refund"), longRunningToolIds=["r-1"])
    append_event(
        session,
        response("r-1", "adk_request_confirmation", confirmed=is_confirmed),
        author="user",
        invocationId="e-2",
    )
    result = (
        {"refund": "R-77"} if is_confirmed else {"error": "The person rejected this call: it did not run."}
    )
    append_event(session, response("c-1", "refund", **result), invocationId="e-2")


def entries(html: str) -> list[str]:
    return [text_of(part, "<summary>", "</summary>") for part in html.split('class="audit-entry"')[1:]]


def test_02_a_call_its_approval_and_its_result_are_one_row_with_duration_and_outcome(
    auditor: Client, session: Session
) -> None:
    append_refund(session)
    append_event(session, {"text": "It is on its way."}, invocationId="e-2")
    html = read(auditor, page_of(session))
    (row,) = entries(html)
    assert '<span class="audit-badge" data-status="ok">ok</span>' in row
    assert "refund(order=1001)" in row and "approved #4" in row and "R-77" in row
    assert '<span class="audit-took">10.0 s</span>' in row and "1&ndash;5" in row
    assert re.findall(r'id="event-(\d)"', html) == ["1", "2", "3", "4", "5", "6"]


def test_the_row_of_a_call_names_who_approved(auditor: Client, session: Session) -> None:
    append_refund(session)
    names = {"actor_kind": "staff", "actor_name": f"grace {HOSTILE}"}
    Invocation.objects.create(session=session, invocation_id="e-2", client_id="c", message={}, **names)
    (row,) = entries(read(auditor, page_of(session)))
    assert "approved #4 by" in row and "<bdi>grace &lt;" in row and "<script>" not in row


def test_a_rejected_call_and_one_that_still_waits_say_so(auditor: Client, session: Session) -> None:
    append_refund(session, is_confirmed=False)
    append_event(session, call("c-2", "refund"))
    append_event(session, response("c-2", "refund", **PENDING))
    append_event(session, ask("r-2", "c-2", "refund"), longRunningToolIds=["r-2"])
    rejected, waiting = entries(read(auditor, page_of(session)))
    assert 'data-status="declined"' in rejected and "rejected #4" in rejected
    assert 'data-status="pending"' in waiting and "waits for an approval" in waiting


def test_parallel_calls_have_a_line_each_and_a_failed_one_is_red(auditor: Client, session: Session) -> None:
    append_event(session, call("c-1", "look_up"), call("c-2", "history"))
    append_event(
        session,
        response("c-1", "look_up", price=49),
        response("c-2", "history", error="The archive does not answer."),
        customMetadata={"adk_call_seconds": {"c-1": 0.412, "c-2": 5.0}},
    )
    html = read(auditor, page_of(session))
    (row,) = entries(html)
    assert row.count('class="audit-call"') == 2
    for text in (
        'data-status="ok"',
        'data-status="failed"',
        "412 ms",
        "5.0 s",
        "The archive does not answer.",
    ):
        assert text in row
    assert 'id="entry-1" data-failed' in html and 'data-kind="response" data-failed' in html


def test_a_result_that_comes_later_stands_with_its_call(auditor: Client, session: Session) -> None:
    append_event(session, call("c-1", "report"), longRunningToolIds=["c-1"])
    append_event(session, response("c-1", "report", status="queued", job_id="x"))
    append_event(session, {"text": "Meanwhile"}, author="user", invocationId="e-2")
    make_job(session, status="running")
    (row,) = entries(read(auditor, page_of(session)))
    assert 'data-status="running"' in row
    append_event(session, response("c-1", "report", pages=3), author="user", invocationId="e-3")
    (row,) = entries(read(auditor, page_of(session)))
    assert 'data-status="ok"' in row and "pages" in row and "1&ndash;4" in row
    append_event(session, call("c-2", "report"), longRunningToolIds=["c-2"])
    append_event(session, response("c-2", "report", status="cancelled", error="It was stopped."))
    html = read(auditor, page_of(session))
    assert 'data-status="cancelled"' in entries(html)[1] and "data-failed" not in html


def test_a_call_shows_the_approval_and_the_result_that_are_on_a_later_page(
    auditor: Client, session: Session
) -> None:
    for _ in range(99):
        append_event(session, {"text": "…"})
    append_refund(session)
    first = read(auditor, page_of(session))
    row = text_of(first, 'id="event-100"', "</summary>")
    for text in ("refund(order=1001)", "approved #103", "R-77", "10.0 s"):
        assert text in row, text


@pytest.mark.parametrize(("events_before", "row_of_call"), [(0, "entry-1"), (99, "event-100")])
def test_a_request_made_by_a_model_takes_no_approval_from_a_call(
    auditor: Client, session: Session, events_before: int, row_of_call: str
) -> None:
    """The request is on the page of the call, or on the next."""
    for _ in range(events_before):
        append_event(session, {"text": "…"})
    append_refund(session)
    append_event(session, ask("r-2", "c-1", "refund"))
    error = "There is no tool 'adk_request_confirmation'."
    append_event(session, response("r-2", "adk_request_confirmation", error=error))
    row = text_of(read(auditor, page_of(session)), f'id="{row_of_call}"', "</summary>")
    assert f"approved #{events_before + 4}" in row and "waits for an approval" not in row
    made_by_model = entries(read(auditor, page_of(session, "?page=last")))[-1]
    for text in ("adk_request_confirmation(", 'data-status="failed"', "There is no tool"):
        assert text in made_by_model, text


def test_a_text_beside_an_answer_keeps_its_own_row(auditor: Client, session: Session) -> None:
    append_event(session, call("c-1", "f"))
    append_event(session, response("c-1", "f"), {"text": "And by the way"}, author="user")
    assert entries(read(auditor, page_of(session))) == []


def test_groups_name_their_invocation_with_beginning_status_runtime_and_tokens(
    auditor: Client, session: Session
) -> None:
    usage = {"promptTokenCount": 120, "candidatesTokenCount": 7}
    append_event(session, {"text": "Refund it"}, author="user", invocationId="e-1")
    append_event(session, {"text": "Done"}, invocationId="e-1", usageMetadata=usage)
    append_event(session, {"text": "Reported"}, invocationId="e-2")
    append_event(session, {"text": "One more"}, invocationId="e-1")
    append_event(session, {"text": "Paid"}, invocationId="e-3")
    for name, client_id in (("e-1", "m-1"), ("e-2", "job:7"), ("e-3", "answer:8")):
        values = {"client_id": client_id, "status": "completed", "agent_version": f"shop:1@{name}"}
        Invocation.objects.create(session=session, invocation_id=name, message={}, **values)
    html = read(auditor, page_of(session))
    assert html.count("<bdi>shop:1@e-2</bdi>") == 1
    heads = [text_of(part, "<summary>", "</summary>") for part in html.split('class="audit-group"')[1:]]
    assert [
        ("e-1" in head, "begun by the result of a job" in head, "continued" in head) for head in heads
    ] == [
        (True, False, False),
        (False, True, False),
        (True, False, True),
        (False, False, False),
    ]
    assert "begun by an answer" in heads[3] and "person" not in heads[3]  # staff may have answered
    assert "Refund it" in heads[0] and "120 &rarr; 7" in heads[0] and 'data-status="completed"' in heads[0]


def test_events_are_filtered_by_branch_tool_errors_and_what_they_contain(
    auditor: Client, session: Session
) -> None:
    append_event(session, {"text": 'He said "five"'}, author="user")
    append_event(session, call("c-1", "look_up", order=1001), branch="a.b")
    append_event(session, response("c-1", "look_up", error="No"))
    append_event(session, errorCode="SAFETY", errorMessage="Blocked")
    append_event(
        session, response("c-2", "report", status="cancelled", error="The job was stopped by staff.")
    )
    append_event(session, response("c-3", "fetch", status=500, error="Gone"))
    for query, seqs in (
        ("?branch=a.b", [2]),
        ("?tool=look_up", [2, 3]),
        ("?failed=on", [3, 4, 6]),
        ("?q=1001", [2]),
        ("?q=%22FIVE%22", [1]),
        ("?q=%25", []),
    ):
        html = read(auditor, page_of(session, query))
        assert [int(seq) for seq in re.findall(r'id="event-(\d)"', html)] == seqs, query
    assert "<option>look_up</option>" in html and "<option>a.b</option>" in html


def test_the_view_of_the_person_shows_what_the_chat_showed(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "Taken back"}, author="user", invocationId="e-1")
    append_event(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-1"})
    append_event(session, {"text": f"**bold** {HOSTILE}"}, invocationId="e-2")
    append_event(session, call("c-1", "look_up_order", token="s3cret"), actions={"stateDelta": {"inside": 1}})
    html = read(auditor, page_of(session, "?view=person"))
    shown = text_of(html, 'id="timeline"', "</section>")
    assert "<strong>bold</strong>" in shown and "inside" not in shown
    assert "Taken back" in text_of(shown, "<del>", "</del>") and shown.count("<del>") == 1
    assert "<script>" not in shown and "<img" not in shown and "s3cret" not in shown
    assert 'id="event-3"' in shown and 'href="?event=3#event-3"' in shown


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_the_view_of_the_person_tells_an_approved_call_as_done_below_its_approval(
    auditor: Client, session: Session, is_confirmed: bool
) -> None:
    append_refund(session, is_confirmed)
    shown = text_of(read(auditor, page_of(session, "?view=person")), 'id="timeline"', "</section>")
    words = ["Refund", "Approved by" if is_confirmed else "Rejected by"]
    outcome = re.search(r'id="event-5".*', shown, re.DOTALL)
    assert [shown.index(word) for word in words] == sorted(shown.index(word) for word in words)
    assert outcome and ("Refund" in outcome[0], "declined" in outcome[0]) == (True, not is_confirmed)


def test_a_call_of_the_view_of_the_person_is_done_when_a_later_page_has_its_answer(
    auditor: Client, session: Session, monkeypatch: pytest.MonkeyPatch, served: Served
) -> None:
    def look_up_order(order: int) -> str:
        """Look an order up."""
        return f"{order}"

    app = App(
        name="help_desk", root_agent=LlmAgent(name="agent", model=ScriptedModel(), tools=[look_up_order])
    )
    served(app)
    monkeypatch.setattr("sessions_app.admin.session.timeline.page.EVENTS_PER_PAGE", 2)
    append_event(session, {"text": "Where is it?"}, author="user")
    append_event(session, call("c-1", "look_up_order", order=1001), invocationId="e-1")
    append_event(session, response("c-1", "look_up_order", **PENDING), invocationId="e-1")
    assert "Look up order (Order: 1001)" in read(auditor, page_of(session, "?view=person&page=1"))
    append_event(session, response("c-1", "look_up_order", status="sent"), invocationId="e-2")
    assert "Looked up order (Order: 1001)" in read(auditor, page_of(session, "?view=person&page=1"))
    append_event(session, author="user", invocationId="r", actions={"rewindBeforeInvocationId": "e-2"})
    assert "Look up order (Order: 1001)" in read(auditor, page_of(session, "?view=person&page=1"))


def test_the_raw_view_shows_each_event_as_it_is_stored(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "One"})
    html = read(auditor, page_of(session, "?view=raw"))
    assert "&quot;text&quot;: &quot;One&quot;" in text_of(html, 'id="event-1"', "</section>")


def test_the_state_of_all_scopes_and_the_files_stand_beside_the_timeline(
    auditor: Client, session: Session
) -> None:
    append_event(session, actions={"stateDelta": {"step": 1}, "artifactDelta": {"notes.txt": 0}})
    append_event(session, {"text": "…"})
    append_event(session, actions={"stateDelta": {"step": 2}})
    make_artifact(session, "notes.txt")
    html = read(auditor, page_of(session))
    state = text_of(html, 'id="state"', "</section>")
    assert "Current state" in state and '<pre class="audit-value" tabindex="0">2</pre>' in state
    assert 'data-change="prev" href="?at=3#state"' in state
    files = text_of(html, 'id="files"', "</section>")
    assert "notes.txt" in files and 'href="?event=1#event-1"' in files
    first = text_of(read(auditor, page_of(session, "?at=1")), 'id="state"', "</section>")
    assert 'data-change="next" href="?at=3#state"' in first and 'data-change="prev"' not in first


def test_a_page_can_ask_how_far_the_log_reaches(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "One"})
    news = reverse("admin:sessions_app_session_news", args=[session.pk])
    assert auditor.get(news).json() == {"seq": 1, "status": None}
    Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m", message={}, status="waiting"
    )
    append_event(session, {"text": "Two"})
    assert auditor.get(news).json() == {"seq": 2, "status": "waiting"}
    assert f'data-news="{news}" data-seq="2" data-status="waiting"' in read(auditor, page_of(session))
    assert "data-news" not in read(auditor, page_of(session, "?at=1"))


def test_the_page_of_a_file_leads_to_the_event_that_saved_it(client: Client, session: Session) -> None:
    sign_in(client, "session", "artifact")
    append_event(session, {"text": "…"})
    append_event(session, actions={"artifactDelta": {"notes.txt": 1}})
    for version in (0, 1):
        make_artifact(session, "notes.txt", version=version)
    first, second = session.artifacts.order_by("version")
    link = f'href="{page_of(session)}?event=2#event-2"'
    assert link in read(client, reverse("admin:sessions_app_artifact_change", args=[second.pk]))
    assert link not in read(client, reverse("admin:sessions_app_artifact_change", args=[first.pk]))


def test_23_chat_and_audit_lead_to_each_other_for_the_owner_with_the_permission(
    client: Client, session: Session, person: User
) -> None:
    append_event(session, {"text": "Hello"}, author="user")
    sign_in(client, "session")
    chat = reverse("chat:session", args=[session.pk])
    assert chat not in read(client, page_of(session))
    staff = User.objects.get(username="staff")
    Session.objects.filter(pk=session.pk).update(user=staff)
    assert f'href="{chat}#event-1"' in read(client, page_of(session))
    assert page_of(session) in read(client, chat)
    client.force_login(person)
    Session.objects.filter(pk=session.pk).update(user=person)
    assert page_of(session) not in read(client, chat)


def test_a_minimap_shows_all_events_and_leads_to_the_first_error_of_each_column(
    auditor: Client, session: Session
) -> None:
    for number in range(1, 361):
        failed = {"errorCode": "OVERLOADED"} if number == 200 else {}
        append_event(session, {"text": "x"}, invocationId=f"e-{number // 4}", **failed)
    html = read(auditor, page_of(session, "?page=2"))
    minimap = text_of(html, 'class="audit-minimap"', "</svg>")
    links = re.findall(r'href="\?event=(\d+)#event-\1"', minimap)
    assert len(links) == 120 and links[:2] == ["1", "4"] and "200" in links and "199" not in links
    assert minimap.count('data-kind="error"') == 1
    (place,) = re.findall(r'audit-minimap-page" x="([\d.]+)" y="0" width="([\d.]+)"', minimap)
    assert (round(float(place[0]), 1), round(float(place[1]), 1)) == (33.3, 33.3)
    assert "style=" not in minimap and "audit-minimap" not in read(
        auditor, page_of(Session.objects.create(app_name="help_desk", user=session.user, key="empty"))
    )


def test_an_invocation_is_one_line_with_its_id_once_and_nothing_empty_is_shown(
    client: Client, session: Session
) -> None:
    sign_in(client, "session", "invocation")
    Invocation.objects.create(
        session=session, invocation_id="e-7", client_id="m-7", message={}, status="completed"
    )
    append_event(session, {"text": "Hello"}, author="user", invocationId="e-7")
    html = read(client, page_of(session))
    line = text_of(html, 'class="audit-group"', "</summary>")
    assert line.count("e-7") == 1
    menu = text_of(html, 'class="audit-menu"', "</details>")
    assert "Only this invocation" in menu and "Trace" in menu and 'data-copy="e-7"' in menu
    for name in ("jobs", "scheduled-tasks", "feedback", "files"):
        assert re.search(rf'<section [^>]*id="{name}"[^>]* hidden>', html), name
    page = read(client, reverse("admin:sessions_app_invocation_change", args=[session.invocations.get().pk]))
    assert "field-invocation_id" in page and "field-error_message" not in page and "field-owner" not in page
