"""People and models read a sentence of the site; staff with a permission read the error itself, with secrets masked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App
from runtime.errors import ModelError
from runtime.models.google_client import FAILURES
from runtime.tools import AgentTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.history.figures.batches import count_figures
from sessions_app.invocations import call_errors
from sessions_app.invocations.worker import worker
from sessions_app.jobs import JobError, job_tool
from sessions_app.models import (
    CallError,
    DayFigure,
    DayMetric,
    Event,
    Failure,
    Invocation,
    Session,
    ToolJob,
)
from sessions_app.process import threads
from sessions_app.secrets.error_detail import Cause, cause_in, describe, masked
from tests.fakes import ScriptedModel, call
from tests.integration.chat.pages.page_helpers import body_of, shown_to
from tests.integration.jobs.job_helpers import clerk_with, run_queue, run_task, talk
from tests.served_agents import Served

QUOTA = "Quota exceeded for project lamps-12345"
HOST = "db-7.internal:5432"
PASSWORD = "hunter2hunter2"


@job_tool
def reach(way: str) -> dict[str, Any]:
    """Reach a server."""
    if way == "raise":
        raise ConnectionError(f"no route to postgres://app:{PASSWORD}@{HOST}")
    raise JobError("The order is closed already.")


async def ask(person: User, served: Served, turn: Any) -> tuple[Session, Invocation]:
    model = ScriptedModel(turns=[turn])
    app = App(name="words", root_agent=LlmAgent(name="words", model=model))
    served(app)
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    return session, await Invocation.objects.aget(session=session)


def page(user: User, model: str, pk: Any) -> str:
    client = Client()
    client.force_login(user)
    response = client.get(reverse(f"admin:sessions_app_{model}_change", args=[pk]))
    assert response.status_code == 200
    return response.content.decode()


def staff_with(name: str, *codenames: str) -> User:
    user = User.objects.create_user(name, password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return user


@pytest.mark.usefixtures("loop_end")
async def test_the_error_event_names_the_agent_that_failed(person: User, served: Served) -> None:
    """Contract L5."""
    first = LlmAgent(name="first", model=ScriptedModel(turns=["Hello."]))
    second = LlmAgent(name="second", model=ScriptedModel(turns=[LookupError("second")]))
    served(App(name="words", root_agent=SequentialAgent(name="words", sub_agents=[first, second])))
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    last = await Event.objects.filter(session=session).alatest("seq")
    assert (last.author, last.body["errorCode"]) == ("second", "LookupError")


@pytest.mark.usefixtures("loop_end")
async def test_what_a_provider_says_is_kept_for_staff_alone(person: User, served: Served) -> None:
    error = ModelError("RESOURCE_EXHAUSTED", "The model is overloaded. Try again in a moment.", QUOTA)
    session, invocation = await ask(person, served, error)
    last = await Event.objects.filter(session=session).alatest("seq")
    assert last.body["errorMessage"] == "The model is overloaded. Try again in a moment."
    assert invocation.error_message == last.body["errorMessage"]
    assert "lamps-12345" not in json.dumps(last.body)
    assert invocation.error_detail == QUOTA
    owner_page = await sync_to_async(shown_to)(person, session)
    assert "lamps-12345" not in owner_page
    assert f"<summary>Reference</summary>{invocation.invocation_id}" in owner_page


@pytest.mark.usefixtures("loop_end")
async def test_the_traceback_of_an_unexpected_error_is_kept_without_its_secrets(
    person: User, served: Served
) -> None:
    error = ConnectionError(f"no route to postgres://app:{PASSWORD}@{HOST}")
    session, invocation = await ask(person, served, error)
    assert HOST in invocation.error_detail and "Traceback" in invocation.error_detail
    assert PASSWORD not in invocation.error_detail
    assert HOST not in invocation.error_message
    async for event in Event.objects.filter(session=session):
        assert HOST not in json.dumps(event.body)


@pytest.mark.usefixtures("background_end")
class TestJobs:
    """Jobs whose function raises."""

    def fail(
        self, person: User, served: Served, broker: list[tuple[str, str]], way: str
    ) -> tuple[ToolJob, ScriptedModel]:
        model = clerk_with(reach, served)
        model.turns = [call("reach", way=way), "Started.", "Sorry."]
        talk(person, "reports", "reach it")
        job = ToolJob.objects.get()
        run_task(job)
        run_queue(job.session_id)
        job.refresh_from_db()
        return job, model

    def test_other_exceptions_are_kept_from_the_person_and_the_model(
        self, person: User, served: Served, broker: list[tuple[str, str]]
    ) -> None:
        job, model = self.fail(person, served, broker, "raise")
        assert job.error == "The job failed."
        assert HOST in job.error_detail and "Traceback" in job.error_detail
        assert PASSWORD not in job.error_detail
        sent = "".join(content.model_dump_json() for content in model.requests[-1].contents)
        assert "The job failed." in sent and HOST not in sent
        for event in Event.objects.all():
            assert HOST not in json.dumps(event.body)
        assert HOST not in shown_to(person, job.session)
        assert failures() == [("reach", f"ConnectionError, {place_of(reach.func, 4)}")]

    def test_the_sentence_of_a_job_error_reaches_both(
        self, person: User, served: Served, broker: list[tuple[str, str]]
    ) -> None:
        job, model = self.fail(person, served, broker, "refuse")
        assert job.error == "The job failed: The order is closed already."
        sent = "".join(content.model_dump_json() for content in model.requests[-1].contents)
        assert "The order is closed already." in sent


def test_only_staff_with_the_permission_see_details(person: User) -> None:
    session = threads.run(use_cases.create_session(person, "help_desk"))
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m1", message={}, status="failed", error_detail=QUOTA
    )
    job = ToolJob.objects.create(
        session=session, invocation_id="e-1", call_id="c1", tool_name="reach", error_detail=QUOTA
    )
    rows = (("invocation", invocation.pk), ("tooljob", job.pk))
    plain = staff_with("plain", "view_invocation", "view_tooljob")
    developer = staff_with("developer", "view_invocation", "view_tooljob", "view_error_detail")
    trusted = staff_with("trusted", "view_invocation", "view_tooljob", "view_text", "view_error_detail")
    assert [QUOTA in page(plain, *row) for row in rows] == [False, False]
    assert [QUOTA in page(developer, *row) for row in rows] == [False, False]
    assert [QUOTA in page(trusted, *row) for row in rows] == [True, True]


def test_without_the_right_to_read_texts_an_error_is_its_class_and_its_place(person: User) -> None:
    session = threads.run(use_cases.create_session(person, "help_desk"))
    said = "no refund of 40 to Ada"
    detail = f'Traceback:\n  File "/srv/shop.py", line 3, in pay\n    x()\nshop.Refused: {said}\n'
    errors = {"error_detail": detail, "status": "failed"}
    invocation = Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m1", message={}, error_message=said, **errors
    )
    values = {"invocation_id": "e-1", "call_id": "c1", "tool_name": "pay", "error": said}
    job = ToolJob.objects.create(session=session, progress_message=said, **values, **errors)
    call = {"call_id": "c1", "tool_name": "pay", "error": "Refused", "detail": detail}
    error = CallError.objects.create(session=session, seq=1, **call)
    models = ("view_invocation", "view_tooljob", "view_error_detail")
    developer = staff_with("developer", *models)
    trusted = staff_with("trusted", "view_text", *models)
    for row in (("invocation", invocation.pk), ("tooljob", job.pk), ("callerror", error.pk)):
        shown = page(developer, *row)
        assert "shop.Refused, /srv/shop.py:3 in pay" in shown and said not in shown, row
        assert said in page(trusted, *row), row
        client = Client()
        client.force_login(developer)
        response = client.get(reverse(f"admin:sessions_app_{row[0]}_changelist"))
        assert response.status_code == 200 and said not in response.content.decode(), row


@pytest.mark.parametrize(
    "text",
    [
        f"https://app:{PASSWORD}@host/x",
        f"Authorization: Bearer {PASSWORD}",
        f"password={PASSWORD}&x=1",
        f'{{"api_key": "{PASSWORD}"}}',
        f"X-Api-Key: {PASSWORD}",
        f"sk-{PASSWORD}{PASSWORD}",
        f"-----BEGIN PRIVATE KEY-----\n{PASSWORD}\n-----END PRIVATE KEY-----",
    ],
)
def test_texts_that_look_like_secrets_are_masked(text: str) -> None:
    assert PASSWORD not in masked(text) and "[masked]" in masked(text)


def test_details_are_bounded(configure: Callable[..., None]) -> None:
    configure(error_detail_limit=100)
    detail = describe(ValueError("x" * 1000 + "the end"))
    assert len(detail) == 100 and detail.rstrip().endswith("the end")


def test_a_failure_without_the_api_is_a_sentence_too() -> None:
    error = FAILURES.read(TimeoutError("host-7")).error
    assert "host-7" not in error.message and "host-7" in error.detail


def weigh(parcel: str) -> str:
    """Weigh a parcel."""
    raise ConnectionError(f"no route to postgres://app:{PASSWORD}@{HOST}, parcel {parcel}")


async def converse(person: User, served: Served, *turns: Any, **agent: Any) -> Session:
    model = ScriptedModel(turns=[*turns])
    app = App(name="words", root_agent=LlmAgent(name="words", model=model, tools=[weigh], **agent))
    served(app)
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    return session


def session_page(user: User, session: Session) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("admin:sessions_app_session_change", args=[session.pk])).content.decode()


def answer_for(tool: object, args: object, tool_context: object, error: Exception) -> dict[str, str]:
    """Answer in place of a tool that raised."""
    return {"error": "The scale is away."}


@pytest.mark.usefixtures("loop_end")
@pytest.mark.parametrize("callback", [None, answer_for], ids=["ends the invocation", "answered by a hook"])
async def test_staff_with_the_permission_reach_the_traceback_of_a_tool_from_its_response(
    person: User, served: Served, callback: Any
) -> None:
    turns = [call("weigh", parcel="\u202ebig<script>"), "It cannot be weighed."]
    session = await converse(person, served, *turns, on_tool_error_callback=callback)
    error = await CallError.objects.aget(session=session)
    response = await Event.objects.aget(session=session, seq=error.seq)
    assert response.body["content"]["parts"][0]["functionResponse"]["id"] == error.call_id
    assert (error.tool_name, error.error) == ("weigh", "ConnectionError")
    assert "Traceback" in error.detail and HOST in error.detail and PASSWORD not in error.detail
    async for event in Event.objects.filter(session=session):
        assert HOST not in json.dumps(event.body)
    trusted = await sync_to_async(staff_with)("trusted", "view_session", "view_text", "view_error_detail")
    plain = await sync_to_async(staff_with)("plain", "view_session", "view_text")
    link = reverse("admin:sessions_app_callerror_change", args=[error.pk])
    html = await sync_to_async(session_page)(trusted, session)
    assert f'href="{link}"' in html and 'data-kind="response" data-failed' in html
    assert link not in await sync_to_async(session_page)(plain, session)
    detail = await sync_to_async(page)(trusted, "callerror", error.pk)
    assert "Traceback" in detail and "<script>" not in detail and PASSWORD not in detail
    assert HOST not in await sync_to_async(shown_to)(person, session)


async def load(crates: int) -> str:
    """Load crates, and fail while this is interrupted."""
    try:
        await asyncio.Event().wait()
    finally:
        raise TimeoutError(f"{crates} crates are on the ramp")
    return "loaded"


async def lift(crates: int) -> str:
    """Lift crates when all others have begun."""
    await asyncio.sleep(0)
    raise OSError(f"{crates} crates are too heavy for {HOST}")


async def leave(crates: int) -> str:
    """Leave crates by cancelling the own task."""
    raise asyncio.CancelledError


def place_of(function: Callable[..., Any], line: int) -> str:
    """Return a place in a function of this file as causes have it."""
    return f"{__file__}:{function.__code__.co_firstlineno + line} in {function.__name__}"


def failures() -> list[tuple[str, str]]:
    """Return tool and cause of each failure after the sweep has counted."""
    while count_figures(60):
        pass
    return list(Failure.objects.order_by("pk").values_list("tool_name", "cause"))


@pytest.mark.usefixtures("loop_end")
@pytest.mark.parametrize("names", [["load", "lift", "load"], ["leave"]], ids=["parallel calls", "cancelled"])
async def test_a_tool_that_ends_its_invocation_is_the_tool_that_failed(
    person: User, served: Served, names: list[str]
) -> None:
    crane = LlmAgent(
        name="words",
        model=ScriptedModel(turns=[[call(name, crates=7) for name in names]]),
        tools=[load, lift, leave],
    )
    served(App(name="words", root_agent=crane))
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    ((tool, cause),) = await sync_to_async(failures)()
    causes = {"lift": f"OSError, {place_of(lift, 3)}", "leave": "runtime.errors.StrayCancellationError, "}
    assert cause.startswith(causes[tool])
    failed = await DayFigure.objects.aget(metric=DayMetric.FAILURES)
    called = await DayFigure.objects.aget(metric=DayMetric.CALLS, name=tool)
    assert (failed.name, failed.amount, called.amount) == (tool, 1, 1)


@pytest.mark.usefixtures("loop_end")
async def test_an_agent_run_as_a_tool_fails_as_the_call_in_the_log(person: User, served: Served) -> None:
    inner = LlmAgent(name="scale", model=ScriptedModel(turns=[call("weigh", parcel="a")]), tools=[weigh])
    asks = ScriptedModel(turns=[call("scale", request="weigh")])
    outer = LlmAgent(name="words", model=asks, tools=[AgentTool(inner)])
    served(App(name="words", root_agent=outer))
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    assert await sync_to_async(failures)() == [("scale", f"ConnectionError, {place_of(weigh, 2)}")]


@pytest.mark.usefixtures("loop_end")
async def test_an_error_event_leads_to_the_cause_of_its_invocation(person: User, served: Served) -> None:
    session, invocation = await ask(person, served, ConnectionError(HOST))
    trusted = await sync_to_async(staff_with)("trusted", "view_session", "view_text", "view_error_detail")
    link = reverse("admin:sessions_app_invocation_change", args=[invocation.pk])
    assert f'<a href="{link}">Cause</a>' in await sync_to_async(session_page)(trusted, session)


@pytest.mark.usefixtures("loop_end")
async def test_only_developers_and_staff_with_the_permission_see_causes_in_their_chats(
    person: User, served: Served, configure: Callable[..., None]
) -> None:
    session = await converse(person, served, call("weigh", parcel="\u202ebig<script>"))
    error = await Event.objects.filter(session=session).alatest("seq")
    assert error.body["errorCode"] == "ConnectionError"
    assert await sync_to_async(opened_cause)(person, error) == (False, 403, "")
    await sync_to_async(promote)(person, "view_session", "view_text")
    assert await sync_to_async(opened_cause)(person, error) == (False, 403, "")
    await sync_to_async(promote)(person, "view_error_detail")
    offered, status, shown = await sync_to_async(opened_cause)(person, error)
    assert (offered, status) == (True, 200)
    assert HOST in shown and PASSWORD not in shown
    assert "parcel \\u202ebig&lt;script&gt;" in shown
    assert f"{__file__}:" in shown and " in weigh<" in shown and "/runtime/" not in shown
    # The chat, its exports and its shared page have no text of the exception, whatever their reader may see.
    for name in ("session", "export_page", "export_markdown", "export_json"):
        assert HOST not in await sync_to_async(chat_page)(person, name, session)
    await sync_to_async(promote)(person)
    assert await sync_to_async(opened_cause)(person, error) == (False, 403, "")
    configure(reload_agents=True)
    assert await sync_to_async(opened_cause)(person, error) == (True, 200, shown)
    message = await Event.objects.aget(session=session, seq=1)
    _, _, shown = await sync_to_async(opened_cause)(person, message)
    assert shown == "<p>No cause of this error is kept.</p>"


def promote(user: User, *codenames: str) -> None:
    """Make the user a member of staff with exactly these permissions; without any, an ordinary person."""
    user.is_staff = bool(codenames)
    user.save()
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))


def opened_cause(user: User, event: Event) -> tuple[bool, int, str]:
    """Return whether the user's chat page offers causes, and the status and HTML of the cause."""
    client = Client()
    client.force_login(user)
    offered = "causes.js" in chat_page(user, "session", event.session)
    response = client.get(reverse("chat:cause", args=[event.session_id, event.seq]))
    shown = response.content.decode().strip() if response.status_code == 200 else ""
    return offered, response.status_code, shown


