"""Each model keeps the contract of models, through its real client and a local HTTP server (contract M2)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime import types
from runtime.models import BaseLlm, Gemini
from tests.contracts.model import ModelAnswersContract, ModelRequestsContract
from tests.contracts.model_failures import ModelFailuresContract
from tests.model_server import Json, ModelServer

RETRY = types.HttpRetryOptions(attempts=3, initial_delay=0.001, jitter=0, max_delay=5)
IMAGE = "cG5n"
CALLS = [("Kyiv", "c1"), ("Łódź", None)]


class ModelContract(ModelAnswersContract, ModelRequestsContract, ModelFailuresContract):
    """All that a model keeps."""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


class TestGemini(ModelContract):
    @pytest.fixture
    def llm(self, server: ModelServer) -> BaseLlm:
        return Gemini(
            model="gemini-test", api_key="test-key", base_url=server.url, timeout=10, retry_options=RETRY
        )

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
