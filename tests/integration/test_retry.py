"""What failed is tried again: on its own row, from its events, and once (docs/resume.md; spec R1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

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
from sessions_app import agent_registry, use_cases
from sessions_app.db.threads import in_thread
from sessions_app.errors import ConflictError, NotFoundError
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.jobs.response import queue_response
from sessions_app.jobs.tool import job_tool
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, JobStatus, Session, ToolJob
from tests.fakes import ScriptedModel, call, text_content
from tests.unit.runtime.engine.histories import story

pytestmark = pytest.mark.usefixtures("loop_end")
DELETED: list[str] = []


def broken() -> ConnectionError:
    return ConnectionError("the model is away")


def delete_file(name: str) -> str:
    """Delete a file."""
    DELETED.append(name)
    return f"{name} is deleted"


def look_up(word: str) -> str:
    """Look a word up."""
    DELETED.append(word)
    return f"{word} is a word"


@job_tool
def count_words(book: str) -> dict[str, int]:
    """Count the words of a book."""
    return {"words": len(book)}


class Short(BaseEventsSummarizer):
    """Sums everything up in a word."""

    async def maybe_summarize_events(self, *, events: list[RuntimeEvent]) -> RuntimeEvent | None:
        summary = EventCompaction(
            start_timestamp=0.0, end_timestamp=0.0, compacted_content=text_content("ants")
        )
        return RuntimeEvent(author="user", actions=EventActions(compaction=summary))


class Custom(BaseAgent):
    """Breaks at its first run; records no state."""

    runs: list[str] = []

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncIterator[RuntimeEvent]:  # type: ignore[override]
        self.runs.append(ctx.invocation_id)
        yield agent_event(ctx, text_content("I begin."))
        if len(self.runs) == 1:
            raise broken()
        yield agent_event(ctx, text_content("I am done."))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    DELETED.clear()
    scripted = ScriptedModel()
    tools = [FunctionTool(delete_file, require_confirmation=True), look_up, count_words]
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=tools))
    custom = App(name="custom", root_agent=Custom(name="custom", runs=[]))
    monkeypatch.setattr(agent_registry, "apps", lambda: {"words": app, "custom": custom})
    monkeypatch.setattr("sessions_app.celery_dispatch.send_job", lambda job_id, task_name: None)
    monkeypatch.setattr("sessions_app.jobs.response.send_run_session", lambda session_id: None)
    return scripted


async def told(person: User, model: ScriptedModel, *turns: Any, app: str = "words") -> tuple[Session, str]:
    """A session with one invocation, and its id."""
    model.turns = list(turns)
    session = await use_cases.create_session(person, app)
    invocation_id, _ = await use_cases.send_message(person, session.pk, "m1", "what is an ant?")
    await worker().ended()
    return session, invocation_id


async def retry(person: User, session: Session, invocation_id: str) -> None:
    await use_cases.retry(person, session.pk, invocation_id)
    await worker().ended()


async def log_of(session: Session) -> list[str]:
    """Author and what each event says."""
    rows = [row async for row in Event.objects.filter(session=session).order_by("seq")]
    return [f"{row.author}: {row.text if row.kind == 'message' else row.kind}" for row in rows]


async def statuses(session: Session) -> list[str]:
    return [row.status async for row in session.invocations.order_by("id")]


async def test_a_message_is_answered_at_last_and_was_said_once(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await told(person, model, broken())
    assert await statuses(session) == ["failed"]
    model.turns = ["An insect."]
    await retry(person, session, invocation_id)
    assert await log_of(session) == ["user: what is an ant?", "words: error", "words: An insect."]
    assert story(model.requests[-1].contents) == ["user: what is an ant?"]
    row = await Invocation.objects.aget(session=session)
    assert (row.status, row.error_code, row.error_message, row.attempts) == ("completed", "", "", 1)


async def test_tools_that_ran_are_not_run_again_and_text_that_was_cut_off_is_not_the_models(
    person: User, model: ScriptedModel
) -> None:
    cut = LlmResponse(content=text_content("Half an "), error_code="OTHER", error_message="It broke.")
    session, invocation_id = await told(person, model, call("look_up", word="ant"), cut)
    model.turns = ["An insect."]
    await retry(person, session, invocation_id)
    assert DELETED == ["ant"]
    assert [content.role for content in model.requests[-1].contents] == ["user", "model", "user"]
    assert (await log_of(session))[-1] == "words: An insect."


async def test_the_answer_to_a_job_that_failed_is_given_at_last(person: User, model: ScriptedModel) -> None:
    session, _ = await told(person, model, call("count_words", book="Tea"), "I am counting.")
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
    last = model.requests[-1].contents[-1]
    assert last.parts[0].function_response.response == {"status": "succeeded", "words": 3}


async def test_an_approval_goes_on_and_what_it_let_run_is_not_run_again(
    person: User, model: ScriptedModel
) -> None:
    session, _ = await told(person, model, call("delete_file", name="a.txt"))
    asked = await Event.objects.filter(session=session).alatest("seq")
    call_id = asked.body["content"]["parts"][0]["functionCall"]["id"]
    model.turns = [broken()]
    yes = {"confirmed": True, "payload": None}
    failed, _ = await use_cases.answer_call(person, session.pk, call_id, REQUEST_CONFIRMATION, yes)
    await worker().ended()
    model.turns = ["It is gone."]
    await retry(person, session, failed)
    assert DELETED == ["a.txt"]
    assert (await log_of(session))[-1] == "words: It is gone."
    assert await statuses(session) == ["completed", "completed"]


async def test_whoever_asks_twice_or_from_two_tabs_has_it_tried_once(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await told(person, model, broken())
    model.turns = ["An insect.", "Never said."]
    results = await asyncio.gather(
        *(use_cases.retry(person, session.pk, invocation_id) for _ in range(5)), return_exceptions=True
    )
    await worker().ended()
    assert [type(result) for result in results if result] == [ConflictError] * 4
    assert (await log_of(session))[2:] == ["words: An insect."]
    with pytest.raises(ConflictError, match="did not fail"):
        await retry(person, session, invocation_id)


async def test_what_fails_again_says_so_and_may_be_tried_once_more(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await told(person, model, broken())
    model.turns = [broken(), "An insect."]
    await retry(person, session, invocation_id)
    assert await statuses(session) == ["failed"]
    await retry(person, session, invocation_id)
    assert (await log_of(session))[1:] == ["words: error", "words: error", "words: An insect."]


async def test_a_retry_whose_process_is_stopped_goes_on_elsewhere(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await told(person, model, call("look_up", word="ant"), broken())
    model.turns = [asyncio.Event()]
    await use_cases.retry(person, session.pk, invocation_id)
    while len(model.requests) < 3:
        await asyncio.sleep(0.01)
    await worker().close()
    assert await statuses(session) == ["queued"]
    model.turns = ["An insect."]
    await InvocationWorker(live()).run_queue(session.pk)
    assert DELETED == ["ant"]
    assert (await log_of(session))[-2:] == ["words: state", "words: An insect."]


async def test_nothing_is_tried_again_after_something_newer_or_a_rewind(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await told(person, model, broken(), "An insect.")
    await use_cases.send_message(person, session.pk, "m2", "hello?")
    await worker().ended()
    with pytest.raises(ConflictError, match="has gone on"):
        await retry(person, session, invocation_id)
    other, invocation_id = await told(person, model, broken())
    await use_cases.rewind(person, other.pk, invocation_id)
    with pytest.raises(ConflictError, match="has gone on"):
        await retry(person, other, invocation_id)
    assert await statuses(session) == ["failed", "completed"] and await statuses(other) == ["failed"]


async def test_what_failed_is_not_summed_up_until_it_is_answered(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=Short())
    app = App(name="words", root_agent=LlmAgent(name="words", model=model), events_compaction_config=config)
    monkeypatch.setattr(agent_registry, "apps", lambda: {"words": app})
    session, invocation_id = await told(person, model, broken())
    await asyncio.gather(*worker()._beside)
    assert await log_of(session) == ["user: what is an ant?", "words: error"]
    model.turns = ["An insect."]
    await retry(person, session, invocation_id)
    await asyncio.gather(*worker()._beside)
    assert (await log_of(session))[2:] == ["words: An insect.", "user: state"]


async def test_nobody_tries_for_someone_else_or_what_is_not_there(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await told(person, model, broken())
    stranger = await get_user_model().objects.acreate_user("eve")
    with pytest.raises(NotFoundError):
        await retry(stranger, session, invocation_id)
    with pytest.raises(NotFoundError):
        await retry(person, session, "e-nothing")


async def test_a_message_to_an_agent_that_recorded_no_state_is_sent_once_more(
    person: User, model: ScriptedModel
) -> None:
    session, invocation_id = await told(person, model, app="custom")
    tries = (use_cases.retry(person, session.pk, invocation_id) for _ in range(3))
    await asyncio.gather(*tries, return_exceptions=True)
    await worker().ended()
    assert await statuses(session) == ["failed", "completed"]
    assert (await log_of(session))[3:] == ["user: what is an ant?", "custom: I begin.", "custom: I am done."]