def chat_page(user: User, name: str, session: Session) -> str:
    client = Client()
    client.force_login(user)
    response = client.get(reverse(f"chat:{name}", args=[session.pk]))
    return (body_of(response) if response.streaming else response.content).decode()


FOREIGN_FRAME = f'  File "{json.__file__}", line 7, in loads\n    decode()\n    ~~~~~~^^\n'


@pytest.mark.parametrize(
    ("detail", "sentence", "exception", "frames"),
    [
        ("Quota exceeded\nfor project 1", "Quota exceeded\nfor project 1", "", []),
        (
            f"Traceback:\n{FOREIGN_FRAME}ValueError: no\n  JSON\nhere\n",
            "ValueError: no\n  JSON\nhere",
            "ValueError",
            [],
        ),
        (
            '  File "/srv/shop.py", line 3\n    x = (\n        ^\nSyntaxError: never closed',
            "SyntaxError: never closed",
            "SyntaxError",
            ["/srv/shop.py:3"],
        ),
        (
            f'  File "/srv/shop.py", line 3, in weigh\n    x()\nKeyError\n\nTraceback:\n{FOREIGN_FRAME}OSError',
            "OSError",
            "OSError",
            ["/srv/shop.py:3 in weigh"],
        ),
    ],
    ids=["provider", "own text", "syntax", "chain"],
)
def test_a_cause_is_the_last_exception_and_the_frames_of_the_authors_code(
    detail: str, sentence: str, exception: str, frames: list[str]
) -> None:
    assert cause_in(detail) == Cause(sentence, exception, frames)


@pytest.mark.usefixtures("loop_end")
async def test_an_exception_that_cannot_be_described_loses_no_answer(
    person: User, monkeypatch: pytest.MonkeyPatch, served: Served
) -> None:
    def fail(error: BaseException) -> str:
        raise RecursionError

    monkeypatch.setattr(call_errors, "describe", fail)
    turns = [call("weigh", parcel="1"), "It cannot be weighed."]
    session = await converse(person, served, *turns, on_tool_error_callback=answer_for)
    assert (await Event.objects.filter(session=session).alatest("seq")).text == "It cannot be weighed."
    assert not await CallError.objects.aexists()
