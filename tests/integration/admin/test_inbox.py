"""Approvals inbox: staff answer by permission and by tool, once; the tool runs once, and the chat says who approved."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events.answer_rules import PERSON, SITE, STAFF
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import FunctionTool, LongRunningFunctionTool, get_user_choice
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.codec import event_to_show
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.errors import ConflictError
from sessions_app.invocations.answers.answering import find_call_to_answer, queue_answer
from sessions_app.invocations.answers.outside_chat import answer_request
from sessions_app.invocations.rewind import rewind_before
from sessions_app.invocations.worker import worker
from sessions_app.jobs import ask, confirm, job_tool
from sessions_app.models import (
    AnswerRequest,
    Event,
    Invocation,
    RequestKind,
    Session,
    SessionAct,
    StaffAct,
    ToolJob,
)
from sessions_app.models.answer_request import APPROVE
from sessions_app.process import threads
from sessions_app.rendering.html import render_event
from sessions_app.rendering.session_view import SessionView
from tests.fakes import ScriptedModel, call
from tests.integration.admin.audit_rows import HOSTILE, told
from tests.integration.admin.test_all_acts import rows_of
from tests.integration.jobs.job_helpers import run_task, talk
from tests.served_agents import Served, asking_workflow

pytestmark = pytest.mark.django_db(transaction=True)
FINANCE = "staff:sessions_app.cancel_invocation"
REFUNDED: list[int] = []


def refund(euros: int, note: str = "") -> str:
    """Refund an amount."""
    REFUNDED.append(euros)
    return f"{euros} are on their way"


def pay(euros: int) -> str:
    """Pay an amount."""
    REFUNDED.append(euros)
    return "paid"


def approve_trip(city: str) -> None:
    """Have a trip approved."""


def look_up_lamp(name: str) -> str:
    """Look a lamp up."""
    return name


@job_tool
def order_lamps(count: int) -> dict[str, Any]:
    """Order lamps."""
    is_sure = confirm(f"Order {count} lamps?")
    colour = ask("Which colour?", ["red", "green"])
    return {"summary": f"{is_sure} {colour} {ask('Signed by whom?')}"}


@pytest.fixture
def model(served: Served, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    REFUNDED.clear()
    scripted = ScriptedModel()
    tools = [
        FunctionTool(refund, title="Refund {euros} euros", require_confirmation=True, confirmed_by=FINANCE),
        FunctionTool(pay, require_confirmation=True),
        LongRunningFunctionTool(approve_trip, answered_by=FINANCE),
        get_user_choice,
        order_lamps,
        look_up_lamp,
    ]
    app = App(name="desk", root_agent=LlmAgent(name="clerk", model=scripted, tools=tools))
    served(app)
    return scripted


@pytest.fixture
def finance(client: Client) -> User:
    return sign_in(client, "cancel_invocation", "view_answerrequest", "view_text")


def sign_in(client: Client, *codenames: str, name: str = "grace") -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return user


def wait(person: User, model: ScriptedModel, *turns: Any, text: str = "Hello") -> AnswerRequest:
    """Return the request of a new session whose agent waits after a message."""
    model.turns = [*turns]
    return AnswerRequest.objects.open().get(session=talk(person, "desk", text))


def page_of(row: AnswerRequest) -> str:
    return reverse("admin:sessions_app_answerrequest_change", args=[row.pk])


def decide(client: Client, row: AnswerRequest, answer: str, reason: str = "It is fair") -> Any:
    """Post the form of the request's page, wait for the agent, and return the page that follows."""
    form = {"answer": answer, "reason": reason, "session": row.session_id, "call": row.call_id}
    response = client.post(reverse("admin:sessions_app_answerrequest_answer", args=[row.pk]), form)
    threads.run(idle())
    return client.get(response["Location"]) if response.status_code == 302 else response


async def idle() -> None:
    await worker().wait_until_idle()


def chat_of(row: AnswerRequest) -> str:
    """Return the answer to the call as the chat page shows it."""
    event = Event.objects.filter(session=row.session_id, author="user", kind="response").latest("seq")
    view = SessionView(row.session_id, "desk")
    return str(render_event(view, event.seq, event_to_show(event.body)))


