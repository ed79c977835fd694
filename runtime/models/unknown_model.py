"""UnknownModel: the model of a name that no registered class supports (contract Q17)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from runtime.models.base_llm import BaseLlm, SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.registry import LLMRegistry


class UnknownModel(BaseLlm):
    """Model that can be listed, but not called, so that an agent with a wrong model name can be made."""

    def setup_problems(self) -> list[SetupProblem]:
        remedy = "Correct the name, or register a class for it with LLMRegistry.register()."
        return [SetupProblem(f"No model class is registered for the model {self.model!r}", remedy)]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Fail with the names that can be called.

        Raises:
            ConfigurationError: always.
        """
        LLMRegistry.resolve(self.model)
        yield LlmResponse()  # makes this an async generator, as every implementation is
