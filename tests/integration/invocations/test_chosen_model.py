"""The model that a person chooses for a chat, among those of `ADK["chat_models"]`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import LlmRequest, LlmResponse
from runtime.models.base_llm import BaseLlm
from runtime.models.registry import LLMRegistry
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.agent_apps.checks.settings import check_settings
from sessions_app.base import actors
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Session
from tests.fakes import ScriptedModel, call, text_content
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
CHOICES = {"choice-thorough": "Thorough", "items": "Everything"}


class NamedModel(BaseLlm):
    """Says its name."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["choice-.*", "items"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=text_content(f"I am {self.model}."))


def set_model(name: str, tool_context: ToolContext) -> str:
    """Write a name into the state."""
    tool_context.state["adk_model"] = name
    return "done"


@pytest.fixture
async def session(
    person: User, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, served: Served
) -> AsyncIterator[Session]:
    """A chat whose agent answers "Mine.", with a choice of models."""
    agent = LlmAgent(name="desk", model=ScriptedModel(rule=lambda request: "Mine."), tools=[set_model])
    served(App(name="desk", root_agent=agent))
    monkeypatch.setattr(LLMRegistry, "_classes", dict(LLMRegistry._classes))
    LLMRegistry.register(NamedModel)
    configure(title_model=None, apps={"desk": {"chat_models": CHOICES}})
    yield await use_cases.create_session(person, "desk")


async def answer(person: User, session: Session, client_id: str, model: str | None = None) -> str | None:
    """Send a message; return the text of the last event."""
    await use_cases.send_message(actors.person(person), session.pk, client_id, "Hello", model=model)
    await worker().wait_until_idle()
    event = await Event.objects.filter(session=session).order_by("-seq").afirst()
    return event.text if event else None


async def test_the_chosen_model_answers_until_the_person_chooses_again(
    person: User, session: Session
) -> None:
    assert await answer(person, session, "1") == "Mine."
    assert await answer(person, session, "2", "choice-thorough") == "I am choice-thorough."
    assert await answer(person, session, "3") == "I am choice-thorough."
    assert await answer(person, session, "4", "items") == "I am items."
    assert await answer(person, session, "5", "") == "Mine."


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "choice-other", "a\0b", "x" * 10_000, "Thorough"])
async def test_a_model_that_is_not_offered_is_refused(person: User, session: Session, model: str) -> None:
    refusal = f"The model {model[:80]!r} is not offered in this chat. Choose one of Thorough, Everything."
    with pytest.raises(InvalidInputError) as error:
        await use_cases.send_message(actors.person(person), session.pk, "1", "Hello", model=model)
    assert str(error.value) == refusal
    before = await Session.objects.acount()
    new_chat = use_cases.NewChat(uuid4(), "desk")
    by = actors.person(person)
    with pytest.raises(InvalidInputError, match="is not offered"):
        await use_cases.send_message(by, new_chat, "1", "Hello", model=model)
    assert await Session.objects.acount() == before
    assert not await Event.objects.filter(session=session).aexists()


async def test_a_model_is_refused_where_none_is_offered(
    person: User, session: Session, configure: Callable[..., None]
) -> None:
    configure()
    with pytest.raises(InvalidInputError, match="the agents of this chat have their own"):
        await answer(person, session, "1", "choice-thorough")


async def test_a_model_that_is_no_longer_offered_answers_no_more(
    person: User, session: Session, configure: Callable[..., None]
) -> None:
    assert await answer(person, session, "1", "choice-thorough") == "I am choice-thorough."
    configure(title_model=None, chat_models={"items": "Everything"})
    assert await answer(person, session, "2") == "Mine."


@pytest.mark.parametrize("name", ["choice-other", ["items"], 7])
async def test_code_of_an_agent_cannot_choose_another_model(
    person: User, session: Session, served: Served, name: Any
) -> None:
    model = ScriptedModel(turns=[call("set_model", name=name), "Mine."])
    served(App(name="desk", root_agent=LlmAgent(name="desk", model=model, tools=[set_model])))
    assert await answer(person, session, "1") == "Mine."


def test_a_model_that_is_not_known_is_an_error(configure: Callable[..., None], db: None) -> None:
    configure(chat_models={"no-such-model": "Fast"})
    (problem,) = [problem for problem in check_settings() if problem.is_serious()]
    assert (problem.id, "no-such-model" in problem.msg) == ("sessions_app.E015", True)
