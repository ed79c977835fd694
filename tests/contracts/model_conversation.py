"""Contract of models: a conversation with tools (M2). Run by test_models.py.

The fixtures are `server` (a scripted model server) and `llm` (the model that asks it).
"""

from __future__ import annotations

import json

import pytest

from runtime import types
from runtime.agents import LlmAgent, RunConfig
from runtime.agents.run_config import StreamingMode
from runtime.events import Event
from runtime.models import BaseLlm
from runtime.models.anthropic_llm import Claude
from runtime.models.google_llm import Gemini
from runtime.runners import InMemoryRunner
from tests.model_server import Call, Json, ModelServer, Turn

IMAGE = "cG5n"


def get_weather(city: str) -> dict[str, str]:
    """Look up the weather."""
    return {"weather": f"sun in {city}"}


def draw() -> types.Part:
    """Draw a picture."""
    return types.Part.from_bytes(data=b"png", mime_type="image/png")


async def conversation_of(
    agent: LlmAgent, *messages: str, mode: StreamingMode = StreamingMode.SSE
) -> list[Event]:
    """Say the messages to the agent in a new session; return its events."""
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    events = []
    for message in messages:
        run = runner.run_async(
            user_id="ada",
            session_id=session.id,
            new_message=types.UserContent(message),
            run_config=RunConfig(streaming_mode=mode),
        )
        events += [event async for event in run]
    return events


def image_for(llm: BaseLlm) -> Json:
    """Return the picture of `draw` as the provider of the model wants it."""
    if isinstance(llm, Gemini):
        return {"inlineData": {"mimeType": "image/png", "data": IMAGE}}
    if isinstance(llm, Claude):
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}


class ModelConversationContract:
    """Contract M2: an agent works the same with every model."""

    @pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
    async def test_m2_an_agent_calls_tools_and_answers(
        self, server: ModelServer, llm: BaseLlm, mode: StreamingMode
    ) -> None:
        calls = [Call(name="get_weather", args={"city": city}) for city in ("Kyiv", "Oslo")]
        server.play(Turn(thoughts=["Two calls."], calls=calls), Turn(text=["Sun", " everywhere."]))
        events = await conversation_of(
            LlmAgent(name="clerk", model=llm, tools=[get_weather]), "Weather?", mode=mode
        )
        calling, responding, final = [event for event in events if not event.partial]
        call_ids = [call.id for call in calling.get_function_calls()]
        responses = responding.get_function_responses()
        assert [response.id for response in responses] == call_ids
        assert [response.response for response in responses] == [
            {"weather": "sun in Kyiv"},
            {"weather": "sun in Oslo"},
        ]
        assert final.content is not None
        assert "".join(part.text or "" for part in final.content.parts or []) == "Sun everywhere."
        sent = json.dumps(server.requests[1].body)
        assert sent.index("sun in Kyiv") < sent.index("sun in Oslo")

    async def test_q2_the_second_request_has_the_picture_that_a_tool_drew(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(calls=[Call(name="draw")]), Turn(text=["A cat."]))
        events = await conversation_of(LlmAgent(name="clerk", model=llm, tools=[draw]), "Draw.")
        (name,) = [name for event in events for name in event.actions.artifact_delta]
        body = server.requests[1].body
        last = (body.get("contents") or body["messages"])[-1]
        introduction, image = (last.get("parts") or last["content"])[-2:]
        assert last["role"] == "user"
        assert introduction["text"] == f"The file {name!r}:"
        assert image == image_for(llm)
        assert IMAGE not in json.dumps(body).replace(json.dumps(image), "")

    async def test_f5_the_picture_of_an_earlier_answer_is_sent_as_the_provider_takes_it(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        """The session may be continued by a model of another provider."""
        picture = types.Part.from_bytes(data=b"png", mime_type="image/png")
        painted = LlmAgent(name="clerk", model=llm)
        painted.after_model_callback = lambda callback_context, llm_response: (
            llm_response.model_copy(
                update={"content": types.ModelContent([types.Part(text="A cat:"), picture])}
            )
            if not llm_response.partial and len(server.requests) == 1
            else None
        )
        server.play(Turn(text=["A cat:"]), Turn(text=["It sleeps."]))
        await conversation_of(painted, "Draw.", "What does it do?")
        body = server.requests[1].body
        sent = body.get("contents") or body["messages"]
        assert [content["role"] for content in sent if content["role"] != "system"][0::2] == ["user", "user"]
        holder = sent[-2] if isinstance(llm, Gemini) else sent[-1]
        assert image_for(llm) in (holder.get("parts") or holder["content"])
