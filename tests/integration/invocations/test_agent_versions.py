"""The version of an agent: stamped on each invocation, and compared when a call that waited is answered."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runtime.agents import LlmAgent
from runtime.agents.base_agent import BaseAgent
from runtime.apps import App
from runtime.events import RequestInput
from runtime.events.calls import REQUEST_CONFIRMATION, REQUEST_INPUT
from runtime.tools import FunctionTool
from runtime.workflow import Workflow, node
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.served_agents import Served

DELETED: list[str] = []
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "confirmation": (REQUEST_CONFIRMATION, {"confirmed": True}),
    "input": (REQUEST_INPUT, {"result": "42"}),
}


def delete_file(name: str) -> str:
    """Delete a file."""
    DELETED.append(name)
    return f"{name} is deleted"


def desk(model: ScriptedModel, instruction: str = "", *, has_tool: bool = True) -> LlmAgent:
    tools = [FunctionTool(delete_file, require_confirmation=True)] if has_tool else []
    return LlmAgent(name="files", model=model, instruction=instruction, tools=tools)


def asking(name: str) -> Workflow:
    async def ask(ctx: Any) -> Any:
        yield RequestInput(message="Which?")

    return Workflow(name="files", edges=[("START", node(ask, name=name))])


async def talk(person: User) -> Session:
    session = await use_cases.create_session(person, "files")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "delete a.txt")
    await worker().wait_until_idle()
    return session


async def answer(person: User, session: Session, question: str) -> Invocation:
    last = await Event.objects.filter(session=session).alatest("seq")
    name, response = QUESTIONS[question]
    (part,) = last.body["content"]["parts"]
    assert part["functionCall"]["name"] == name
    by = actors.person(person)
    await use_cases.answer_call(by, session.pk, part["functionCall"]["id"], name, response)
    await worker().wait_until_idle()
    return await Invocation.objects.filter(session=session).alatest("pk")


@pytest.mark.usefixtures("loop_end")
async def test_a_changed_agent_goes_on_with_a_call_that_it_still_has(person: User, served: Served) -> None:
    DELETED.clear()
    model = ScriptedModel(turns=[call("delete_file", name="a.txt"), "Gone."])
    served(desk(model))
    session = await talk(person)
    first = registry.versions()["files"]
    served(desk(model, "Be brief."))
    answered = await answer(person, session, "confirmation")
    assert DELETED == ["a.txt"]
    assert (await Invocation.objects.aget(client_id="m1")).agent_version == first
    assert (answered.status, answered.agent_version) == ("completed", registry.versions()["files"])
    assert answered.agent_version != first


@pytest.mark.usefixtures("loop_end")
@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("confirmation", desk, lambda model: desk(model, has_tool=False)),
        ("confirmation", desk, lambda model: LlmAgent(name="other", model=model)),
        ("input", lambda model: asking("ask"), lambda model: asking("ask_again")),
    ],
    ids=["tool", "agent", "node"],
)
async def test_a_changed_agent_says_that_a_call_is_gone(
    person: User, served: Served, question: str, before: Any, after: Any
) -> None:
    DELETED.clear()
    model = ScriptedModel(turns=[call("delete_file", name="a.txt")])
    served(before(model))
    session = await talk(person)
    served(app_named(after(model)))
    refused = await answer(person, session, question)
    assert (DELETED, refused.status, refused.error_code) == ([], "failed", "AGENT_CHANGED")
    assert "cannot go on with the answer" in refused.error_message
    assert "no longer has" in refused.error_detail
    last = await Event.objects.filter(session=session).alatest("seq")
    assert last.body["errorMessage"] == refused.error_message
    assert (await Invocation.objects.aget(client_id="m1")).status == "completed"
    assert len(model.requests) == (question == "confirmation")


def app_named(agent: BaseAgent) -> Any:

    return App(name="files", root_agent=agent)


@pytest.mark.django_db
def test_staff_see_the_version_and_find_the_invocations_of_a_version(person: User, client: Client) -> None:
    session = Session.objects.create(user=person, app_name="shop", key="s")
    for number, version in enumerate(["shop:1.4@aaaaaaaaaaaa", "shop@bbbbbbbbbbbb"]):
        Invocation.objects.create(
            session=session,
            invocation_id=f"turn-{number}",
            client_id=f"m{number}",
            message={},
            agent_version=version,
            past_attempts=[{"number": 1, "error": "died", "agent": "shop@cccccccccccc"}],
        )
    client.force_login(User.objects.create_superuser("root"))
    listed = reverse("admin:sessions_app_invocation_changelist")
    page = client.get(listed, {"agent_version": "shop:1.4@aaaaaaaaaaaa"}).content.decode()
    assert "turn-0" in page and "turn-1" not in page
    assert "shop@bbbbbbbbbbbb" in page  # offered by the filter
    row = Invocation.objects.get(invocation_id="turn-1")
    page = client.get(reverse("admin:sessions_app_invocation_change", args=[row.pk])).content.decode()
    assert "shop@bbbbbbbbbbbb" in page and "shop@cccccccccccc" in page