def test_staff_approve_a_call_once_with_a_reason_and_the_chat_says_who(
    client: Client, finance: User, person: User, model: ScriptedModel
) -> None:
    row = wait(person, model, call("refund", euros=7), "Refunded.", text="The lamp is broken")
    inbox = client.get(reverse("admin:sessions_app_answerrequest_changelist")).content.decode()
    assert "Refund 7 euros" in inbox and "ada" in inbox and page_of(row) in inbox
    page = client.get(page_of(row)).content.decode()
    assert "The lamp is broken" in page
    finance.user_permissions.add(*Permission.objects.filter(codename="view_session"))
    seen = reverse("admin:sessions_app_session_change", args=[row.session_id]) + "?view=person"
    assert "Waits for an answer" in client.get(seen).content.decode()
    response = decide(client, row, "yes")
    assert "Approved: Refund 7 euros" in told(response) and REFUNDED == [7]
    assert "Approved by <bdi>grace</bdi> (staff)" in chat_of(row) and "It is fair" in chat_of(row)
    shown = client.get(seen).content.decode()
    assert "Approved by grace (staff)" in shown and "Reason: It is fair" in shown
    assert "Waits for an answer" not in shown
    answer = Invocation.objects.get(client_id=f"answer:{row.call_id}")
    assert (answer.actor_kind, answer.actor_name, answer.reason) == ("staff", "grace", "It is fair")
    act = StaffAct.objects.get()
    assert (act.action, act.actor_name, act.reason, act.address) == (
        "approve",
        "grace",
        "It is fair",
        "127.0.0.1",
    )
    # The act has no foreign key: it outlives the erasure of the session, with what was approved and no words of it.
    assert act.detail == "refund(euros=7)#4"
    finance.user_permissions.add(*Permission.objects.filter(codename__in=("view_staffact", "view_session")))
    acts = client.get(reverse("admin:sessions_app_staffact_changelist")).content.decode()
    session_page = reverse("admin:sessions_app_session_change", args=[row.session_id])
    assert f'<a href="{session_page}"><bdi>The lamp is broken</bdi></a>' in acts and act.detail in acts
    assert "This was approved already by grace." in told(decide(client, row, "no"))
    assert "waits for nobody" in told(client.get(page_of(row), follow=True))
    assert REFUNDED == [7] and StaffAct.objects.count() == 1


def test_a_rejection_tells_the_model_and_the_person_the_reason(
    client: Client, finance: User, person: User, model: ScriptedModel
) -> None:
    row = wait(person, model, call("refund", euros=7), "No refund.")
    assert decide(client, row, "no", reason=" ").context["form"].errors["reason"]
    assert "Rejected: Refund 7 euros" in told(decide(client, row, "no", reason=HOSTILE))
    assert REFUNDED == []
    assert "Rejected by <bdi>grace</bdi> (staff)" in chat_of(row) and "<script" not in chat_of(row)
    heard = str(model.requests[-1].contents)
    assert "This call was rejected: it did not run. The reason: <script>" in heard


def test_acts_say_whether_the_answer_was_a_yes_or_a_no_and_repeat_no_words(
    client: Client, person: User, model: ScriptedModel
) -> None:
    user = sign_in(client, "approve_answerrequest", "view_answerrequest", "view_text", "cancel_invocation")
    pay, choose = call("pay", euros=9), call("get_user_choice", options=["tea", "mocha"])
    answers = {"approve": (pay, "yes"), "reject": (pay, "no"), "answer": (choose, "1")}
    for word, (asked, answer) in answers.items():
        row = wait(person, model, asked, "Well.")
        decide(client, row, answer)
        act = StaffAct.objects.latest("id")
        assert (act.action, act.subject_id) == (word, str(row.session_id))
    user.user_permissions.set(Permission.objects.filter(codename="view_staffact"))
    acts = reverse("admin:sessions_app_staffact_changelist")
    for word in answers:
        page = client.get(acts, {"action__exact": word}).content.decode()
        assert page.count(f'<td class="field-act">{word.title()}</td>') == 1
        detail = "get_user_choice()" if word == "answer" else "pay(euros=9)"
        assert detail in page
        assert "mocha" not in page
    for session in Session.objects.all():
        erase_session(session.pk, ErasureOrder("asked"))
    everything = reverse("admin:sessions_app_staffact_all")
    rows = rows_of(client.get(everything, {"kind": "staff"}).content.decode())
    assert [row[1:6] for row in rows] == [
        ["staff grace from 127.0.0.1", "Answer", "get_user_choice", "", "answered"],
        ["staff grace from 127.0.0.1", "Reject", "pay", "euros: 9", "rejected"],
        ["staff grace from 127.0.0.1", "Approve", "pay", "euros: 9", "approved"],
    ]


