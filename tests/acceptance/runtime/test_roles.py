"""Contract L2, E6, E8, C2: contents without a role are sent to the model with the right one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from runtime import types
from runtime.agents import BaseAgent, InvocationContext, LlmAgent, SequentialAgent
from runtime.events import Event
from runtime.models import LlmRequest, LlmResponse
from runtime.models.google_request import as_google_config
from runtime.plugins import BasePlugin
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel, parts_of, requests_of
from tests.unit.runtime.conversation import Conversation


def roleless(text: str) -> types.Content:
    return types.Content(parts=[types.Part(text=text)])


def clerk(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), **fields)


def sent(agent: LlmAgent) -> list[tuple[str | None, str | None]]:
    """Return role and text of the contents of the latest request."""
    return [(content.role, parts_of(content)[0].text) for content in requests_of(agent)[-1].contents]


def sent_to_gemini(request: LlmRequest) -> list[dict[str, Any]]:
    options: Any = as_google_config(request)["http_options"]
    contents: list[dict[str, Any]] = options.extra_body["contents"]
    return contents


def roles(events: list[Event]) -> list[str | None]:
    return [event.content.role if event.content else None for event in events]


async def test_a_persons_message_gets_the_role_user() -> None:
    """Contract L2, E6: so that no generic user message is added for Gemini."""
    agent = clerk("hello")
    conversation = Conversation(agent)
    message = roleless("hi")
    await conversation.say(message)
    assert roles((await conversation.session()).events) == ["user", "model"]
    assert sent(agent) == [("user", "hi")]
    assert sent_to_gemini(requests_of(agent)[0]) == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert message.role is None, "the caller's message is not changed"


async def test_a_message_replaced_by_a_plugin_gets_the_role_user() -> None:
    """Contract Q6."""

    class Polite(BasePlugin):
        async def on_user_message_callback(self, **_: Any) -> types.Content:
            return roleless("please")

    agent = clerk("hello")
    await Conversation(agent, plugins=[Polite("polite")]).say("hi")
    assert sent(agent) == [("user", "please")]


async def test_answers_of_model_callbacks_get_the_role_model() -> None:
    """Contract C2."""
    answers = [LlmResponse(content=roleless("before")), None]
    agent = clerk(
        "hello",
        "end",
        before_model_callback=lambda **_: answers.pop(0) if answers else None,
        after_model_callback=lambda **_: LlmResponse(content=roleless("after")),
    )
    conversation = Conversation(agent)
    for message in ("one", "two", "three"):
        await conversation.say(message)
    assert sent(agent) == [
        ("user", "one"),
        ("model", "before"),
        ("user", "two"),
        ("model", "after"),
        ("user", "three"),
    ]


async def test_partial_responses_without_a_role_get_the_role_model() -> None:
    """Contract L4."""

    class Terse(ScriptedModel):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            for text in ("a", "b"):
                yield LlmResponse(content=roleless(text), partial=True)
            yield LlmResponse(content=roleless("ab"))

    conversation = Conversation(LlmAgent(name="clerk", model=Terse()))
    events = await conversation.say("go", RunConfig(streaming_mode=StreamingMode.SSE))
    assert [event.text() for event in events] == ["a", "b", "ab"]
    assert roles(events) == ["model", "model", "model"]


async def test_texts_and_calls_of_a_custom_agent_get_the_role_model_and_responses_the_role_user() -> None:
    """Contract E8."""

    class ByHand(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            call = types.Part.from_function_call(name="weigh", args={})
            answer = types.Part.from_function_response(name="weigh", response={"kg": 3})
            for part in (types.Part(text="hm"), call, answer):
                yield Event(author=self.name, content=types.Content(parts=[part]))

    conversation = Conversation(SequentialAgent(name="steps", sub_agents=[ByHand(name="scale")]))
    assert roles(await conversation.say("go")) == ["model", "model", "user"]
