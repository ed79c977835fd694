"""Page "Who did what": acts of staff, people, API keys and agents in one list, within rights and remits."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from runtime.events.calls import REMOTE_AUTH, REMOTE_INPUT
from sessions_app.admin.acts import merged_list
from sessions_app.admin.framework.links import session_url
from sessions_app.base import actors
from sessions_app.base.actors import Act, ActionKind
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.models import (
    Artifact,
    ErasedSession,
    Event,
    Invocation,
    Remit,
    Session,
    SessionAct,
    StaffAccess,
    StaffAct,
)
from tests.integration.admin.audit_rows import HOSTILE, append_event, make_artifact, read, sign_in
from tests.integration.admin.test_large_lists import statements_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_noon")]
URL = "/admin/sessions_app/staffact/all/"
SOURCES = (
    "staffact", "staffaccess", "accountact", "sessionact", "artifact", "invocation", "tombstone", "event", "session",
)  # fmt: skip


def call_tool(session: Session, tool: str, call_id: str, response: dict[str, Any], **args: Any) -> None:
    now = timezone.now().timestamp()
    append_event(
        session, {"functionCall": {"id": call_id, "name": tool, "args": args}}, author="clerk", timestamp=now
    )
    answer = {"functionResponse": {"id": call_id, "name": tool, "response": response}}
    append_event(session, answer, author="clerk", timestamp=now)


def approve(session: Session, by: actors.Actor, reason: str = "") -> None:
    """Append a request for approval, and its answer by the actor."""
    now = timezone.now().timestamp()
    call = {"id": "c-0", "name": "refund", "args": {"order": "1001", "amount": 40}}
    asked = {"id": f"r-{by.kind}", "name": "adk_request_confirmation", "args": {"originalFunctionCall": call}}
    append_event(session, {"functionCall": asked}, author="clerk", timestamp=now)
    name = f"answer-{by.kind}"
    Invocation.objects.create(
        session=session, invocation_id=name, client_id=name, message={}, reason=reason, **by.columns()
    )
    answer = {"id": asked["id"], "name": asked["name"], "response": {"confirmed": True}}
    append_event(session, {"functionResponse": answer}, author="user", timestamp=now, invocationId=name)


def rows_of(html: str) -> list[list[str]]:
    """Return the texts of the cells of each row."""
    body = html.split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    return [
        [" ".join(re.sub(r"<[^>]*>", "", cell).split()) for cell in re.split(r"</t[hd]>", row)[:-1]]
        for row in body.split("</tr>")[:-1]
    ]


def test_the_acts_of_all_actors_are_one_list_with_tool_arguments_and_effect(
    client: Client, session: Session, person: User
) -> None:
    key = actors.api_key(person, "k-1", "Laptop")
    call_tool(session, "refund", "c-1", {"result": "ok"}, order="1001", amount=40)
    call_tool(session, "refund", "c-2", {"status": "pending"}, order="1002")
    approve(session, actors.person(person, "203.0.113.9"), "He is right.")
    approve(session, key)
    SessionAct.objects.record(session.pk, Act(key, ActionKind.STOP, ("invocation", "e-1"), "Too slow."))
    Artifact.objects.filter(pk=make_artifact(session, "bill.pdf").pk).update(is_upload=True)
    StaffAct.objects.create(
        **actors.Actor(actors.ActorKind.STAFF, "grace").columns(),
        action="approve", subject_kind="session", subject_id=str(session.pk), detail="refund(amount=7)#3",
    )  # fmt: skip
    page = unescape(read(sign_in(client, *SOURCES), URL))
    shown = rows_of(page)
    assert [row[6] for row in shown if row[1] == "staff grace"] == ["Broken lamp #3"]
    assert f'href="{session_url(session.pk, seq=3)}"' in page
    assert f'href="{session_url(session.pk, invocation="e-1")}"' in page
    name = person.get_username()
    found = [row[1:6] for row in shown]
    assert ["staff grace", "Approve", "refund", "amount: 7", "approved"] in found
    assert [
        f"person {name} from 203.0.113.9",
        "Approve",
        "refund",
        "amount: 40, order: 1001",
        "approved",
    ] in found
    assert [f"{name} by the key Laptop", "Approve", "refund", "amount: 40, order: 1001", "approved"] in found
    assert [f"{name} by the key Laptop", "Stop: invocation", "", "", ""] in found
    assert ["agent clerk", "Call", "refund", "amount: 40, order: 1001", "ok"] in found
    assert any(row[:3] == [f"person {name}", "Upload", ""] and row[3] == "bill.pdf" for row in found)
    # Of the calls, only the answered call is listed: the other still waits.
    assert sum(row[1] == "Call" for row in found) == 1
    assert {row[7] for row in shown} == {"", "He is right.", "Too slow."}
    assert StaffAccess.objects.get().subject_kind == "staffact"


def answer_question(
    session: Session, name: str, args: dict[str, Any], response: dict[str, Any] | None
) -> None:
    """Append a question of the framework, and the answer of the session's user."""
    now = timezone.now().timestamp()
    asked = {"id": f"q-{name}", "name": name, "args": args}
    append_event(session, {"functionCall": asked}, author="clerk", timestamp=now)
    answer = {"id": asked["id"], "name": name, "response": response}
    append_event(session, {"functionResponse": answer}, author="user", timestamp=now)