def test_staff_who_may_not_answer_read_why_and_a_forged_answer_is_refused(
    client: Client, person: User, model: ScriptedModel
) -> None:
    row = wait(person, model, call("refund", euros=7), "Refunded.")
    sign_in(client, "approve_answerrequest", "view_answerrequest", "view_text")
    assert (
        "you need the permission sessions_app.cancel_invocation" in client.get(page_of(row)).content.decode()
    )
    assert decide(client, row, "yes").status_code == 403
    person.is_staff = True
    person.save()
    codenames = ["cancel_invocation", "view_answerrequest", "view_text"]
    person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(person)
    assert "You have asked for this yourself" in client.get(page_of(row)).content.decode()
    assert decide(client, row, "yes").status_code == 403
    assert REFUNDED == [] and AnswerRequest.objects.open().exists()


def test_the_filter_of_what_i_may_answer_has_the_requests_whose_pages_offer_it(
    client: Client, person: User, model: ScriptedModel
) -> None:
    grace = sign_in(client, "approve_answerrequest", "view_answerrequest", "view_text")
    rows = []
    for asker in (person, grace):
        waiting = wait(asker, model, call("pay", euros=7))
        for number, rule in enumerate((PERSON, SITE, FINANCE, f"{STAFF}{APPROVE}")):
            for kind in (RequestKind.CALL, RequestKind.CREDENTIAL):
                copied = AnswerRequest.objects.get(pk=waiting.pk)
                copied.pk = None
                copied.call_id = f"{kind}-{number}"
                copied.kind = kind
                copied.answered_by = rule
                copied.effect = f"{asker.username}: {kind} by {rule}"
                copied.save()
                rows.append(copied)
        waiting.delete()
    offered = [row.effect for row in rows if not client.get(page_of(row)).context["reason_not_allowed"]]
    assert offered == [
        f"{person.username}: call by person",
        f"{person.username}: call by staff:sessions_app.approve_answerrequest",
        "grace: call by person",
    ]
    listed = client.get(reverse("admin:sessions_app_answerrequest_changelist"), {"mine": "1"})
    page = unescape(listed.content.decode())
    assert [row.effect for row in rows if row.effect in page] == offered


def test_staff_with_the_general_permission_answer_choices_jobs_and_long_running_calls(
    client: Client, person: User, model: ScriptedModel
) -> None:
    sign_in(client, "approve_answerrequest", "view_answerrequest", "view_text", "cancel_invocation")
    row = wait(person, model, call("get_user_choice", options=["tea", HOSTILE]), "Well.")
    assert decide(client, row, "7").context["form"].errors["answer"]
    decide(client, row, "1")
    assert "<bdi>grace</bdi> (staff) chose" in chat_of(row) and "<script" not in chat_of(row)
    row = wait(person, model, call("approve_trip", city="Bern"), "Wait.", "Good trip.")
    assert "shown to the person and the model" in client.get(page_of(row)).content.decode()
    decide(client, row, "yes", reason="Go")
    last = Event.objects.filter(session=row.session_id, author="user").latest("seq")
    response = last.body["content"]["parts"][0]["functionResponse"]["response"]
    assert response == {"status": "approved", "reason": "Go"}
    model.turns = [call("order_lamps", count=3), "It runs.", "Ordered."]
    job = ToolJob.objects.get(session=talk(person, "desk", "lamps"))
    for answer in ("yes", "green", "Ada"):
        run_task(job)
        row = AnswerRequest.objects.open().get(job=job)
        assert row.effect in ("Order 3 lamps?", "Which colour?", "Signed by whom?")
        page = client.get(page_of(row)).content.decode()
        assert "The person and the model read the answer only." in page
        decide(client, row, answer)
        assert "answered already by grace" in told(decide(client, row, answer)) or answer != "Ada"
    run_task(job)
    job.refresh_from_db()
    assert (job.result or {})["summary"] == "True green Ada"
    assert [given["by"] for given in job.answers] == ["grace"] * 3
    acts = SessionAct.objects.filter(session=job.session_id, action="answer", actor_name="grace")
    assert list(acts.values_list("reason", flat=True)) == ["It is fair"] * 3


