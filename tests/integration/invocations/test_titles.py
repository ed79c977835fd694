"""Titles of chats by a model: the agent's own, or that of `ADK["title_model"]`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from runtime import types
from runtime.agents import BaseAgent, LlmAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.apps import App
from runtime.models import LlmRequest, LlmResponse
from runtime.models.base_llm import BaseLlm
from runtime.models.registry import LLMRegistry
from sessions_app import use_cases
from sessions_app.agent_apps.checks.settings import check_settings
from sessions_app.base import actors
from sessions_app.base.actors import UserActor
from sessions_app.invocations.chosen_model import model_named
from sessions_app.invocations.worker import worker
from sessions_app.live.process import live
from sessions_app.models import Event, PersonUsage, Session
from sessions_app.models.session import TitleSource
from sessions_app.sessions.list.changes import RENAME
from tests.fakes import ScriptedModel, text_content
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


class TitleModel(BaseLlm):
    """Gives the title `answer`, or fails when it is None. Each call uses 40 tokens, 30 of them for the request."""

    answer: ClassVar[str | LlmResponse | None] = None
    gate: ClassVar[asyncio.Event]
    is_asked: ClassVar[asyncio.Event]
    asked: ClassVar[list[str]] = []

    @classmethod
    def supported_models(cls) -> list[str]:
        return ["titles-of-a-test"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.extend(part.text or "" for content in llm_request.contents for part in content.parts or [])
        self.is_asked.set()
        await self.gate.wait()
        if self.answer is None:
            raise ConnectionError("The model is away.")
        if isinstance(self.answer, LlmResponse):
            yield self.answer
            return
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=30, candidates_token_count=10, total_token_count=40
        )
        yield LlmResponse(content=text_content(self.answer), usage_metadata=usage, model_version=self.model)


@pytest.fixture
async def session(
    person: User, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, served: Served
) -> AsyncIterator[Session]:
    """A chat whose agent answers "It is 1007."."""
    app = App(
        name="desk", root_agent=LlmAgent(name="desk", model=ScriptedModel(rule=lambda request: "It is 1007."))
    )
    served(app)
    monkeypatch.setattr(LLMRegistry, "_classes", dict(LLMRegistry._classes))
    monkeypatch.setattr(TitleModel, "asked", [])
    monkeypatch.setattr(TitleModel, "is_asked", asyncio.Event(), raising=False)
    monkeypatch.setattr(TitleModel, "gate", asyncio.Event(), raising=False)
    TitleModel.gate.set()
    LLMRegistry.register(TitleModel)
    model_named.cache_clear()  # An earlier test has registered its own class under this name.
    configure(title_model="titles-of-a-test")
    yield await use_cases.create_session(person, "desk")


async def title_after(
    person: User, session: Session, text: str = "Where is my order?", by: UserActor | None = None
) -> str:
    """Send a message; return the title that the chat has after the answer and the work behind it."""
    await use_cases.send_message(by or actors.person(person), session.pk, f"m-{text}", text)
    return await title_once_idle(session)


async def title_once_idle(session: Session) -> str:
    async with asyncio.timeout(20):
        await worker().wait_until_idle()
        await asyncio.gather(*worker()._background_tasks)
    await session.arefresh_from_db()
    return session.title


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Late order 1007", "Late order 1007"),
        ('"Late order"\nThe person asks for an order.', "Late order"),
        ("\n## **Late   order**\n", "Late order"),
        ("„Späte Bestellung“", "Späte Bestellung"),
        ("nul\0 and half \ud800", "nul� and half �"),
        ("many words " * 30, f"{'many words ' * 7}…".replace(" …", "…")),
        ("```\nLate `order` [1007](https://shop.example)\n```", "Late order 1007"),
        ("1. \u202eredro\u202c etaL\x1b[31m\u200b", "redro etaL31m"),
        ("", "Where is my order?"),
        (' "" ', "Where is my order?"),
        (None, "Where is my order?"),
    ],
)
async def test_the_first_answer_gives_the_chat_the_title_of_the_model(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch, answer: str | None, title: str
) -> None:
    monkeypatch.setattr(TitleModel, "answer", answer)
    assert await title_after(person, session) == title
    assert TitleModel.asked == ["user: Where is my order?\ndesk: It is 1007."]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "The model answered ''."),
        (LlmResponse(error_code="SAFETY", error_message="Not this."), "SAFETY: Not this."),
    ],
)
async def test_an_answer_without_a_title_is_logged(
    person: User,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    answer: str | LlmResponse,
    reason: str,
) -> None:
    monkeypatch.setattr(TitleModel, "answer", answer)
    assert await title_after(person, session) == "Where is my order?"
    assert await title_after(person, session, "And now?") == "Where is my order?"
    assert len(TitleModel.asked) == 1
    assert caplog.text.count(f"Session {session.pk} got no title from a model") == 1
    assert reason in caplog.text


async def test_no_title_is_asked_for_when_another_process_has_taken_the_invocation_over(
    person: User, session: Session, served: Served
) -> None:
    async def lose_lease(callback_context: CallbackContext) -> None:
        await Session.objects.filter(pk=session.pk).aupdate(lease_token=F("lease_token") + 1)

    agent = LlmAgent(
        name="desk", model=ScriptedModel(turns=["It is 1007."]), before_agent_callback=lose_lease
    )
    served(App(name="desk", root_agent=agent))
    assert await title_after(person, session) == "Where is my order?"
    assert TitleModel.asked == []


@pytest.mark.parametrize("answer", ["Late order", ""])
async def test_a_title_counts_in_the_day_of_its_person(
    person: User,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    configure: Callable[..., None],
    answer: str,
) -> None:
    configure(title_model="titles-of-a-test", prices={"titles-of-a-test": {"input": 1e6, "output": 2e6}})
    monkeypatch.setattr(TitleModel, "answer", answer)
    await title_after(person, session)
    used = await PersonUsage.objects.aget(pk=person.pk)
    assert (used.tokens, used.cost) == (40, 50)


async def test_a_chat_with_a_title_asks_no_more(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    await title_after(person, session)
    assert await title_after(person, session, "And now?") == "Late order"
    assert len(TitleModel.asked) == 1


async def test_the_title_of_a_person_stays(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    await use_cases.change_session(actors.person(person), session.pk, RENAME, "Mine")
    assert await title_after(person, session) == "Mine"
    assert TitleModel.asked == []


async def edit_first_message(person: User, session: Session, text: str) -> None:
    first = await Event.objects.aget(session=session, seq=1)
    await use_cases.edit_message(actors.person(person), session.pk, "edit", text, str(first.invocation_id))


async def test_a_chat_whose_first_message_is_edited_keeps_its_title_until_it_gets_another(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    await title_after(person, session)
    monkeypatch.setattr(TitleModel, "answer", "Refund")
    monkeypatch.setattr(TitleModel, "gate", asyncio.Event())
    monkeypatch.setattr(TitleModel, "is_asked", asyncio.Event())
    await edit_first_message(person, session, "I want a refund")
    async with asyncio.timeout(20):
        await TitleModel.is_asked.wait()
    await session.arefresh_from_db()
    assert session.title == "Late order"
    TitleModel.gate.set()
    assert await title_once_idle(session) == "Refund"


async def test_no_old_title_stays_where_an_edit_brings_no_other(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    await title_after(person, session)
    configure(title_model=None)
    await edit_first_message(person, session, "I want a refund")
    assert await title_once_idle(session) == "I want a refund"


async def test_a_long_chat_whose_first_message_is_edited_gets_its_beginning_as_the_title(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    await title_after(person, session)
    for number in range(8):
        await title_after(person, session, f"And {number}?")
    await edit_first_message(person, session, "I want a refund")
    await session.arefresh_from_db()
    assert session.title == "I want a refund"


async def test_a_name_that_the_person_gives_while_the_model_answers_stays(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    monkeypatch.setattr(TitleModel, "gate", asyncio.Event())
    monkeypatch.setattr(TitleModel, "is_asked", asyncio.Event())
    titled = asyncio.create_task(title_after(person, session))
    async with asyncio.timeout(20):
        await TitleModel.is_asked.wait()
        await use_cases.change_session(actors.person(person), session.pk, RENAME, "Mine")
        TitleModel.gate.set()
        assert await titled == "Mine"


async def test_a_new_title_reaches_the_lists_of_the_person(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    monkeypatch.setattr(TitleModel, "gate", asyncio.Event())
    monkeypatch.setattr(TitleModel, "is_asked", asyncio.Event())
    news: list[str] = []
    titled = asyncio.create_task(title_after(person, session))
    async with asyncio.timeout(20):
        await TitleModel.is_asked.wait()
        await live().list_news.stop()  # news of the invocation
        live().list_news.watch(person.pk, news.append)
        TitleModel.gate.set()
        await titled
    assert news == ["sessions"]


@pytest.mark.parametrize("agents", ["one", "in a workflow"])
async def test_without_the_setting_the_model_of_the_agent_gives_the_title(
    person: User,
    session: Session,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    configure: Any,
    agents: str,
) -> None:
    configure()
    monkeypatch.setattr(TitleModel, "answer", "Late order")
    agent: BaseAgent = LlmAgent(name="desk", model="titles-of-a-test")
    if agents == "in a workflow":
        agent = SequentialAgent(name="flow", sub_agents=[agent])
    served(App(name="desk", root_agent=agent))
    assert await title_after(person, session) == "Late order"
    assert TitleModel.asked == ["Where is my order?", "user: Where is my order?\ndesk: Late order"]


async def test_a_scripted_model_is_not_asked(
    person: User, session: Session, configure: Callable[..., None]
) -> None:
    configure()
    assert await title_after(person, session, "**Where** is [order 1007](https://shop.example)?") == (
        "Where is order 1007?"
    )
    await session.arefresh_from_db()
    assert session.title_source == TitleSource.MESSAGE


async def test_no_model_is_asked_when_titles_are_switched_off(
    person: User, session: Session, configure: Callable[..., None]
) -> None:
    configure(title_model=None)
    assert await title_after(person, session) == "Where is my order?"
    assert TitleModel.asked == []


async def test_no_model_is_asked_for_a_session_of_a_program(person: User, session: Session) -> None:
    program = actors.api_key(person, str(uuid4()), "reports")
    assert await title_after(person, session, by=program) == "Where is my order?"
    assert TitleModel.asked == []


def test_a_title_model_that_is_not_known_is_an_error(configure: Callable[..., None], db: None) -> None:
    configure(title_model="no-such-model")
    assert [problem.id for problem in check_settings() if problem.is_serious()] == ["sessions_app.E015"]


@pytest.mark.usefixtures("session")
async def test_a_title_model_needs_a_price_where_the_cost_of_people_is_limited(
    configure: Callable[..., None],
) -> None:
    prices = {"titles-of-a-test": {"input": 1.0, "output": 1.0}}
    configure(title_model="titles-of-a-test", max_cost_per_user=1.0)
    about_titles = [problem.msg for problem in check_settings() if "titles" in problem.msg]
    assert about_titles == [
        "The cost of people is limited, but titles-of-a-test, the model of titles, has no price."
    ]
    configure(title_model="titles-of-a-test", max_cost_per_user=1.0, prices=prices)
    assert [problem.msg for problem in check_settings() if "titles" in problem.msg] == []