def test_a_question_and_its_answer_are_words_without_names_of_the_framework(
    client: Client, session: Session
) -> None:
    question = {
        "interruptId": "i-1",
        "message": "Refund it?",
        "payload": {"amount": 40, "card": "4111 1111 1111 1111"},
        "response_schema": {"type": "string"},
    }
    answer_question(session, "adk_request_input", question, {"result": "Yes, all of it"})
    staff = sign_in(client, *SOURCES)
    (row,) = rows_of(unescape(read(staff, URL)))
    words = "Refund it? (amount: 40, card: [masked]) Answer: Yes, all of it"
    assert row[2:6] == ["Answer", "question", words, "answered"]
    assert rows_of(read(staff, f"{URL}?tool=question")) == [row]
    remote = "mock_function_call_for_required_user_input"
    answer_question(session, "adk_request_input", {"payload": 7}, {"street": "Elm", "number": 3})
    answer_question(session, remote, {"a2a": "The blue lamp?"}, {"result": True})
    answer_question(session, "adk_request_credential", {"authConfig": {}}, {"apiKey": "hunter2"})
    html = unescape(read(staff, URL))
    assert [row[2:6] for row in rows_of(html)][:3] == [
        ["Answer", "credential", "", "answered"],
        ["Answer", "question", "The blue lamp? Answer: yes", "answered"],
        ["Answer", "question", "An answer is needed. (7) Answer: number: 3, street: Elm", "answered"],
    ]
    assert "adk_request" not in html and "hunter2" not in html and "interruptId" not in html
    erase_session(session.pk, ErasureOrder("asked", by_name="grace"))
    kept = [row[2:6] for row in rows_of(read(staff, URL)) if row[2] == "Answer"]
    assert sorted(kept) == [
        ["Answer", "credential", "", "answered"],
        ["Answer", "question", "", "answered"],
        ["Answer", "question", "", "answered"],
        ["Answer", "question", "7", "answered"],
    ]