def test_staff_answer_the_question_of_a_workflow_in_words(
    client: Client, person: User, served: Served, background_end: None
) -> None:
    served(asking_workflow("desk"))
    sign_in(client, "approve_answerrequest", "view_answerrequest", "view_text")
    row = AnswerRequest.objects.get(session=talk(person, "desk", "Refund"))
    assert "The person and the model read the answer only." in client.get(page_of(row)).content.decode()
    assert "does not fit the question" in told(decide(client, row, "some"))
    assert "Answered: How many?" in told(decide(client, row, "7"))
    assert "<bdi>grace</bdi> (staff)" in chat_of(row)
    assert Event.objects.filter(session=row.session_id).latest("seq").body["output"] == "'7' it is"
    sign_in(client, "view_staffact", name="ada-staff")
    (act,) = rows_of(client.get(reverse("admin:sessions_app_staffact_all")).content.decode())
    assert act[2:6] == ["Answer", "question", "", "answered"]


def test_one_of_four_answers_at_once_decides_and_the_others_are_told_who(
    person: User, model: ScriptedModel, background_end: None
) -> None:
    row = wait(person, model, call("pay", euros=9), "Paid.")
    both = [User.objects.create_user(name, is_staff=True, is_superuser=True) for name in ("grace", "eve")]

    async def all_at_once() -> list[Any]:
        request = await AnswerRequest.objects.select_related("session", "job").aget(pk=row.pk)
        given = {"confirmed": True}
        own = use_cases.answer_call(
            actors.person(person), row.session_id, row.call_id, REQUEST_CONFIRMATION, given
        )
        others = [
            answer_request(request, True, by=actors.staff(user, "::1"), reason="Yes", user=user)
            for user in both
        ]
        rule = answer_request(request, False, by=actors.SITE, reason="Nobody answered in time.")
        results = await asyncio.gather(own, *others, rule, return_exceptions=True)
        await idle()
        return results

    results = threads.run(all_at_once())
    winner = Invocation.objects.get(client_id=f"answer:{row.call_id}").actor_name
    lost = [result for result in results if isinstance(result, Exception)]
    assert len(lost) == 3
    assert {type(error) for error in lost} == {ConflictError}
    assert all(str(error).endswith(f"already by {winner}.") for error in lost)
    assert REFUNDED in ([9], []) and (REFUNDED == []) == (winner == "site")
    assert not AnswerRequest.objects.exists()


def test_an_answer_that_a_rewind_overtakes_runs_nothing(
    person: User, model: ScriptedModel, background_end: None
) -> None:
    row = wait(person, model, call("pay", euros=9), "Paid.")
    session = Session.objects.get(pk=row.session_id)
    first = Invocation.objects.get(session=session)

    async def overtaken() -> None:
        waiting = await find_call_to_answer(session, row.call_id)
        await rewind_before(session, first.invocation_id, actors.person(person))
        await queue_answer(session, waiting, {"confirmed": True}, by=actors.SITE)
        await idle()

    threads.run(overtaken())
    assert REFUNDED == []
    assert not AnswerRequest.objects.exists()


def test_secrets_among_the_arguments_are_masked_until_the_session_is_unmasked(
    client: Client, person: User, model: ScriptedModel
) -> None:
    secret = "hunter2-and-more"
    sign_in(client, "view_answerrequest", "view_text", "view_session", "unmask_data", "cancel_invocation")
    model.turns = [call("order_lamps", count=3), "It runs."]
    job = ToolJob.objects.get(session=talk(person, "desk", "lamps"))
    ToolJob.objects.filter(pk=job.pk).update(args={"api_key": secret, "count": 3})
    run_task(job)
    of_job = AnswerRequest.objects.open().get(job=job)
    of_call = wait(person, model, call("refund", euros=7, note=f"password={secret}"))
    for row in (of_job, of_call):
        html = client.get(page_of(row)).content.decode()
        assert secret not in html and "[masked]" in html
        unmask = reverse("admin:sessions_app_session_unmask", args=[row.session_id])
        assert client.post(unmask, {"reason": "Case 7"}).status_code == 302
        assert secret in client.get(page_of(row)).content.decode()
    list_url = reverse("admin:sessions_app_answerrequest_changelist")
    assert secret not in client.get(list_url).content.decode()


@pytest.mark.parametrize("name", ["items", "a\u202eb", HOSTILE])
def test_hostile_arguments_are_inert_on_the_pages(
    client: Client, finance: User, person: User, model: ScriptedModel, name: str
) -> None:
    row = wait(person, model, call("refund", euros=7, note=name * 3_000), text=f"{name} please")
    pages = [page_of(row), reverse("admin:sessions_app_answerrequest_changelist")]
    for url in pages:
        html = client.get(url).content.decode()
        assert "<script>alert" not in html and "\u202e" not in html


