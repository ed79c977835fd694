"""Contract: the exact request of each model call is stored with its event, without the history (contract M6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.engine.request_record import RebuiltRequest
from runtime.errors import ModelError
from runtime.events import Event as RuntimeEvent
from runtime.models import LlmRequest
from runtime.plugins import BasePlugin
from runtime.run_config import ModelCall
from runtime.tools import AgentTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.invocations.rebuilt_requests import Bounds, rebuild_child_request, rebuild_request
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, RequestText, Session, SessionText
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from sessions_app.store.erasing import delete_session_row
from sessions_app.store.model_calls import ModelCallLog
from sessions_app.store.session_service import Writer
from tests.fakes import ScriptedModel, Turn, call, text_content
from tests.integration.locks import blocked, held
from tests.integration.session_helpers import create_session, text_event
from tests.sent_requests import request_as_json
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


def look_up(word: str) -> str:
    """Look a word up."""
    return f"about {word}"


class Noting(BasePlugin):
    """Adds a content in the middle of each request and changes the first one."""

    def __init__(self) -> None:
        super().__init__("noting")
        self.is_on = False

    async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
        if self.is_on:
            llm_request.contents.insert(1, text_content("Mind the gap.", "user"))
            parts = llm_request.contents[0].parts or []
            parts[0].text = "changed"


class Site:
    """An app whose model keeps each request as it receives it."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.sent: list[RebuiltRequest] = []
        self.plugin = Noting()
        agent = LlmAgent(
            name="clerk",
            model=ScriptedModel(rule=self._answer),
            instruction="Greet {name?} with a \u0000 and a \ud800.",
            tools=[look_up],
            generate_content_config=types.GenerateContentConfig(temperature=0.5),
        )
        self.app = App(name="shop", root_agent=agent, plugins=[self.plugin])

    def _answer(self, request: LlmRequest) -> Turn:
        self.sent.append(request_as_json(request.model, request.config, request.contents))
        return self.turns.pop(0)


@pytest.fixture
def site(served: Served) -> Site:
    made = Site()
    served(made.app)
    return made


async def say(person: User, session: Session, *messages: str) -> None:
    for number, message in enumerate(messages):
        await use_cases.send_message(
            actors.person(person), session.id, f"{session.last_seq}-m{number}-{message}", message
        )
        await worker().wait_until_idle()


@sync_to_async
def rebuilt(session: Session, bounds: Bounds | None = None) -> list[RebuiltRequest]:
    answers = Event.objects.filter(session=session, model_call__isnull=False).order_by("seq")
    steps = [rebuild_request(session, answer, bounds) for answer in answers]
    return [step.request for step in steps if step]


async def test_each_request_is_rebuilt_as_it_was_sent(person: User, site: Site) -> None:
    session = await use_cases.create_session(person, "shop")
    site.turns = [call("look_up", word="lamp"), "A lamp.", "Yes.", call("look_up", word="x"), "Good bye."]
    await say(person, session, "What is it?", "Really?")
    site.plugin.is_on = True
    await say(person, session, "Then bye\u202e")
    assert len(site.sent) == 5
    assert await rebuilt(session) == site.sent
    first, *_rest, last = site.sent
    assert "Greet" in first.system_instruction and first.config["temperature"] == 0.5
    assert first.tools[0]["functionDeclarations"][0]["name"] == "look_up"
    assert [part["text"] for content in last.contents[:2] for part in content["parts"]] == [
        "changed", "Mind the gap.",
    ]  # fmt: skip


