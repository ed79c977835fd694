"""Contract of models: a conversation with tools (M2). Run by test_models.py.

The fixtures are `server` (a scripted model server) and `llm` (the model that asks it).
"""

from __future__ import annotations

import json

import pytest

from runtime import types
from runtime.agents import LlmAgent, RunConfig
from runtime.agents.run_config import StreamingMode
from runtime.models import BaseLlm
from runtime.runners import InMemoryRunner
from tests.model_server import Call, ModelServer, Turn


def get_weather(city: str) -> dict[str, str]:
    """Look up the weather."""
    return {"weather": f"sun in {city}"}


class ModelConversationContract:
    """Contract M2: an agent works the same with every model."""

    @pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
    async def test_m2_an_agent_calls_tools_and_answers(
        self, server: ModelServer, llm: BaseLlm, mode: StreamingMode
    ) -> None:
        calls = [Call(name="get_weather", args={"city": city}) for city in ("Kyiv", "Oslo")]
        server.play(Turn(thoughts=["Two calls."], calls=calls), Turn(text=["Sun", " everywhere."]))
        runner = InMemoryRunner(LlmAgent(name="clerk", model=llm, tools=[get_weather]), app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="ada")
        events = [
            event
            async for event in runner.run_async(
                user_id="ada",
                session_id=session.id,
                new_message=types.Content(role="user", parts=[types.Part(text="Weather?")]),
                run_config=RunConfig(streaming_mode=mode),
            )
        ]
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
