"""Retry of a failed invocation: on its own row, from its events, and once (docs/resume.md, contract R1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.apps import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.engine.build_events import agent_event
from runtime.events import Event as RuntimeEvent
from runtime.events import EventActions, EventCompaction
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.models.llm_response import LlmResponse
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import ConflictError, NotFoundError
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.jobs.response import queue_response
from sessions_app.jobs.tool import job_tool
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, JobStatus, Session, ToolJob
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel, call, text_content
from tests.integration.invocations.rewind_helpers import go_back
from tests.served_agents import Served
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")
CALLS: list[str] = []


def broken() -> ConnectionError:
    return ConnectionError("the model is away")


def delete_file(name: str) -> str:
    """Delete a file."""
    CALLS.append(name)
    return f"{name} is deleted"


def look_up(word: str) -> str:
    """Look a word up."""
    CALLS.append(word)
    return f"{word} is a word"


@job_tool
def count_words(book: str) -> dict[str, int]:
    """Count the words of a book."""
    return {"words": len(book)}


class OneWordSummarizer(BaseEventsSummarizer):
    """Summarizes everything in one word."""

    async def maybe_summarize_events(self, *, events: list[RuntimeEvent]) -> RuntimeEvent | None:
        summary = EventCompaction(
            start_timestamp=0.0, end_timestamp=0.0, compacted_content=text_content("ants")
        )
        return RuntimeEvent(author="user", actions=EventActions(compaction=summary))


class StatelessAgent(BaseAgent):
    """Fails in its first run; records no state."""

    runs: list[str] = []

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncIterator[RuntimeEvent]:  # type: ignore[override]
        self.runs.append(ctx.invocation_id)
        yield agent_event(ctx, text_content("I begin."))
        if len(self.runs) == 1:
            raise broken()
        yield agent_event(ctx, text_content("I am done."))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, served: Served) -> ScriptedModel:
    CALLS.clear()
    scripted = ScriptedModel()
    tools = [FunctionTool(delete_file, require_confirmation=True), look_up, count_words]
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=tools))
    custom = App(name="custom", root_agent=StatelessAgent(name="custom", runs=[]))
    served(app, custom)
    monkeypatch.setattr("sessions_app.process.celery_dispatch.send_job", lambda job_id, task_name: None)
    monkeypatch.setattr("sessions_app.jobs.response.offer_session", lambda session_id: None)
    return scripted


async def ask(person: User, model: ScriptedModel, *turns: Any, app: str = "words") -> tuple[Session, str]:
    """Send a message and wait for the end; return the session and the invocation's id."""
    model.turns = list(turns)
    session = await use_cases.create_session(person, app)
    invocation_id, _ = await use_cases.send_message(
        actors.person(person), session.pk, "m1", "what is an ant?"
    )
    await worker().wait_until_idle()
    return session, invocation_id


async def retry(person: User, session: Session, invocation_id: str) -> None:
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    await worker().wait_until_idle()


async def log_of(session: Session) -> list[str]:
    """Return author and text, or kind, of each event."""
    rows = [row async for row in Event.objects.filter(session=session).order_by("seq")]
    return [f"{row.author}: {row.text if row.kind == 'message' else row.kind}" for row in rows]


async def statuses(session: Session) -> list[str]:
    return [row.status async for row in session.invocations.order_by("id")]


