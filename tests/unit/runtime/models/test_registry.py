"""`LLMRegistry` maps model names to classes (contract M1, Q17)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from runtime.errors import ConfigurationError
from runtime.models import BaseLlm, Gemini, LLMRegistry, LlmRequest, LlmResponse


class Parrot(BaseLlm):
    """A custom model class."""

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"parrot-\d+", r"gemini-parrot"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=llm_request.contents[-1])


LLMRegistry.register(Parrot)


@pytest.mark.parametrize(
    "name",
    [
        "gemini-2.5-flash",
        "models/gemini-3-pro",
        "projects/p/locations/l/publishers/google/models/gemini-2.0-flash",
        "projects/p/locations/l/endpoints/123",
    ],
)
def test_m1_gemini_names_resolve_to_gemini(name: str) -> None:
    model = LLMRegistry.new_llm(name)
    assert isinstance(model, Gemini)
    assert model.model == name


def test_m1_a_registered_class_is_resolved_by_its_patterns() -> None:
    assert LLMRegistry.resolve("parrot-7") is Parrot


def test_m1_the_class_registered_last_wins() -> None:
    assert LLMRegistry.resolve("gemini-parrot") is Parrot


@pytest.mark.parametrize("name", ["no-such-model", "parrot-x", "my-gemini-2", ""])
def test_q17_an_unknown_name_is_an_error_with_the_name_and_a_remedy(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name!r}.*LLMRegistry.register") as caught:
        LLMRegistry.new_llm(name)
    assert isinstance(caught.value, ValueError)
