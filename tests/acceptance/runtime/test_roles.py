"""Contract L2, E6, E8, C2: whoever says something without naming a role is sent to the model in the right one."""

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
from tests.fakes import ScriptedModel, requests_of
from tests.unit.runtime.conversation import Conversation


def roleless(text: str) -> types.Content:
    return types.Content(parts=[types.Part(text=text)])


def clerk(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), **fields)


def sent(agent: LlmAgent) -> list[tuple[str | None, str | None]]:
    """Who said what, in the latest request."""
    return [(content.role, content.parts[0].text) for content in requests_of(agent)[-1].contents]


def sent_to_gemini(request: LlmRequest) -> list[dict[str, Any]]:
    options: Any = as_google_config(request)["http_options"]
    return options.extra_body["contents"]


async def test_a_persons_message_is_the_users() -> None:
    """Contract L2, E6: nothing follows it that would tell Gemini to go on by itself."""
    agent = clerk("hello")
    conversation = Conversation(agent)
    message = roleless("hi")
    await conversation.say(message)
    assert [event.content.role for event in (await conversation.session()).events] == ["user", "model"]
    assert sent(agent) == [("user", "hi")]
    assert sent_to_gemini(requests_of(agent)[0]) == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert message.role is None, "the caller's message stays"


async def test_a_message_that_a_plugin_put_in_its_place_is_the_users() -> None:
    """Contract Q6."""

    class Polite(BasePlugin):
        async def on_user_message_callback(self, **_: Any) -> types.Content:
            return roleless("please")

    agent = clerk("hello")
    await Conversation(agent, plugins=[Polite("polite")]).say("hi")
    assert sent(agent) == [("user", "please")]


async def test_what_callbacks_say_in_the_models_place_is_the_models() -> None:
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


async def test_fragments_of_a_model_that_names_no_role_are_the_models() -> None:
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
    assert [(event.text(), event.content.role) for event in events] == [
        ("a", "model"),
        ("b", "model"),
        ("ab", "model"),
    ]


async def test_what_an_agent_of_your_own_says_is_the_models_and_what_it_answers_calls_with_the_users() -> (
    None
):
    """Contract E8."""

    class ByHand(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            call = types.Part.from_function_call(name="weigh", args={})
            answer = types.Part.from_function_response(name="weigh", response={"kg": 3})
            for part in (types.Part(text="hm"), call, answer):
                yield Event(author=self.name, content=types.Content(parts=[part]))

    conversation = Conversation(SequentialAgent(name="steps", sub_agents=[ByHand(name="scale")]))
    roles = [event.content.role for event in await conversation.say("go")]
    assert roles == ["model", "model", "user"]