def test_a_long_question_leaves_room_for_its_answer_and_a_sign_in_shows_the_question_alone(
    client: Client, session: Session
) -> None:
    question = "Which of these orders is it? " * 10
    answer_question(session, "adk_request_input", {"message": question}, {"result": "The last. " * 30})
    answer_question(session, REMOTE_INPUT, {"input_required": question}, {"result": "x" * 20_000})
    answer_question(session, REMOTE_AUTH, {"auth_required": "Send the PIN."}, {"result": "tr0ub4dor"})
    answer_question(session, REMOTE_INPUT, {"input_required": "The blue lamp?"}, None)
    html = unescape(read(sign_in(client, *SOURCES), URL))
    empty, sign_in_of_agent, large, long = [row[2:6] for row in rows_of(html)]
    assert empty == ["Answer", "question", "The blue lamp? Answer:", "answered"]
    assert sign_in_of_agent == ["Answer", "sign-in", "Send the PIN.", "answered"]
    assert "tr0ub4dor" not in html
    assert re.fullmatch(
        r"(Which of these orders is it\? ){4,}.*… Answer: \(too large for this list\)", large[2]
    )
    assert re.fullmatch(r"(Which of these orders is it\? ){4,}.*… Answer: (The last\. ){9,}.*…", long[2])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=agent", {"clerk: refund", "clerk: lookup"}),
        ("kind=person", {"ada: refund"}),
        ("kind=staff", {"grace: refund"}),
        ("actor=grace", {"grace: refund"}),
        ("tool=lookup", {"clerk: lookup"}),
        ("tool=refund&kind=agent", {"clerk: refund"}),
        ("day=2020-02-02", set()),
    ],
)
def test_the_list_is_filtered_by_kind_actor_tool_and_day(
    client: Client, session: Session, query: str, expected: set[str]
) -> None:
    call_tool(session, "refund", "c-1", {"result": "ok"})
    call_tool(session, "lookup", "c-2", {"result": "ok"})
    approve(session, actors.person(User(username="ada", pk=1)))
    grace = actors.Actor(actors.ActorKind.STAFF, "grace").columns()
    StaffAct.objects.create(
        **grace,
        action="approve",
        subject_kind="session",
        subject_id=str(session.pk),
        detail="refund(amount=7)",
    )
    shown = rows_of(read(sign_in(client, *SOURCES), f"{URL}?{query}"))
    assert {f"{row[1].split()[-1]}: {row[3]}" for row in shown if len(row) > 1} == expected


def test_a_day_has_the_acts_of_this_day_only(client: Client) -> None:
    now = timezone.now()
    for age in range(20):
        act = StaffAct.objects.create(action="stop", subject_kind="invocation", subject_id=f"of-{age}")
        StaffAct.objects.filter(pk=act.pk).update(at=now - timedelta(days=20 - age))
    day = timezone.localdate(now - timedelta(days=5))
    shown = rows_of(read(sign_in(client, *SOURCES), f"{URL}?day={day}"))
    assert [row[6] for row in shown] == ["of-15"]


def test_pages_show_each_act_once_when_the_time_is_over_and_when_they_are_full(
    client: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged_list, "ROWS", 7)
    monkeypatch.setattr(merged_list, "FIRST_SLICE", 3)
    monkeypatch.setattr(merged_list, "MAX_SLICE", 5)
    monkeypatch.setattr(merged_list, "SECONDS", 0.0)
    for number in range(23):
        call_tool(session, f"tool-{number}", f"c-{number}", {"result": "ok"})
        StaffAct.objects.create(action="stop", subject_kind="invocation", subject_id=f"act-{number}")
    staff = sign_in(client, *SOURCES)
    # A page without a row says whether the search is over.
    assert rows_of(read(staff, f"{URL}?tool=tool-1")) == [["No acts so far: continue the search."]]
    found: list[str] = []
    query = ""
    while True:
        html = read(staff, f"{URL}?{query}")
        found += [row[3] if row[3] != "" else row[6] for row in rows_of(html) if len(row) > 1]
        link = re.search(r'href="\?([^"]*)" rel="next"', html)
        if link is None:
            break
        query = link[1].replace("&amp;", "&")
    expected = [name for number in reversed(range(23)) for name in (f"act-{number}", f"tool-{number}")]
    assert found == expected


