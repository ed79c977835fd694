"""Work of a person who may not use an agent any more: it stops, and says so."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.test import AsyncClient, Client
from django.utils import timezone
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.tools import AgentTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import AgentClosedError, NotFoundError
from sessions_app.invocations.worker import worker
from sessions_app.jobs import job_tool
from sessions_app.models import Event, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.process.sweeping import sweep_over
from sessions_app.scheduling.firing import due_task_repair
from sessions_app.sessions.agent_access import create_permissions
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, run_task, talk
from tests.served_agents import Served

SENTENCE = "You may not use this agent, or not any more."
CALLED: list[str] = []


@job_tool
def report(topic: str) -> str:
    """Write a report."""
    CALLED.append(topic)
    return topic


def close(settings: Settings, name: str, access: str = "permission") -> None:
    settings.ADK = {**settings.ADK, "apps": {name: {"access": access}}}


def admit(person: User, name: str) -> Permission:
    create_permissions()
    permission = Permission.objects.get(codename=f"use_{name}")
    person.user_permissions.add(permission)
    return permission


@pytest.mark.usefixtures("loop_end")
async def test_a_running_invocation_is_stopped_with_the_next_heartbeat(
    person: User, served: Served, settings: Settings
) -> None:
    close(settings, "shop")
    settings.ADK = {**settings.ADK, "heartbeat_seconds": 0.05}
    permission = await sync_to_async(admit)(person, "shop")
    began = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    served(LlmAgent(name="shop", model=ScriptedModel(turns=[call("wait")]), tools=[wait]))
    session = await use_cases.create_session(person, "shop")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "Wait.")
    await began.wait()
    await person.user_permissions.aremove(permission)
    await worker().wait_until_idle()
    row = await Invocation.objects.aget(client_id="m1")
    assert (row.status, row.error_code) == ("failed", "AGENT_CLOSED")
    assert row.error_message.startswith(SENTENCE)
    with pytest.raises(AgentClosedError, match=SENTENCE):
        await use_cases.send_message(actors.person(person), session.pk, "m2", "Go on.")
    with pytest.raises(NotFoundError, match=r"no app 'shop'\. The apps of this site: none"):
        await use_cases.create_session(person, "shop")
    assert await Event.objects.filter(session=session).aexists()


@pytest.mark.usefixtures("loop_end")
@pytest.mark.parametrize("access", ["permission", "hidden"])
@pytest.mark.parametrize("way", ["transfer", "tool"])
async def test_no_other_agent_leads_to_an_agent_that_the_person_may_not_use(
    person: User, served: Served, settings: Settings, way: str, access: str
) -> None:
    close(settings, "payroll", access)
    permission = await sync_to_async(admit)(person, "payroll") if access == "permission" else None
    secrets = ScriptedModel()
    payroll = LlmAgent(name="payroll", model=secrets, description="Knows salaries.")
    clerk = ScriptedModel()
    if way == "transfer":
        turns = [call("transfer_to_agent", agent_name="payroll"), "I do not know."]
        shop = LlmAgent(name="shop", model=clerk, sub_agents=[payroll])
    else:
        turns = [call("payroll", request="How much?"), "I do not know."]
        shop = LlmAgent(name="shop", model=clerk, tools=[AgentTool(payroll)])
    served(shop, payroll)
    session = await use_cases.create_session(person, "shop")

    async def ask(client_id: str) -> Invocation:
        clerk.turns = [*turns]
        await use_cases.send_message(actors.person(person), session.pk, client_id, "How much?")
        await worker().wait_until_idle()
        return await Invocation.objects.aget(client_id=client_id)

    if permission:
        secrets.turns = ["A thousand."]
        assert (await ask("m1")).status == "completed"
        assert len(secrets.requests) == 1
        await person.user_permissions.aremove(permission)
    asked = len(secrets.requests)
    row = await ask("m2")
    assert len(secrets.requests) == asked
    assert (row.status, row.error_code) == ("failed", "AGENT_CLOSED")
    assert row.error_message.startswith(SENTENCE)


def test_a_job_that_has_not_begun_and_its_answer_do_not_run(
    person: User,
    served: Served,
    settings: Settings,
    broker: list[tuple[str, str]],
    background_end: None,
) -> None:
    CALLED.clear()
    model = clerk_with(report, served)
    model.turns = [call("report", topic="tea"), "Later."]
    job = ToolJob.objects.get(session_id=talk(person, "reports", "Report."))
    asked = len(model.requests)
    close(settings, job.session.app_name)
    run_task(job)
    job.refresh_from_db()
    assert (CALLED, job.status) == ([], "failed")
    assert job.error.startswith(SENTENCE)
    assert len(model.requests) == asked


def test_a_due_task_ends_with_the_sentence(person: User, settings: Settings, background_end: None) -> None:
    session = Session.objects.create(app_name="shop", user=person, key="s")
    task = ScheduledTask.objects.create(
        session=session,
        invocation_id="e-1",
        call_id="c-1",
        agent_name="shop",
        task="Look.",
        time_zone="UTC",
        start_at=timezone.now() - timedelta(seconds=1),
        next_at=timezone.now() - timedelta(seconds=1),
    )
    close(settings, "shop")
    sweep_over([due_task_repair()])
    task.refresh_from_db()
    assert task.next_at is None and SENTENCE in task.error
    assert not Invocation.objects.exists()


async def test_lists_of_agents_have_those_that_the_person_may_use(
    person: User, served: Served, settings: Settings, loop_end: None
) -> None:
    served(*(LlmAgent(name=name, model=ScriptedModel()) for name in ("shop", "payroll", "attic")))
    settings.ADK = {
        **settings.ADK,
        "apps": {"payroll": {"access": "permission"}, "attic": {"access": "hidden"}},
    }
    client = AsyncClient()
    await client.aforce_login(person)

    async def listed() -> tuple[list[str], str]:
        apps = json.loads((await client.get("/api/v1/apps")).content)
        assert json.loads((await client.get("/adk/list-apps")).content) == sorted(app["name"] for app in apps)
        return [app["name"] for app in apps], (await client.get("/")).content.decode()

    names, page = await listed()
    assert names == ["shop"]
    assert "ayroll" not in page and "ttic" not in page
    await sync_to_async(admit)(person, "payroll")
    names, page = await listed()
    assert names == ["shop", "payroll"]
    assert "Payroll" in page and "ttic" not in page


@pytest.mark.django_db
def test_people_without_any_agent_are_not_told_to_write_one(
    person: User, client: Client, served: Served, settings: Settings
) -> None:
    served(LlmAgent(name="shop", model=ScriptedModel()))
    close(settings, "shop")
    client.force_login(person)
    page = client.get("/").content.decode()
    assert "There are no agents that you may use." in page and "agents.py" not in page


@pytest.mark.django_db
def test_a_person_reads_a_closed_conversation_and_is_told_why_nothing_can_be_written(
    person: User, client: Client, served: Served, settings: Settings
) -> None:
    served(LlmAgent(name="shop", model=ScriptedModel()))
    session = Session.objects.create(app_name="shop", user=person, key="s", title="A cup of tea")
    Event.objects.create(session=session, seq=1, body={"author": "user"})
    Session.objects.update(last_seq=1)
    client.force_login(person)
    assert SENTENCE not in client.get(f"/chat/{session.pk}/").content.decode()
    assert "A cup of tea" in (listed := client.get("/").content.decode()) and "Read only" not in listed
    close(settings, "shop")
    page = client.get(f"/chat/{session.pk}/").content.decode()
    assert SENTENCE in page and "disabled></textarea>" in page
    assert "Read only" in client.get("/").content.decode()
    close(settings, "shop", "hidden")
    assert client.get(f"/chat/{session.pk}/").status_code == 404
    assert "A cup of tea" not in client.get("/").content.decode()
