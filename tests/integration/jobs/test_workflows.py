"""Workflows on the site: jobs, questions and waits as nodes, while no process waits (contract W4, W6)."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.events.calls import REQUEST_INPUT, ResponseStatus
from runtime.events.request_input import RequestInput
from runtime.workflow import JoinNode, WaitNode, Workflow, node
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.history.effective_events import effective_events
from sessions_app.history.event_marks import INTERRUPTED_CALL
from sessions_app.history.workflow_progress import load_progress
from sessions_app.invocations.rewind import rewind_before
from sessions_app.jobs import job_tool
from sessions_app.models import AnswerRequest, Invocation, Session, StaffAct, ToolJob
from sessions_app.process import threads
from sessions_app.sessions import sharing
from sessions_app.use_cases.messages import start_again
from tests.fakes import ScriptedModel, call
from tests.integration.chat.pages.page_helpers import body_of, page
from tests.integration.jobs.job_helpers import run_queue, run_task, sweep_jobs, talk
from tests.served_agents import Served

COUNTED: list[str] = []
FAILURES: list[str] = []


@job_tool(retry_on=(ConnectionError,))
def count_stock(order: str) -> dict[str, Any]:
    """Count the stock."""
    if FAILURES:
        raise ConnectionError(FAILURES.pop())
    COUNTED.append(order)
    return {"left": len(order)}


def read_order(node_input: str) -> dict[str, str]:
    return {"order": node_input, "api_key": "hunter2"}


def check_fraud() -> str:
    return "no sign of it"


def ask(node_input: dict[str, Any]) -> RequestInput:
    return RequestInput(message="Refund **it**?", payload=node_input, response_schema=bool)


def finish(node_input: bool) -> str:
    return "Refunded." if node_input else "Not refunded."


@pytest.fixture
def session(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> Session:
    """A session whose workflow waits for its job."""
    COUNTED.clear()
    both = JoinNode(name="both")
    served(
        Workflow(name="refunds", edges=[("START", read_order, (count_stock, check_fraud), both, ask, finish)])
    )
    return Session.objects.get(pk=talk(person, "refunds", "1001"))


def statuses(session: Session) -> list[str]:
    return list(Invocation.objects.filter(session=session).order_by("pk").values_list("status", flat=True))


def answer(person: User, session: Session, call_id: str, response: dict[str, Any]) -> None:
    threads.run(use_cases.answer_call(actors.person(person), session.pk, call_id, REQUEST_INPUT, response))
    run_queue(session.pk)


def progress_of(client: Client, session: Session, workflow: str = "refunds") -> str:
    """Return the card of the workflow, which the page places at its first event."""
    marks = re.findall(
        rf'data-invocation="([^"]+)"[^>]*data-node="{workflow}', client.get(page(session)).content.decode()
    )
    shown = client.get(reverse("chat:steps", args=[session.pk]), {"invocation": marks[0]})
    return shown.content.decode()


def exported(client: Client, session: Session, form: str) -> str:
    return body_of(client.get(f"{page(session)}export/{form}/")).decode()


def shown_steps(html: str) -> list[tuple[str, str]]:
    """Return the state and the name of each step."""
    return re.findall(r'data-state="(\w+)"\s+data-name="([^"]+)"', html)


def test_transcripts_have_the_steps_as_they_stand_with_outputs_for_staff_only(
    person: User,
    session: Session,
    client: Client,
    admin_client: Client,
    django_user_model: type[User],
    settings: Settings,
) -> None:
    settings.ADK = {**settings.ADK, "share_links": True}
    client.force_login(person)
    run_task(ToolJob.objects.get(session=session))
    run_queue(session.pk)
    link = sharing.make_link(session, actors.person(person))

    def read_pages() -> list[str]:
        """Return the exported and the shared page."""
        shared = admin_client.get(reverse("chat:shared", args=[link.token]))
        return [exported(client, session, "page"), body_of(shared).decode()]

    for html in read_pages():
        assert shown_steps(html) == [
            ("done", "Read order"),
            ("done", "Count stock"),
            ("done", "Check fraud"),
            ("waiting", "Ask"),
            ("pending", "Finish"),
        ]
        assert "Ask</bdi>: Waiting<" in " ".join(html.split()) and "Waiting for you" not in html
    answer(person, session, AnswerRequest.objects.get(session=session).call_id, {"result": True})
    for html in read_pages():
        assert html.count('class="steps"') == 1 and "5 of 5 steps" in html
        assert "Result of" not in html and "<button" not in html.partition("<h2")[2]
    markdown = exported(client, session, "markdown")
    assert re.search(r"\n\*Refunds: 5 of 5 steps\*\n\n- Read order: Done, \d+ s\n", markdown)
    assert "Result of" not in markdown
    django_user_model.objects.filter(pk=person.pk).update(is_staff=True)
    markdown = exported(client, session, "markdown")
    assert re.search(r"\nResult of Read order:\n\n```\n.*1001.*\[masked\].*\n```\n", markdown, re.DOTALL)
    assert "hunter2" not in markdown + exported(client, session, "page")


def test_a_job_and_a_question_are_nodes_of_a_workflow(
    person: User, session: Session, client: Client, django_user_model: type[User]
) -> None:
    assert statuses(session) == ["waiting"]
    client.force_login(person)
    assert 'data-state="background" data-name="Count stock"' in progress_of(client, session)
    FAILURES.append("The warehouse is closed.")
    with pytest.raises(Retry):
        run_task(ToolJob.objects.get(session=session))
    run_task(ToolJob.objects.get(session=session))
    run_queue(session.pk)
    assert COUNTED == ["1001"]
    asked = AnswerRequest.objects.get(session=session)
    assert (asked.tool_name, asked.effect, asked.answered_by) == (REQUEST_INPUT, "Refund **it**?", "person")
    client.force_login(person)
    shown = client.get(page(session)).content.decode()
    assert f'data-call-id="{asked.call_id}"' in shown
    assert "no sign of it" in shown and 'value="yes"' in shown and 'value="no"' in shown
    card = progress_of(client, session)
    assert shown_steps(card) == [
        ("done", "Read order"),
        ("done", "Count stock"),
        ("done", "Check fraud"),
        ("waiting", "Ask"),
        ("pending", "Finish"),
    ]
    assert card.count('class="beside"') == 1 and "no sign of it" in card
    stranger = django_user_model.objects.create_user("mallory")
    with pytest.raises(NotFoundError):
        answer(stranger, session, asked.call_id, {"result": True})
    with pytest.raises(InvalidInputError, match="does not fit the question"):
        answer(person, session, asked.call_id, {"result": "perhaps"})
    answer(person, session, asked.call_id, {"result": True})
    assert threads.run(effective_events(session))[-1].text() == "Refunded."
    assert not AnswerRequest.objects.filter(session=session).exists()
    assert set(statuses(session)) == {"completed"}
    assert "You answered <bdi>yes</bdi>" in client.get(page(session)).content.decode()
    assert "5 of 5 steps" in progress_of(client, session)
    assert COUNTED == ["1001"]
    [run] = load_progress(session, asked.invocation_id).runs
    assert {step.name: step.attempts for step in run.root.children if step.attempts != 1} == {
        "count_stock": 2
    }


def test_the_run_with_an_answer_waits_until_its_own_question_is_answered(
    person: User, served: Served, background_end: None
) -> None:
    def ask(node_input: str) -> RequestInput:
        return RequestInput(message=f"Which order after {node_input}?")

    def end(node_input: str) -> str:
        return f"{node_input}."

    steps = [node(ask, name=name) for name in ("first", "second", "third")]
    served(Workflow(name="refunds", edges=[("START", *steps, end)]))
    session = Session.objects.get(pk=talk(person, "refunds", "Count"))
    for number in (1001, 1002):
        answer(person, session, AnswerRequest.objects.get(session=session).call_id, {"result": str(number)})
    assert statuses(session) == ["waiting", "completed", "waiting"]
    answer(person, session, AnswerRequest.objects.get(session=session).call_id, {"result": "1003"})
    assert statuses(session) == ["completed"] * 4
    assert threads.run(effective_events(session))[-1].text() == "1003."


def test_a_rewind_of_a_later_message_leaves_the_answer_that_a_job_follows(
    person: User, served: Served, broker: list[tuple[str, str]], background_end: None
) -> None:
    def ask_person() -> RequestInput:
        return RequestInput(message="Which order?")

    served(Workflow(name="refunds", edges=[("START", ask_person, count_stock)]))
    session = Session.objects.get(pk=talk(person, "refunds", "Count"))
    asked = AnswerRequest.objects.get(session=session)
    answer(person, session, asked.call_id, {"result": "1001"})
    assert statuses(session) == ["waiting", "waiting"]
    by = actors.person(person)
    later, _ = threads.run(use_cases.send_message(by, session.pk, "later", "Count again"))
    run_queue(session.pk)
    threads.run(rewind_before(session, later, by))
    assert statuses(session) == ["waiting", "waiting", "cancelled"]
    run_task(ToolJob.objects.get(session=session))
    run_queue(session.pk)
    assert statuses(session) == ["completed", "completed", "cancelled", "completed"]


def test_an_edit_begins_the_workflow_again_and_a_switch_brings_back_the_question_of_before(
    person: User, served: Served, background_end: None
) -> None:
    ran = []

    def read_order(node_input: str) -> dict[str, str]:
        ran.append(node_input)
        return {"order": node_input}

    def ask_person(node_input: dict[str, str]) -> RequestInput:
        return RequestInput(message=f"Why {node_input['order']}?")

    def finish(node_input: str) -> str:
        ran.append(node_input)
        return f"Refunded: {node_input}."

    served(Workflow(name="refunds", edges=[("START", read_order, ask_person, finish)]))
    session = Session.objects.get(pk=talk(person, "refunds", "1001"))
    by = actors.person(person)
    old = AnswerRequest.objects.get(session=session)
    edited, _ = threads.run(
        use_cases.edit_message(by, session.pk, "edit", "1002", replaces=old.invocation_id)
    )
    run_queue(session.pk)
    new = AnswerRequest.objects.get(session=session)
    assert (old.effect, new.effect) == ("Why 1001?", "Why 1002?")
    with pytest.raises(NotFoundError, match="no such question"):
        answer(person, session, old.call_id, {"result": "too late"})
    for invocation_id, asked, reason in ((old.invocation_id, old, "broken"), (edited, new, "late")):
        first = session.events.filter(invocation_id=invocation_id).earliest("seq")
        threads.run(use_cases.switch_alternative(by, session.pk, first.seq))
        assert AnswerRequest.objects.get(session=session).call_id == asked.call_id
        answer(person, session, asked.call_id, {"result": reason})
        assert threads.run(effective_events(session))[-1].text() == f"Refunded: {reason}."
        assert not AnswerRequest.objects.filter(session=session).exists()
    assert ran == ["1001", "1002", "broken", "late"]


def test_staff_skip_a_question_and_try_a_failed_node_again_with_a_reason(
    person: User, served: Served, admin_client: Client, client: Client, background_end: None
) -> None:
    failures = ["The bank is closed."]

    def ask_person() -> RequestInput:
        return RequestInput(message="Which account?")

    def pay(node_input: str | None) -> str:
        if failures:
            raise OSError(failures.pop())
        return f"Paid to {node_input or 'the usual account'}."

    served(Workflow(name="refunds", edges=[("START", ask_person, pay)]))
    session = Session.objects.get(pk=talk(person, "refunds", "1001"))
    asked = AnswerRequest.objects.get(session=session)
    invocation_id = Invocation.objects.get(session=session).invocation_id
    graph = f"{reverse('admin:sessions_app_session_graph', args=[session.pk])}?invocation={invocation_id}"

    def act(**fields: str) -> str:
        """Send the form of a node; return the page afterwards."""
        return admin_client.post(graph, fields, follow=True).content.decode()

    assert "Give a reason." in act(call=asked.call_id, reason="")
    assert "The node is skipped." in act(call=asked.call_id, reason="Nobody knows")
    run_queue(session.pk)
    shown = admin_client.get(graph).content.decode()
    assert '"id": "pay", "title": "pay", "state": "failed"' in shown
    client.force_login(person)
    assert shown_steps(exported(client, session, "page")) == [("done", "Ask person"), ("failed", "Pay")]
    failed = re.search(r'name="failed" value="([^"]+)"', shown)
    assert failed is not None
    assert "The failed nodes run again." in act(failed=failed[1], reason="The bank is open")
    run_queue(session.pk)
    assert threads.run(effective_events(session))[-1].text() == "Paid to the usual account."
    recorded = StaffAct.objects.order_by("pk").values_list("action", "reason")
    assert list(recorded) == [("answer", "Nobody knows"), ("retry", "The bank is open")]
    assert "This did not fail" in act(failed=failed[1], reason="again")
    client.force_login(person)
    assert "Skipped by <bdi>admin</bdi> (staff)" in client.get(page(session)).content.decode()


def test_a_failed_node_seals_the_open_call_of_an_agent_beside_it_and_the_agent_goes_on_in_a_retry(
    person: User, served: Served, background_end: None
) -> None:
    failures = ["The bank is closed."]
    begun: list[str] = []

    async def count_shelves() -> None:
        """Count the shelves."""
        begun.append("count_shelves")
        await asyncio.Event().wait()

    async def pay() -> str:
        while not begun:
            await asyncio.sleep(0.01)
        if failures:
            raise OSError(failures.pop())
        return "Paid."

    model = ScriptedModel(turns=[call("count_shelves", "c-1"), "Nobody has counted."])
    clerk = LlmAgent(name="clerk", model=model, tools=[count_shelves])
    served(Workflow(name="refunds", edges=[("START", (clerk, pay), JoinNode(name="both"))]))
    session = Session.objects.get(pk=talk(person, "refunds", "1001"))
    assert statuses(session) == ["failed"]
    events = threads.run(effective_events(session))
    [sealed] = [response for event in events for response in event.get_function_responses()]
    assert (sealed.id, sealed.response) == ("c-1", ResponseStatus.INTERRUPTED.with_error(INTERRUPTED_CALL))
    invocation = Invocation.objects.get(session=session)
    threads.run(start_again(session, invocation.invocation_id, actors.person(person)))
    run_queue(session.pk)
    ended = threads.run(effective_events(session))[-1]
    assert ended.output == {"clerk": "Nobody has counted.", "pay": "Paid."}
    assert begun == ["count_shelves"]


def wait_a_day(person: User, served: Served) -> Session:
    """Return a session whose workflow waits for a day."""

    def remind(node_input: str) -> str:
        return f"Please pay {node_input}."

    served(
        Workflow(name="dunning", edges=[("START", WaitNode(name="term_of_payment", seconds=86_400), remind)])
    )
    return Session.objects.get(pk=talk(person, "dunning", "bill 7"))


def test_a_wait_ends_at_its_time_while_no_process_waits(
    person: User, served: Served, broker: list[tuple[str, str]], background_end: None, client: Client
) -> None:
    session = wait_a_day(person, served)
    job = ToolJob.objects.get(session=session)
    assert job.run_at is not None and job.run_at - job.created_at > timedelta(hours=23)
    assert statuses(session) == ["waiting"]
    client.force_login(person)
    card = progress_of(client, session, "dunning")
    assert re.search(
        r'data-state="background"\s+data-name="Term of payment".*Waiting until\s+<time\s+datetime="20',
        card,
        re.DOTALL,
    )
    sweep_jobs()
    assert broker == []
    ToolJob.objects.update(run_at=Now())
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    run_task(job)
    run_queue(session.pk)
    assert threads.run(effective_events(session))[-1].text() == "Please pay bill 7."
    assert set(statuses(session)) == {"completed"}


def test_staff_end_a_wait_before_its_time_once_with_a_reason(
    person: User,
    served: Served,
    broker: list[tuple[str, str]],
    background_end: None,
    admin_client: Client,
    client: Client,
) -> None:
    session = wait_a_day(person, served)
    job = ToolJob.objects.get(session=session)
    invocation_id = Invocation.objects.get(session=session).invocation_id
    graph = f"{reverse('admin:sessions_app_session_graph', args=[session.pk])}?invocation={invocation_id}"
    shown = admin_client.get(graph).content.decode()
    assert re.search(r'data-state="background">\s*Waiting until 20', shown)
    assert re.search(r"<h2[^>]*>\s*<bdi>\w+</bdi>\s+·\s+Waiting\s*</h2>", shown)
    assert f'name="wait" value="{job.call_id}"' in shown
    client.force_login(person)
    assert "Waiting until 20" in exported(client, session, "markdown")
    act = {"wait": job.call_id, "reason": "It is paid"}
    assert "The wait ends now." in admin_client.post(graph, act, follow=True).content.decode()
    assert "This wait has ended already." in admin_client.post(graph, act, follow=True).content.decode()
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    run_task(job)
    run_queue(session.pk)
    assert threads.run(effective_events(session))[-1].text() == "Please pay bill 7."
    recorded = session.acts.values_list("action", "actor_name", "subject_id", "reason")
    assert list(recorded) == [("change", "admin", str(job.pk), "It is paid")]
    assert [row.action for row in StaffAct.objects.all()] == ["change"]


def test_nothing_follows_a_wait_that_the_person_cancels(
    person: User, served: Served, broker: list[tuple[str, str]], background_end: None, client: Client
) -> None:
    session = wait_a_day(person, served)
    job = ToolJob.objects.get(session=session)
    threads.run(use_cases.cancel_job(actors.person(person), session.pk, job.pk))
    run_queue(session.pk)
    assert set(statuses(session)) == {"completed"}
    client.force_login(person)
    states = re.findall(r'data-state="(\w+)"\s+data-name="([^"]+)"', progress_of(client, session, "dunning"))
    assert states == [("stopped", "Term of payment"), ("pending", "Remind")]