async def test_each_request_of_agents_that_run_as_tools_is_rebuilt_as_it_was_sent(
    person: User, site: Site, served: Served
) -> None:
    """An agent that runs as a tool has one itself. Both call their models repeatedly, with contents that grow."""

    def agent(name: str, *tools: Any) -> LlmAgent:
        model = ScriptedModel(rule=site._answer)
        return LlmAgent(name=name, model=model, instruction=f"You are {name}.", tools=list(tools))

    clerk = agent("clerk", AgentTool(agent("expert", look_up, AgentTool(agent("librarian", look_up)))))
    served(App(name="shop", root_agent=clerk))
    session = await use_cases.create_session(person, "shop")
    site.turns = [
        call("expert", request="Is it whole?"),  # clerk
        call("look_up", word="lamp"),  # expert
        call("librarian", request="Lamps?"),
        call("look_up", word="lamps"),  # librarian
        "Page 7.",
        "It is whole: page 7.",  # expert
        "Yes.",  # clerk
    ]
    await say(person, session, "Is the lamp whole?")

    @sync_to_async
    def children() -> list[tuple[RebuiltRequest, str]]:
        answer = Event.objects.get(session=session, model_call__has_key="children")
        assert answer.model_call is not None
        found = [rebuild_child_request(answer, number) for number in range(6)]
        assert found[5] is None and rebuild_request(session, answer) is None
        own = [len(record["contents"]) for record in answer.model_call["children"]]
        assert own == [1, 3, 1, 3, 3], "a range of the contents before, and the two new ones"
        return [one for one in found if one]

    assert await rebuilt(session) == [site.sent[0], site.sent[6]]
    requests, answers = zip(*await children(), strict=True)
    assert list(requests) == site.sent[1:6]
    assert [request.system_instruction.split("\n")[0] for request in requests] == [
        "You are expert.", "You are expert.", "You are librarian.", "You are librarian.", "You are expert.",
    ]  # fmt: skip
    assert "Page 7." in answers[3] and "It is whole: page 7." in answers[4]


async def test_texts_are_stored_once_for_all_sessions_and_the_history_never(person: User, site: Site) -> None:
    site.turns = ["One.", "Two.", "Three."]
    for messages in (("a", "b"), ("c",)):
        await say(person, await use_cases.create_session(person, "shop"), *messages)
    assert await RequestText.objects.acount() == 3, "instruction, tools, configuration"
    assert await SessionText.objects.acount() == 6
    calls = [event.model_call async for event in Event.objects.filter(model_call__isnull=False)]
    assert len(calls) == 3 and all("contents" not in (recorded or {}) for recorded in calls)


async def test_a_step_records_its_start_its_first_word_and_failed_attempts(person: User, site: Site) -> None:
    session = await use_cases.create_session(person, "shop")
    site.turns = ["Hello."]
    await say(person, session, "Hi")
    answer = await Event.objects.aget(session=session, seq=2)
    message = await Event.objects.aget(session=session, seq=1)
    assert message.happened_at and answer.happened_at and answer.model_call
    assert message.happened_at.timestamp() <= answer.model_call["at"] <= answer.happened_at.timestamp()
    assert 0 <= answer.model_call["first_word"] < 5


async def test_the_request_of_a_failed_call_is_stored_with_the_error(person: User, site: Site) -> None:
    session = await use_cases.create_session(person, "shop")
    site.turns = [RuntimeError("broken")]
    await say(person, session, "Hi")
    end = await Event.objects.filter(session=session).order_by("seq").alast()
    assert end is not None and end.kind == "error" and (end.model_call or {})["seq"] == 1
    assert await rebuilt(session) == site.sent


async def test_another_attempt_does_not_see_how_the_first_one_failed(person: User, site: Site) -> None:
    session = await use_cases.create_session(person, "shop")
    site.turns = [ModelError("UNAVAILABLE", "Not now."), "Hello again."]
    await say(person, session, "Hi")
    invocation = await Invocation.objects.aget(session=session)
    await use_cases.retry(actors.person(person), session.id, invocation.invocation_id)
    await worker().wait_until_idle()
    assert len(site.sent) == 2 and site.sent[0].contents == site.sent[1].contents
    assert await rebuilt(session) == site.sent


async def test_the_newest_contents_are_rebuilt_from_a_part_of_the_log(person: User, site: Site) -> None:
    session = await use_cases.create_session(person, "shop")
    site.turns = ["One.", "Two.", "Three."]
    await say(person, session, "a", "b", "c")
    (*_earlier, last) = await rebuilt(session, Bounds(events=2, bytes=100_000))
    assert last.contents == site.sent[-1].contents[-2:]
    (*_earlier, none) = await rebuilt(session, Bounds(events=2, bytes=10))
    assert none.contents == [] and none.system_instruction == site.sent[-1].system_instruction