def test_the_conversation_beside_a_call_is_that_of_the_session_page(
    client: Client, person: User, model: ScriptedModel
) -> None:
    sign_in(client, "cancel_invocation", "view_answerrequest", "view_session", "view_text")
    model.turns = [call("order_lamps", count=3), "It runs."]
    job = ToolJob.objects.get(session=talk(person, "desk", "lamps"))
    ToolJob.objects.filter(pk=job.pk).update(status="succeeded")
    model.turns = [call("look_up_lamp", name="desk"), call("approve_trip", city="Bern"), "Wait."]
    threads.run(use_cases.send_message(actors.person(person), job.session_id, "m2", "And a trip"))
    threads.run(idle())
    row = AnswerRequest.objects.open().get(session=job.session_id)
    response = client.get(page_of(row))
    assert re.search(r">\d{4}-\d\d-\d\d \d\d:\d\d UTC</time>", response.content.decode())
    beside = response.context["seen_events"]
    page = client.get(reverse("admin:sessions_app_session_change", args=[row.session_id]), {"view": "person"})
    seen = [(one.event.seq, one.entry) for one in page.context["audit"].seen]
    assert [(one.event.seq, one.entry) for one in beside] == seen[: len(beside)]
    said = [piece.text for one in beside for piece in one.entry.pieces]
    assert {"Order lamps: Succeeded", "Looked up lamp (Name: desk)", "Approve trip (City: Bern)"} <= set(said)


def test_sessions_are_links_for_staff_who_may_open_these(
    client: Client, finance: User, person: User, model: ScriptedModel
) -> None:
    row = wait(person, model, call("refund", euros=5))
    addresses = (reverse("admin:sessions_app_answerrequest_changelist"), page_of(row))
    link = f'href="{reverse("admin:sessions_app_session_change", args=[row.session_id])}'
    for address in addresses:
        assert link not in client.get(address).content.decode()
    sign_in(client, "view_answerrequest", "view_text", "view_session", name="ada-staff")
    for address in addresses:
        assert link in client.get(address).content.decode()


def test_an_event_of_odd_shape_beside_the_call_is_one_marked_line(
    client: Client, finance: User, person: User, model: ScriptedModel
) -> None:
    row = wait(person, model, call("refund", euros=7))
    session = Session.objects.get(pk=row.session_id)
    for seq, content in enumerate(({"parts": ["x"]}, {"parts": [{"text": 5}]}), session.last_seq + 1):
        body = {"id": f"odd-{seq}", "author": "clerk", "timestamp": 1.0, "content": content}
        Event.objects.create(session=session, seq=seq, body=body)
    AnswerRequest.objects.update(call_id="unknown")
    html = client.get(page_of(row)).content.decode()
    assert html.count("written by another version") == 2 and "Hello" in html


def test_the_list_is_paged_from_the_oldest_on_with_the_same_queries_for_any_number_of_requests(
    client: Client, finance: User, person: User
) -> None:
    def store(count: int) -> None:
        for _ in range(count):
            session = Session.objects.create(app_name="desk", user=person, key=str(timezone.now()))
            names = {"session": session, "invocation_id": f"e-{session.pk}"}
            Invocation.objects.create(client_id="m", message={}, status="waiting", **names)
            AnswerRequest.objects.create(
                **names, call_id="c", kind="confirmation", agent_name="a", tool_name="t", effect=f"Pay {count}",
                answered_by=FINANCE, asked_at=timezone.now() - timedelta(minutes=count),
            )  # fmt: skip

    url = reverse("admin:sessions_app_answerrequest_changelist")
    counts = []
    for count in (1, 120):
        store(count)
        with CaptureQueriesContext(connection) as queries:
            html = client.get(url).content.decode()
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert "Pay 1<" not in html
    (following,) = re.findall(r'href="([^"]+)" rel="next"', html)
    assert client.get(url + unescape(following)).content.decode().count("Pay 1<") == 1
    mine, others = (
        client.get(url, {"mine": "1", "kind__exact": kind}) for kind in ("confirmation", "choice")
    )
    assert "Pay 120" in mine.content.decode() and "Pay " not in others.content.decode()


LIST = "/admin/sessions_app/answerrequest/"