def test_staff_see_the_sources_of_their_rights_and_within_their_remits(
    client: Client, session: Session, person: User
) -> None:
    call_tool(session, "refund", "c-1", {"result": "ok"}, card="4111 1111 1111 1111", note=HOSTILE)
    own = actors.person(person)
    SessionAct.objects.record(session.pk, Act(own, ActionKind.STOP, ("invocation", "e-1")))
    staff = sign_in(client, *SOURCES)
    html = read(staff, URL)
    assert "4111 1111" not in html
    assert "<script>alert" not in html
    assert {row[2] for row in rows_of(html)} == {"Call", "Stop: invocation"}
    member = User.objects.get(username="staff")
    group = Group.objects.create(name="far away")
    member.groups.add(group)
    Remit.objects.create(group=group, app_name="another_app")
    assert rows_of(read(staff, URL)) == [["No acts."]]
    member.groups.clear()
    member.user_permissions.remove(
        *member.user_permissions.filter(codename__in=("view_event", "view_sessionact"))
    )
    assert rows_of(read(staff, URL)) == [["No acts."]]


def test_a_page_reads_slices_by_primary_key_and_an_invalid_position_is_no_page(
    client: Client, session: Session
) -> None:
    staff = sign_in(client, *SOURCES)
    for number in range(3):
        call_tool(session, "refund", f"c-{number}", {"result": "ok"})
    few = len(statements_of(staff, URL))
    for number in range(30):
        call_tool(session, "refund", f"d-{number}", {"result": "ok"})
    assert len(statements_of(staff, URL)) == few
    for position in ("x", "1-2", "-1-1-1-1-1-1-1-1-1", f"{2**70}"):
        assert staff.get(URL, {"p": position}).status_code == 404
    for day in ("never", "0001-01-01", "9999-12-31"):
        assert "No acts." in read(staff, f"{URL}?day={day}")


def test_acts_survive_an_erasure_without_names_and_words(
    client: Client, session: Session, person: User
) -> None:
    call_tool(session, "refund", "c-1", {"result": "ok"}, order="Ada's lamp", amount=40, phone=4915112345678)
    call_tool(session, "Ada Lovelace", "c-2", {"result": "ok"}, amount=1)
    call_tool(session, "ada", "c-3", {"status": "error", "error": "There is no tool ada."})
    approve(session, actors.person(person, "203.0.113.9"), "Ada is right.")
    SessionAct.objects.record(
        session.pk, Act(actors.person(person), ActionKind.STOP, ("invocation", "e-1"), "Ada waits.")
    )
    staff = sign_in(client, *SOURCES)
    erase_session(session.pk, ErasureOrder("asked", by_name="grace"))
    html = read(staff, URL)
    shown = [row[1:6] for row in rows_of(html)]
    assert sorted(shown) == [
        ["agent", "Call", "refund", "amount: 40", "ok"],
        ["person", "Approve", "refund", "amount: 40", "approved"],
        ["person", "Stop: invocation", "", "", ""],
        ["staff grace", "Erase: session", "", "", "1 session, 8 events, 1 invocation, 1 act"],
    ]
    acts = ErasedSession.objects.values_list("acts", flat=True).get()
    kept = str([act[1:] for act in acts])  # without the times, which may have the digits of a number
    assert not any(word in kept for word in ("ada", "Ada", "lamp", "4915", "203.0", "1001"))
    today = timezone.localdate()
    assert len(rows_of(read(staff, f"{URL}?day={today}&tool=refund"))) == 2
    group = Group.objects.create(name="far away")
    Remit.objects.create(group=group, app_name="another_app")
    User.objects.get(username="staff").groups.add(group)
    assert rows_of(read(staff, URL)) == [["No acts."]]


def test_an_answer_is_not_by_the_actor_of_an_invocation_of_another_session(
    client: Client, session: Session, person: User
) -> None:
    """As after an import: the events have the ids of the session from which they were exported."""
    approve(session, actors.staff(User.objects.create_user("grace"), "203.0.113.9"), "Fine.")
    approval = session.events.latest("seq")
    copy = Session.objects.create(app_name="help_desk", user=person, key="copy", last_seq=1)
    Event.objects.create(session=copy, seq=1, body=approval.body)
    staff = sign_in(client, *SOURCES)
    (row,) = rows_of(read(staff, URL))
    assert row[2].startswith("Approve") and "grace" not in " ".join(row)
    erase_session(copy.pk, ErasureOrder("asked"))
    assert [act[1:3] for act in ErasedSession.objects.get().acts] == [["person", "approve"]]