def model_call(event: RuntimeEvent, instruction: str = "Be kind.") -> ModelCall:
    config = types.GenerateContentConfig(system_instruction=instruction)
    return ModelCall(event.id, "clerk", None, 0, False, [], [], "m", config, started_at=1.0)


async def test_a_lost_lease_leaves_neither_event_nor_texts(person: User) -> None:
    session = await create_session(person)
    row = await Session.objects.aget(key=session.id)
    calls = ModelCallLog(row.pk, hides_failures=False)
    event = text_event("Hello.")
    calls.note(model_call(event))
    with pytest.raises(Exception, match="taken over"):
        await DjangoSessionService(Writer(lease_token=7, model_calls=calls)).append_event(session, event)
    assert await RequestText.objects.acount() == await SessionText.objects.acount() == 0
    assert not await Event.objects.filter(session=row).aexists()


async def test_a_request_that_cannot_be_recorded_loses_no_answer(person: User) -> None:
    session = await create_session(person)
    row = await Session.objects.aget(key=session.id)
    calls = ModelCallLog(row.pk, hides_failures=False)
    event = text_event("Hello.")
    calls.note(model_call(event))
    calls._calls[event.id].contents = None  # type: ignore[assignment]
    await DjangoSessionService(Writer(model_calls=calls)).append_event(session, event)
    assert (await Event.objects.aget(session=row)).model_call is None


async def test_an_erasure_deletes_the_texts_that_no_other_session_needs(person: User) -> None:
    rows = []
    for name, instructions in (("one", ["shared", "about Ada"]), ("two", ["shared"])):
        session = await create_session(person, session_id=name)
        row = await Session.objects.aget(key=name, app_name=session.app_name)
        calls = ModelCallLog(row.pk, hides_failures=False)
        service = DjangoSessionService(Writer(model_calls=calls))
        for instruction in instructions:
            event = text_event("Hello.")
            calls.note(model_call(event, instruction))
            await service.append_event(session, event)
        rows.append(row)
    kept = {'"about Ada"', '"shared"'}
    for row, left in zip(rows, ({'"shared"'}, set()), strict=True):
        assert {text.text async for text in RequestText.objects.all()} == kept
        await sync_to_async(delete_session_row)(Session.objects.filter(pk=row.pk))
        kept = left
    assert not await RequestText.objects.aexists()


async def test_an_append_with_new_texts_goes_on_while_a_person_is_erased_in_one_transaction(
    person: User,
) -> None:
    """Django's admin deletes a user in one transaction: no lock on texts may be held until its end."""
    sessions = {name: await create_session(person, session_id=name) for name in ("one", "two", "three")}
    first, second, third = [row async for row in Session.objects.order_by("pk")]

    async def append(row: Session, instruction: str) -> None:
        calls, event = ModelCallLog(row.pk, hides_failures=False), text_event("Hello.")
        calls.note(model_call(event, instruction))
        await DjangoSessionService(Writer(model_calls=calls)).append_event(sessions[row.key], event)

    def erase() -> None:
        with transaction.atomic():
            erase_user(person.pk, ErasureOrder(reason="Asked for."))

    await append(first, "about Ada")
    async with held(f"SELECT FROM sessions_app_session WHERE id = '{second.pk}' FOR UPDATE"):
        erasing = asyncio.create_task(in_thread(erase))
        await blocked(1)  # the first session is deleted, and nothing is committed
        await asyncio.wait_for(append(third, "about Bob"), timeout=5)
    await erasing
    assert not await Session.objects.aexists()
    assert await RequestText.objects.acount() == await SessionText.objects.acount() == 0


def test_large_files_in_contents_are_named_by_their_hash(person: User) -> None:
    data = b"\x89" * 200_000
    config = types.GenerateContentConfig()
    content = types.Content(role="user", parts=[types.Part.from_bytes(data=data, mime_type="image/png")])
    sent = ModelCall("e", "clerk", None, 0, False, [], [content], "m", config, started_at=1.0)
    calls = ModelCallLog(Session().pk, hides_failures=False)
    calls.note(sent)
    recorded = calls.take(RuntimeEvent(id="e", author="clerk"))
    assert recorded is not None
    (text,) = recorded.texts.values()
    assert "sha256" in text and len(text) < 500