def decide_all(client: Client, rows: list[AnswerRequest], answer: str, reason: str = "All fair") -> Any:
    """Post one decision about several requests, wait for the agents, and return the page that follows."""
    form = {"request": [row.pk for row in rows], "answer": answer, "reason": reason, "query": "mine=1"}
    response = client.post(f"{LIST}decide/", form)
    threads.run(idle())
    return client.get(response["Location"]) if response.status_code == 302 else response


def test_several_requests_are_decided_with_one_reason_and_each_tool_runs_once(
    client: Client, finance: User, person: User, model: ScriptedModel
) -> None:
    rows = [wait(person, model, call("refund", euros=euros), text=f"{euros} euros") for euros in (5, 6, 7, 8)]
    model.turns = ["Done."] * 4
    page = client.get(LIST).content.decode()
    assert [f'value="{row.pk}" form="decide"' in page for row in rows] == [True] * 4
    decided = decide_all(client, rows[:2], "yes")
    assert "Approved: 2" in told(decided) and decided.request["QUERY_STRING"] == "mine=1"
    assert sorted(REFUNDED) == [5, 6]
    assert "waits for nobody any more" in told(decide_all(client, rows[1:3], "no"))
    assert sorted(REFUNDED) == [5, 6]
    acts = StaffAct.objects.values_list("action", "subject_id", "reason", "actor_name")
    expected = [
        (action, str(row.session_id), "All fair", "grace")
        for action, row in zip(("approve", "approve", "reject"), rows, strict=False)
    ]
    assert sorted(acts) == sorted(expected)
    assert AnswerRequest.objects.open().get() == rows[3]
    decide_all(client, rows[3:], "yes", reason=" ")
    decide_all(client, rows[3:], "maybe")
    assert AnswerRequest.objects.open().get() == rows[3]


def test_a_decision_about_requests_of_others_is_refused_as_a_whole(
    client: Client, finance: User, person: User, model: ScriptedModel
) -> None:
    own = wait(person, model, call("refund", euros=5))
    foreign = wait(
        person, model, call("pay", euros=9), text="Pay"
    )  # answered by the person, or with `approve`
    choice = wait(person, model, call("get_user_choice", options=["a", "b"]), text="Choose")
    page = client.get(LIST).content.decode()
    assert [f'value="{row.pk}" form="decide"' in page for row in (own, foreign, choice)] == [
        True,
        False,
        False,
    ]
    for other in (foreign, choice):
        assert decide_all(client, [own, other], "yes").status_code == 403
    finance.user_permissions.add(Permission.objects.get(codename="approve_answerrequest"))
    assert decide_all(client, [choice], "yes").status_code == 403
    assert REFUNDED == [] and AnswerRequest.objects.open().count() == 3


def test_requests_are_grouped_by_tool_with_arguments_as_columns_and_a_deadline(
    client: Client, finance: User, person: User, model: ScriptedModel, settings: Any
) -> None:
    for euros in (5, 6):
        wait(
            person,
            model,
            call("refund", euros=euros, note="password=hunter2-and-more"),
            text=f"{euros} euros",
        )
    model.turns = [call("order_lamps", count=3), "It runs."]
    run_task(ToolJob.objects.get(session=talk(person, "desk", "lamps")))
    settings.ADK = {**settings.ADK, "answer_limits": {"refund": {"reject_seconds": 7200.0}}}
    page = client.get(LIST).content.decode()
    groups = re.findall(r'href="\?tool_name=(\w+)".*?<td[^>]*>(\d+)</td>', page, re.DOTALL)
    assert groups == [("refund", "2"), ("order_lamps", "1")]
    assert len(re.findall(r'field-deadline">(?:1 h 59 min|2 h)', page)) == 2 and "column-argument" not in page
    with CaptureQueriesContext(connection) as queries:
        of_tool = client.get(LIST, {"tool_name": "refund"}).content.decode()
    cells = re.findall(r'<td class="field-argument">([^<]*)</td>', of_tool)
    assert cells[::2] == ["5", "6"]
    assert "hunter2" not in of_tool
    assert 'id="groups"' not in of_tool
    assert "Euros" in of_tool and "Note" in of_tool
    wait(person, model, call("refund", euros=7), text="7 euros")
    with CaptureQueriesContext(connection) as more:
        client.get(LIST, {"tool_name": "refund"})
    assert len(more) == len(queries)
    of_job = client.get(LIST, {"tool_name": "order_lamps"}).content.decode()
    assert re.findall(r'<td class="field-argument">([^<]*)</td>', of_job) == ["3"]