async def test_a_retried_message_is_answered_and_stands_in_the_log_once(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await ask(person, model, broken())
    assert await statuses(session) == ["failed"]
    model.turns = ["An insect."]
    await retry(person, session, invocation_id)
    assert await log_of(session) == ["user: what is an ant?", "words: error", "words: An insect."]
    assert story(model.requests[-1].contents) == ["user: what is an ant?"]
    row = await Invocation.objects.aget(session=session)
    assert (row.status, row.error_code, row.error_message, row.attempts) == ("completed", "", "", 1)


async def test_a_retry_repeats_no_tools_and_hides_interrupted_text_from_the_model(
    person: User, model: ScriptedModel
) -> None:
    cut = LlmResponse(content=text_content("Half an "), error_code="OTHER", error_message="It broke.")
    session, invocation_id = await ask(person, model, call("look_up", word="ant"), cut)
    model.turns = ["An insect."]
    await retry(person, session, invocation_id)
    assert CALLS == ["ant"]
    assert [content.role for content in model.requests[-1].contents] == ["user", "model", "user"]
    assert (await log_of(session))[-1] == "words: An insect."


async def test_a_failed_answer_to_a_job_is_retried(person: User, model: ScriptedModel) -> None:
    session, _ = await ask(person, model, call("count_words", book="Tea"), "I am counting.")
    job = await ToolJob.objects.aget(session=session)
    await ToolJob.objects.aupdate(status=JobStatus.SUCCEEDED, result={"words": 3})
    await in_thread(queue_response, job.pk)
    model.turns = [broken()]
    await worker().run_queue(session.pk)
    assert await statuses(session) == ["completed", "failed"]
    failed = await session.invocations.aget(client_id=f"job:{job.pk}")
    model.turns = ["It has three words."]
    await retry(person, session, failed.invocation_id)
    assert await statuses(session) == ["completed", "completed"]
    assert (await log_of(session))[-3:] == ["user: response", "words: error", "words: It has three words."]
    (part,) = model.requests[-1].contents[-1].parts or []
    assert part.function_response is not None
    assert part.function_response.response == {"status": "succeeded", "words": 3}


async def test_a_retried_confirmation_does_not_repeat_the_confirmed_call(
    person: User, model: ScriptedModel
) -> None:
    session, _ = await ask(person, model, call("delete_file", name="a.txt"))
    question = await Event.objects.filter(session=session).alatest("seq")
    call_id = question.body["content"]["parts"][0]["functionCall"]["id"]
    model.turns = [broken()]
    yes = {"confirmed": True, "payload": None}
    failed, _ = await use_cases.answer_call(
        actors.person(person), session.pk, call_id, REQUEST_CONFIRMATION, yes
    )
    await worker().wait_until_idle()
    model.turns = ["It is gone."]
    await retry(person, session, failed)
    assert CALLS == ["a.txt"]
    assert (await log_of(session))[-1] == "words: It is gone."
    assert await statuses(session) == ["completed", "completed"]


async def test_concurrent_retries_run_the_invocation_once(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await ask(person, model, broken())
    model.turns = ["An insect.", "Never said."]
    results = await asyncio.gather(
        *(use_cases.retry(actors.person(person), session.pk, invocation_id) for _ in range(5)),
        return_exceptions=True,
    )
    await worker().wait_until_idle()
    assert sorted(str(type(result).__name__) for result in results) == ["Admitted"] + ["ConflictError"] * 4
    assert (await log_of(session))[2:] == ["words: An insect."]
    with pytest.raises(ConflictError, match="did not fail"):
        await retry(person, session, invocation_id)


async def test_a_retry_that_fails_may_be_retried(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await ask(person, model, broken())
    model.turns = [broken(), "An insect."]
    await retry(person, session, invocation_id)
    assert await statuses(session) == ["failed"]
    await retry(person, session, invocation_id)
    assert (await log_of(session))[1:] == ["words: error", "words: error", "words: An insect."]


async def test_a_retry_that_is_sent_again_after_it_has_failed_runs_nothing_more(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await ask(person, model, broken())
    model.turns = [broken(), "Never said."]
    retry_id = uuid4()
    told = []
    for _ in range(2):
        told.append(
            await use_cases.retry(actors.person(person), session.pk, invocation_id, retry_id=retry_id)
        )
        await worker().wait_until_idle()
    assert told[1] == (invocation_id, "failed")
    assert (await log_of(session))[1:] == ["words: error", "words: error"]


async def test_a_retry_with_a_new_message_that_is_sent_again_is_the_same_invocation(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await ask(person, model, app="custom")
    retry_id = uuid4()
    told = []
    for _ in range(2):
        told.append(
            await use_cases.retry(actors.person(person), session.pk, invocation_id, retry_id=retry_id)
        )
        await worker().wait_until_idle()
    new = await Invocation.objects.exclude(invocation_id=invocation_id).aget()
    assert [told_id for told_id, _ in told] == [new.invocation_id] * 2
    assert told[1][1] == "completed"


async def test_a_retry_whose_process_shuts_down_is_resumed_by_another(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await ask(person, model, call("look_up", word="ant"), broken())
    model.turns = [asyncio.Event()]
    await use_cases.retry(actors.person(person), session.pk, invocation_id)
    while len(model.requests) < 3:
        await asyncio.sleep(0.01)
    await worker().close()
    assert await statuses(session) == ["queued"]
    model.turns = ["An insect."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert CALLS == ["ant"]
    assert (await log_of(session))[-2:] == ["words: state", "words: An insect."]


async def test_a_retry_is_refused_after_a_newer_message_or_a_rewind(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await ask(person, model, broken(), "An insect.")
    await use_cases.send_message(actors.person(person), session.pk, "m2", "hello?")
    await worker().wait_until_idle()
    with pytest.raises(ConflictError, match="has gone on"):
        await retry(person, session, invocation_id)
    other, invocation_id = await ask(person, model, broken())
    await go_back(person, other.pk, invocation_id)
    with pytest.raises(ConflictError, match="has gone on"):
        await retry(person, other, invocation_id)
    assert await statuses(session) == ["failed", "completed"] and await statuses(other) == ["failed"]


async def test_the_failure_of_an_alternative_that_came_back_is_retried(
    person: User, model: ScriptedModel
) -> None:
    session, first = await ask(person, model, broken(), "A spider.", "An insect.")
    await use_cases.edit_message(actors.person(person), session.pk, "edit", "what is a spider?", first)
    await worker().wait_until_idle()
    await use_cases.switch_alternative(actors.person(person), session.pk, 1)
    await retry(person, session, first)
    assert (await log_of(session))[-1] == "words: An insect."
    assert story(model.requests[-1].contents) == ["user: what is an ant?"]
    assert await statuses(session) == ["completed", "completed"]


async def test_a_failed_invocation_is_not_compacted_until_it_is_answered(
    person: User, model: ScriptedModel, served: Served
) -> None:
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=OneWordSummarizer())
    app = App(name="words", root_agent=LlmAgent(name="words", model=model), events_compaction_config=config)
    served(app)
    session, invocation_id = await ask(person, model, broken())
    await asyncio.gather(*worker()._background_tasks)
    assert await log_of(session) == ["user: what is an ant?", "words: error"]
    model.turns = ["An insect."]
    await retry(person, session, invocation_id)
    await asyncio.gather(*worker()._background_tasks)
    assert (await log_of(session))[2:] == ["words: An insect.", "user: state"]


async def test_a_retry_needs_an_invocation_of_ones_own(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await ask(person, model, broken())
    stranger = await get_user_model().objects.acreate_user("eve")
    with pytest.raises(NotFoundError):
        await retry(stranger, session, invocation_id)
    with pytest.raises(NotFoundError):
        await retry(person, session, "e-nothing")


async def test_a_retry_of_an_agent_that_records_no_state_sends_the_message_again(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await ask(person, model, app="custom")
    retries = (use_cases.retry(actors.person(person), session.pk, invocation_id) for _ in range(3))
    await asyncio.gather(*retries, return_exceptions=True)
    await worker().wait_until_idle()
    assert await statuses(session) == ["failed", "completed"]
    assert (await log_of(session))[3:] == ["user: what is an ant?", "custom: I begin.", "custom: I am done."]
