"""Annotations of staff: acts on what the user may see, exported as an eval set; feedback beside its answer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import load_eval_set
from sessions_app.contrib.evaluation.sources import marked_set
from sessions_app.models import Annotation, Event, Feedback, Remit, Session, StaffAccess, StaffAct
from tests.integration.admin.audit_rows import HOSTILE, append_event, list_url, page_of, read, sign_in

pytestmark = pytest.mark.django_db(transaction=True)
ADD = "/admin/sessions_app/annotation/add/"
EXPORT = "/admin/sessions_app/annotation/evalset.json"
ALL_RIGHTS = ("view_text", "export_data", "add_annotation", "delete_annotation")


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, "annotation", "session", "feedback", rights=ALL_RIGHTS)


def annotate(client: Client, session: Session, **values: Any) -> Any:
    return client.post(ADD, {"session": session.pk, "seq": "", "label": "", "note": "", **values})


def exported(client: Client, label: str = "refunds") -> Any:
    response = client.get(EXPORT, {"label": label})
    assert response.status_code == 200

    async def join() -> bytes:
        return b"".join([chunk async for chunk in response])  # type: ignore[attr-defined]

    return json.loads(asyncio.run(join()))


def converse(session: Session) -> None:
    call = {"id": "c-1", "name": "refund", "args": {"order": 1001, "api_key": "geheim"}}
    asked = {"id": "c-2", "name": "adk_request_confirmation", "args": {}}
    append_event(session, {"text": "Refund it."}, author="user")
    append_event(session, {"text": "One moment."}, {"functionCall": call})
    append_event(session, {"functionCall": asked}, longRunningToolIds=["c-2"])
    append_event(
        session, {"functionResponse": {"id": "c-2", "name": asked["name"], "response": {}}}, author="user"
    )
    append_event(
        session, {"functionResponse": {"id": "c-1", "name": "refund", "response": {"status": "done"}}}
    )
    append_event(session, {"text": "It is refunded."})


def test_an_annotation_keeps_its_author_and_is_an_act(staff: Client, session: Session) -> None:
    append_event(session, {"text": "hello"})
    response = annotate(staff, session, seq=1, label="refunds", note="Ask first.")
    assert response.headers["Location"] == page_of(session, "?event=1#event-1")
    row = Annotation.objects.get()
    assert (row.seq, row.label, row.note, row.by_name) == (1, "refunds", "Ask first.", "staff")
    act = StaffAct.objects.get()
    assert (act.action, act.subject_kind, act.subject_id) == ("add", "annotation", str(row.pk))
    assert staff.post(f"/admin/sessions_app/annotation/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Annotation.objects.exists()
    assert StaffAct.objects.filter(action="delete", subject_kind="annotation").count() == 1


@pytest.mark.parametrize(
    "values", [{}, {"label": "  "}, {"label": "x" * 65}, {"label": "x", "seq": 2}, {"label": "x", "seq": 0}]
)
def test_an_annotation_that_says_nothing_or_of_no_event_is_refused(
    staff: Client, session: Session, values: dict[str, Any]
) -> None:
    append_event(session, {"text": "hello"})
    page = annotate(staff, session, **values).content.decode()
    assert "errorlist" in page and "Number of the event" in page
    assert not Annotation.objects.exists()


def test_staff_annotate_sessions_of_their_remit_only(staff: Client, session: Session, person: User) -> None:
    group = Group.objects.create(name="Shop")
    User.objects.get(username="staff").groups.add(group)
    Remit.objects.create(group=group, app_name="shop")
    assert "errorlist" in annotate(staff, session, label="refunds").content.decode()
    inside = Session.objects.create(app_name="shop", user=person, key="s-2")
    append_event(inside, {"text": "hello"}, author="user")
    annotate(staff, inside, label="refunds")
    Annotation.objects.create(session=session, label="refunds", by_name="root")
    assert [case["eval_id"] for case in exported(staff)["eval_cases"]] == [str(inside.pk)]


def test_marked_conversations_are_an_eval_set_of_the_adk(
    staff: Client, session: Session, person: User
) -> None:
    converse(session)
    for seq in (1, 2):
        Annotation.objects.create(session=session, seq=seq, label="refunds", by_name="root")
    Annotation.objects.create(
        session=Session.objects.create(app_name="shop", user=person, key="s-2"), label="other", by_name="root"
    )
    found = exported(staff)
    assert StaffAccess.objects.get().detail == "1 session labelled refunds"
    assert found["eval_set_id"] == "refunds" and len(found["eval_cases"]) == 1
    (case,) = found["eval_cases"]
    (invocation,) = case["conversation"]
    assert invocation["user_content"] == {"parts": [{"text": "Refund it."}], "role": "user"}
    assert invocation["final_response"]["parts"] == [{"text": "It is refunded."}]
    data = invocation["intermediate_data"]
    assert data["tool_uses"] == [
        {"id": "c-1", "name": "refund", "args": {"order": 1001, "api_key": "[masked]"}}
    ]
    assert [one["response"] for one in data["tool_responses"]] == [{"status": "done"}]
    assert data["intermediate_responses"][0][0] == "agent"
    assert case["session_input"] == {"app_name": "help_desk", "user_id": str(person.pk), "state": {}}


def test_the_eval_set_is_one_that_adk_eval_reads(staff: Client, session: Session, tmp_path: Path) -> None:
    converse(session)
    Annotation.objects.create(session=session, label="refunds", by_name="root")
    path = tmp_path / "refunds.evalset.json"
    path.write_text(json.dumps(exported(staff)))
    assert load_eval_set(path) == marked_set("help_desk", "refunds").model_copy(
        update={"creation_timestamp": load_eval_set(path).creation_timestamp}
    )


@pytest.mark.skipif("ADK_PYTHON" not in os.environ, reason="ADK_PYTHON is not set")
def test_the_eval_set_is_one_that_google_adk_reads(staff: Client, session: Session) -> None:
    converse(session)
    Annotation.objects.create(session=session, label="refunds", by_name="root")
    found = exported(staff)
    program = (
        "import sys; from google.adk.evaluation.eval_set import EvalSet;"
        "print(EvalSet.model_validate_json(sys.stdin.read()).model_dump_json(exclude_none=True))"
    )
    command = [os.environ["ADK_PYTHON"], "-c", program]
    read = subprocess.run(command, input=json.dumps(found), capture_output=True, text=True, check=True)
    assert EvalSet.model_validate_json(read.stdout) == EvalSet.model_validate(found)


def test_an_odd_event_is_no_part_of_a_case(staff: Client, session: Session) -> None:
    append_event(session, {"text": "Hello"}, author="user")
    odd: tuple[dict[str, Any], ...] = (
        {"content": {"parts": ["x"]}},
        {"content": 5},
        {"actions": []},
        {"author": 7},
    )
    for body in odd:
        session.last_seq += 1
        session.save()
        Event.objects.create(
            session=session, seq=session.last_seq, body={"invocationId": "e-1", "author": "a", **body}
        )
    append_event(session, {"text": "Bye \u202e"})
    Annotation.objects.create(session=session, label="refunds", by_name="root")
    (invocation,) = exported(staff)["eval_cases"][0]["conversation"]
    assert invocation["final_response"]["parts"] == [{"text": "Bye \u202e"}]


def test_the_eval_set_needs_a_label_and_the_rights_to_export_and_to_read_texts(staff: Client) -> None:
    assert staff.get(EXPORT).status_code == 400
    user = User.objects.get(username="staff")
    for right in ("export_data", "view_text"):
        permission = Permission.objects.get(codename=right)
        user.user_permissions.remove(permission)
        assert staff.get(EXPORT, {"label": "x"}).status_code == 403, right
        user.user_permissions.add(permission)


def test_sessions_are_found_by_a_label_and_the_label_is_offered_for_export(
    staff: Client, session: Session
) -> None:
    Annotation.objects.create(session=session, label=f"a {HOSTILE}"[:64], note=HOSTILE, by_name=HOSTILE)
    Annotation.objects.create(session=session, label="refunds", by_name="root")
    assert page_of(session) in read(staff, list_url("session", "?label=refunds"))
    assert page_of(session) not in read(staff, list_url("session", "?label=nothing"))
    html = read(staff, list_url("annotation", "?label=refunds"))
    assert "evalset.json?label=refunds" in html
    for url in (list_url("annotation"), page_of(session)):
        html = read(staff, url)
        assert "<script>alert" not in html and "refunds" in html
    assert f"{ADD}?session={session.pk}" in read(staff, page_of(session))


def test_feedback_stands_beside_the_answer_it_is_about(staff: Client, session: Session, person: User) -> None:
    append_event(session, {"text": "Where is my lamp?"}, author="user")
    append_event(session, {"text": f"It is on its way {HOSTILE}"})
    Feedback.objects.create(session=session, user=person, seq=2, rating="bad", comment="It is not")
    Feedback.objects.create(session=session, user=person, seq=9, rating="bad")
    html = read(staff, list_url("feedback"))
    assert "It is on its way &lt;script&gt;" in html and "It is not" in html
    user = User.objects.get(username="staff")
    user.user_permissions.remove(Permission.objects.get(codename="view_text"))
    assert "It is on its way" not in read(staff, list_url("feedback"))
