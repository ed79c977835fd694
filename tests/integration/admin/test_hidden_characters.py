"""Control and direction characters in stored text: pages show them as escapes, in every field."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import (
    ActRequest,
    AppState,
    CaseEntry,
    CaseFile,
    CaseItem,
    Feedback,
    Invocation,
    LegalHold,
    Session,
    ShareLink,
    StaffAct,
    UserState,
)
from sessions_app.rendering.hidden_characters import show_hidden_characters
from tests.integration.admin.audit_rows import (
    append_event,
    make_artifact,
    make_job,
    make_scheduled_task,
    page_of,
    read,
)

pytestmark = pytest.mark.django_db
OVERRIDE, BELL, ISOLATE, ZERO_WIDTH = "\u202e", "\x07", "\u2066", "\u200b"
HIDDEN = (OVERRIDE, BELL, ISOLATE, ZERO_WIDTH)
ODD = f"a{OVERRIDE}gnp.exe{BELL}{ISOLATE}{ZERO_WIDTH}z"
MARKED = '<span class="audit-hidden">\\u202e</span>'


@pytest.fixture
def odd_rows() -> dict[str, Any]:
    """Rows whose every field holds hidden characters, by the name of the model."""
    person = User.objects.create(username=ODD, first_name=ODD)
    session = Session.objects.create(app_name=ODD, user=person, key=ODD, title=ODD, initial_state={ODD: ODD})
    delta = {ODD: ODD, f"app:{ODD}": ODD}
    names = {"invocationId": ODD, "author": ODD, "branch": ODD, "modelVersion": ODD}
    append_event(session, {"text": ODD}, errorCode=ODD, errorMessage=ODD, **names)
    actions = {"stateDelta": delta, "artifactDelta": {ODD: 0}, "transferToAgent": ODD}
    call = {"functionCall": {"id": ODD, "name": ODD, "args": {ODD: ODD}}}
    append_event(session, call, before=delta, actions=actions, **names)
    question = {"text": ODD, "options": [ODD], "asked_at": "2026-11-22T09:00:00+00:00"}
    answer = {"text": ODD, "options": [], "answer": ODD, "by": ODD, "at": "2026-11-22T09:00:00+00:00"}
    texts = {"tool_name": ODD, "task_name": ODD, "agent_name": ODD, "call_id": ODD, "invocation_id": ODD}
    stop = {"cancel_reason": ODD, "cancelled_by_name": ODD, "cancel_requested_at": session.created_at}
    job = make_job(
        session, progress_message=ODD, error=ODD, error_detail=ODD, worker=ODD, args={ODD: ODD}, result=ODD,
        question=question, answers=[answer], artifacts={ODD: 0}, **texts, **stop,
    )  # fmt: skip
    invocation = Invocation.objects.create(
        session=session, invocation_id=ODD, client_id=ODD, message={ODD: ODD}, owner=ODD,
        error_code=ODD, error_message=ODD, error_detail=ODD, **stop,
    )  # fmt: skip
    return {
        "session": session,
        "invocation": invocation,
        "tooljob": job,
        "scheduledtask": make_scheduled_task(session, task=ODD, error=ODD, agent_name=ODD, cancelled_by_name=ODD),
        "artifact": make_artifact(session, ODD),
        "feedback": Feedback.objects.create(session=session, user=person, seq=1, rating="bad", comment=ODD),
        "sharelink": ShareLink.objects.create(session=session, revoked_by_name=ODD),
        "staffact": StaffAct.objects.create(
            actor_kind="staff", actor_name=ODD, action="stop", subject_kind=ODD[:8], subject_id=ODD, reason=ODD
        ),
        "actrequest": ActRequest.objects.create(
            act="erase", subject_kind="session", subject_id=str(session.pk), actor_name=ODD, reason=ODD
        ),
        "casefile": make_odd_case_file(session),
        "legalhold": LegalHold.objects.create(session=session, reason=ODD, set_by=person, lift_reason=ODD),
        "appstate": AppState.objects.update_or_create(app_name=ODD, defaults={"state": delta})[0],
        "userstate": UserState.objects.update_or_create(
            app_name=ODD, user=person, defaults={"state": delta}
        )[0],
    }  # fmt: skip


def make_odd_case_file(session: Session) -> CaseFile:
    case = CaseFile.objects.create(actor_kind="staff", actor_name=ODD, title=ODD)
    CaseItem.objects.create(case=case, session_id=session.pk, seq=1, actor_name=ODD)
    CaseEntry.objects.create(case=case, kind="note", text=ODD, actor_name=ODD)
    CaseEntry.objects.create(case=case, kind="read", text=ODD, actor_id="2", actor_name=ODD)
    return case


def pages_of(rows: dict[str, Any]) -> list[str]:
    lists = [reverse(f"admin:sessions_app_{name}_changelist") for name in (*rows, "event")]
    pages = [reverse(f"admin:sessions_app_{name}_change", args=[quote(row.pk)]) for name, row in rows.items()]
    session, person = rows["session"], rows["session"].user
    confirmations = [
        reverse(f"admin:sessions_app_{name}", args=[quote(rows[name.partition("_")[0]].pk)])
        for name in (
            "tooljob_stop",
            "invocation_stop",
            "legalhold_lift",
            "actrequest_answer",
            "casefile_seal",
        )
    ]
    users = [reverse("admin:auth_user_changelist"), reverse("admin:auth_user_delete", args=[person.pk])]
    return [*lists, *pages, *confirmations, *users, page_of(session, "?at=2"), page_of(session, "?event=1")]


def test_no_page_sends_a_hidden_character_and_every_page_shows_the_escape(
    client: Client, odd_rows: dict[str, Any]
) -> None:
    client.force_login(User.objects.create_superuser("root"))
    for url in pages_of(odd_rows):
        html = read(client, url)
        assert not [character for character in HIDDEN if character in html], url
        assert MARKED in html, url


def test_every_value_of_the_timeline_is_isolated(client: Client, odd_rows: dict[str, Any]) -> None:
    client.force_login(User.objects.create_superuser("root"))
    html = read(client, page_of(odd_rows["session"], "?at=2"))
    shown = html.split('id="content"', 1)[1]
    isolated = re.findall(
        r"<(?:bdi|code|pre|option|h1|h3|a)\b[^>]*>[^<]*<span class=\"audit-hidden\">", shown
    )
    assert len(isolated) >= 40
    bare = re.findall(
        r"<(?:td|dd|p|span|div)(?: class=\"(?!audit-hidden)[^\"]*\")?>[^<]*<span class=\"audit-hidden\">",
        shown,
    )
    assert bare == []


def test_the_filter_keeps_what_a_form_sends_back_and_text_without_hidden_characters() -> None:
    field = f'<input name="q" value="{ODD}"><textarea>{ODD}</textarea>'
    assert show_hidden_characters(field) == field
    plain = "<p>\t\u05e9\u05dc\u05d5\u05dd 👩\u200d💻 ü\r\n</p>"
    assert show_hidden_characters(plain) == plain
    assert show_hidden_characters(f'<a title="{OVERRIDE}">{BELL}</a>') == (
        '<a title="\\u202e"><span class="audit-hidden">\\u0007</span></a>'
    )
    assert show_hidden_characters(f"<title>{OVERRIDE}</title>") == "<title>\\u202e</title>"


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", ["<", "<a ", "<script>", "<textarea <", "<title>", "</style"])
def test_a_page_with_many_raw_brackets_takes_linear_time(piece: str) -> None:
    times = []
    for length in (25_000, 200_000):
        began = time.process_time()
        assert "u202e" in show_hidden_characters(f"<p>{piece * (length // len(piece))}</p>\u202e")
        times.append(time.process_time() - began)
    assert times[1] < 30 * times[0] + 0.1
