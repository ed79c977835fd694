"""Each model keeps the contract of models, through its real client and a local HTTP server (contract M2, M3)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.models import BaseLlm, Claude, Gemini, LiteLlm, OpenAICompatible
from tests.contracts.model import KeepAliveContract, ModelAnswersContract, ModelRequestsContract
from tests.contracts.model_conversation import ModelConversationContract, conversation_of
from tests.contracts.model_embeddings import ModelEmbeddingsContract
from tests.contracts.model_failures import ModelFailuresContract
from tests.model_server import Json, ModelServer, Turn

RETRY = types.HttpRetryOptions(attempts=3, initial_delay=0.001, jitter=0, max_delay=5)
IMAGE = "cG5n"
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Its name."},
        "days": {"type": ["integer", "null"]},
    },
    "required": ["city"],
}
CITY = {
    "title": "City",
    "description": "An output schema.",
    "type": "object",
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "people": {"title": "People", "type": "integer"},
    },
    "required": ["name", "people"],
    "additionalProperties": False,
}
CALLS = [("Kyiv", "c1"), ("Łódź", None)]


class ModelContract(
    ModelConversationContract, ModelAnswersContract, ModelRequestsContract, ModelFailuresContract
):
    """All that a model keeps."""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


class TestGemini(ModelContract, ModelEmbeddingsContract):
    @pytest.fixture
    def llm(self, server: ModelServer) -> BaseLlm:
        return Gemini(
            model="gemini-test", api_key="test-key", base_url=server.url, timeout=10, retry_options=RETRY
        )

    async def test_f5_a_picture_is_sent_back_as_gemini_made_it(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        """Gemini refuses a request without the signature of its picture."""
        picture = {"inlineData": {"mimeType": "image/png", "data": IMAGE}, "thoughtSignature": "c2lnbmVk"}
        draft = {"inlineData": {"mimeType": "image/png", "data": "ZHJhZnQ="}, "thought": True}
        server.play(Turn(text=["A cat:"], parts=[draft, picture]), Turn(text=["It sleeps."]))
        await conversation_of(LlmAgent(name="painter", model=llm), "Draw.", "What does it do?")
        assert server.requests[1].body["contents"] == [
            {"role": "user", "parts": [{"text": "Draw."}]},
            {"role": "model", "parts": [{"text": "A cat:"}, picture]},
            {"role": "user", "parts": [{"text": "What does it do?"}]},
        ]

    @pytest.fixture
    def weather_body(self) -> Json:
        calls = [
            {"functionCall": {"name": "get_weather", "args": {"city": city}, **({"id": id} if id else {})}}
            for city, id in CALLS
        ]
        results = [
            {"functionResponse": {"name": "get_weather", "response": {"degrees_c": 20}, "id": "c1"}},
            {"functionResponse": {"name": "get_weather", "response": {"degrees_c": 15}}},
        ]
        image = {"inlineData": {"mimeType": "image/png", "data": IMAGE}}
        properties = {
            "city": {"type": "STRING", "description": "Its name."},
            "days": {"type": "INTEGER", "nullable": True},
        }
        parameters = {"type": "OBJECT", "properties": properties, "required": ["city"]}
        declaration = {"name": "get_weather", "description": "The weather.", "parameters": parameters}
        return {
            "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
            "generationConfig": {"temperature": 0.5, "maxOutputTokens": 500, "stopSequences": ["END"]},
            "tools": [{"functionDeclarations": [declaration]}],
            "contents": [
                {"role": "user", "parts": [{"text": "Weather here?"}, image]},
                {"role": "model", "parts": [{"text": "I look."}, *calls]},
                {"role": "user", "parts": results},
            ],
        }

    @pytest.fixture
    def schema_body(self) -> Json:
        properties = {
            "name": {"title": "Name", "type": "STRING"},
            "people": {"title": "People", "type": "INTEGER"},
        }
        schema = {
            "title": "City",
            "description": "An output schema.",
            "type": "OBJECT",
            "properties": properties,
            "property_ordering": ["name", "people"],
            "required": ["name", "people"],
        }
        return {"generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}}


class TestOpenAICompatible(ModelContract, KeepAliveContract):
    @pytest.fixture
    def llm(self, server: ModelServer) -> BaseLlm:
        return OpenAICompatible(
            model="gpt-test",
            api_key="test-key",
            base_url=f"{server.url}/v1",
            timeout=10,
            retry_options=RETRY,
        )

    @pytest.fixture
    def weather_body(self) -> Json:
        calls = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": "get_weather", "arguments": arguments},
            }
            for call_id, arguments in (("c1", '{"city": "Kyiv"}'), ("call_2", '{"city": "Łódź"}'))
        ]
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}
        function = {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}
        return {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Weather here?"}, image]},
                {"role": "assistant", "content": "I look.", "tool_calls": calls},
                {"role": "tool", "tool_call_id": "c1", "content": '{"degrees_c": 20}'},
                {"role": "tool", "tool_call_id": "call_2", "content": '{"degrees_c": 15}'},
            ],
            "tools": [{"type": "function", "function": function}],
            "temperature": 0.5,
            "max_tokens": 500,
            "stop": ["END"],
        }

    @pytest.fixture
    def schema_body(self) -> Json:
        schema = {"name": "answer", "schema": CITY}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}


class TestOpenAICompatibleEmbeddings(ModelEmbeddingsContract):
    llm = TestOpenAICompatible.llm


# LiteLLM reads attributes that pydantic has moved, and hides the warning when it is imported.
@pytest.mark.filterwarnings("ignore:Accessing the:DeprecationWarning")
class TestLiteLlm(TestOpenAICompatible):
    """The bodies are the same; the server that LiteLLM asks has OpenAI's protocol."""

    @pytest.fixture
    def llm(self, server: ModelServer) -> BaseLlm:
        return LiteLlm(
            model="gpt-test",
            custom_llm_provider="openai",
            api_key="test-key",
            api_base=f"{server.url}/v1",
            timeout=10,
            retry_options=RETRY,
        )


class TestClaude(ModelContract, KeepAliveContract):
    @pytest.fixture
    def llm(self, server: ModelServer) -> BaseLlm:
        return Claude(
            model="claude-test", api_key="test-key", base_url=server.url, timeout=10, retry_options=RETRY
        )

    @pytest.fixture
    def weather_body(self) -> Json:
        ids = [("c1", "Kyiv", 20), ("call_2", "Łódź", 15)]
        calls = [
            {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {"city": city}}
            for call_id, city, _ in ids
        ]
        results = [
            {"type": "tool_result", "tool_use_id": call_id, "content": f'{{"degrees_c": {degrees}}}'}
            for call_id, _, degrees in ids
        ]
        source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
        question = [{"type": "text", "text": "Weather here?"}, {"type": "image", "source": source}]
        return {
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *calls]},
                {"role": "user", "content": results},
            ],
            "tools": [
                {"name": "get_weather", "description": "The weather.", "input_schema": PARAMETERS},
            ],
            "max_tokens": 500,
            "stop_sequences": ["END"],
        }

    @pytest.fixture
    def schema_body(self) -> Json:
        return {"output_config": {"format": {"type": "json_schema", "schema": CITY}}, "max_tokens": 8192}
