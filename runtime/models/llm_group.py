"""Base of models for several other models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import ClassVar

from runtime.models.base_llm import BaseLlm, Capabilities, SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.rate_limit import ask
from runtime.models.registry import LLMRegistry


class LlmGroup(BaseLlm):
    """Several models, each called by its own name.

    Attributes:
        model: the names of all models, for logs.
    """

    models: list[BaseLlm]

    asks_others: ClassVar[bool] = True

    @property
    def capabilities(self) -> Capabilities:
        """Common capabilities of all models: each request must suit every model."""
        return Capabilities(
            schema_with_tools=all(model.capabilities.schema_with_tools for model in self.models)
        )

    def setup_problems(self) -> list[SetupProblem]:
        return [problem for model in self.models for problem in model.setup_problems()]


def as_models(models: Iterable[BaseLlm | str]) -> list[BaseLlm]:
    """Return model objects, created for names; raise the errors of `LLMRegistry.resolve`."""
    return [LLMRegistry.new_llm(model) if isinstance(model, str) else model for model in models]


def ask_one(model: BaseLlm, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    """Return a member's responses to a request for the group."""
    # The request names the group, which no provider knows.
    return ask(model, llm_request.model_copy(update={"model": model.model}), stream)
