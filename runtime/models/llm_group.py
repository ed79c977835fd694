"""Models that ask other models: the next model after a failure, or the model that a function chooses."""

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ClassVar

from pydantic import Field

from runtime.errors import ConfigurationError, ModelError
from runtime.models.base_llm import BaseLlm, Capabilities, SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.rate_limit import ask
from runtime.models.registry import LLMRegistry
from runtime.models.retry import note_failed_attempt

logger = logging.getLogger(__name__)
Choose = Callable[[LlmRequest], str]
"""Return the key of the model to call for a request. The function must not change the request."""


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
        problems: list[SetupProblem] = []
        for model in self.models:
            problems += model.setup_problems()
        return problems


def as_models(models: Iterable[BaseLlm | str]) -> list[BaseLlm]:
    """Return model objects, created for names; raise the errors of `LLMRegistry.resolve`."""
    return [LLMRegistry.new_llm(model) if isinstance(model, str) else model for model in models]


def ask_one(model: BaseLlm, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    """Return a member's responses to a request for the group."""
    # The request names the group, which no provider knows.
    return ask(model, llm_request.model_copy(update={"model": model.model}), stream)


class FallbackLlm(LlmGroup):
    """Call models in order until one answers: `FallbackLlm(["gemini-2.5-flash", Claude()])`.

    The next model is called after a `ModelError`, raised when the retries of the earlier model are used up. A refusal
    is an answer. A failure after a part of an answer has arrived is reported as for a single model.
    """

    def __init__(self, models: Sequence[BaseLlm | str], **fields: Any) -> None:
        if not models:
            raise ConfigurationError("FallbackLlm needs at least one model.")
        resolved = as_models(models)
        names = " or ".join(model.model for model in resolved)
        super().__init__(**{"models": resolved, "model": names, **fields})

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes; raise the error of the last model."""
        *earlier, last = self.models
        for model in earlier:
            has_begun = False
            try:
                async with aclosing(ask_one(model, llm_request, stream)) as responses:
                    async for response in responses:
                        has_begun = True
                        yield response
                return
            except ModelError as error:
                # No answer mixes the texts of two models.
                if has_begun:
                    raise
                note_failed_attempt(error)
                logger.warning("Model %r failed; the next model is asked: %s", model.model, error)
        async with aclosing(ask_one(last, llm_request, stream)) as responses:
            async for response in responses:
                yield response


class RouterLlm(LlmGroup):
    """Call the model chosen by a function: `RouterLlm(choose, {"short": "gemini-2.5-flash", "long": Claude()})`.

    Each request of a turn is routed separately.

    Attributes:
        choose: the function; if it raises an exception, the call fails.
        routes: the models by their keys.

    Raises:
        ConfigurationError: there is no model.
    """

    choose: Choose = Field(exclude=True)
    routes: dict[str, BaseLlm]

    def __init__(self, choose: Choose, models: Mapping[str, BaseLlm | str], **fields: Any) -> None:
        if not models:
            raise ConfigurationError("RouterLlm needs at least one model.")
        resolved = as_models(models.values())
        routes = dict(zip(models, resolved, strict=True))
        names = " or ".join(model.model for model in resolved)
        super().__init__(**{"choose": choose, "routes": routes, "models": resolved, "model": names, **fields})

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes.

        Raises:
            ConfigurationError: the function returned a key without a model.
        """
        key = self.choose(llm_request)
        if key not in self.routes:
            raise ConfigurationError(
                f"The function of RouterLlm chose {key!r}. Choose one of its models: {', '.join(self.routes)}."
            )
        async with aclosing(ask_one(self.routes[key], llm_request, stream)) as responses:
            async for response in responses:
                yield response
