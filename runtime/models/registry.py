"""Registry of model classes by model name."""

import re
from collections.abc import AsyncGenerator

from runtime.errors import ConfigurationError
from runtime.models.base_llm import BaseLlm, SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse


class LLMRegistry:
    """Maps model names to classes by the patterns of `supported_models()` (contract M1)."""

    _classes: dict[str, type[BaseLlm]] = {}

    @classmethod
    def register(cls, llm_class: type[BaseLlm]) -> None:
        """Register the class for the names it supports. The latest registered class wins."""
        for pattern in llm_class.supported_models():
            # Remove the pattern first: an update would keep its old position, and `_find` begins with the newest.
            cls._classes.pop(pattern, None)
            cls._classes[pattern] = llm_class

    @classmethod
    def resolve(cls, model: str) -> type[BaseLlm]:
        """Return the class for a model name.

        Raises:
            ConfigurationError: no class supports the name (contract Q17).
        """
        found = cls._find(model)
        if found is not None:
            return found
        patterns = ", ".join(cls._classes)
        raise ConfigurationError(
            f"Model {model!r} not found: no class is registered for this name. Use a name that matches one of "
            f"{patterns}, give the agent a BaseLlm object as its model, or register a class with "
            "LLMRegistry.register()."
        )

    @classmethod
    def supports(cls, model: str) -> bool:
        return cls._find(model) is not None

    @classmethod
    def _find(cls, model: str) -> type[BaseLlm] | None:
        for pattern, llm_class in reversed(cls._classes.items()):
            if re.fullmatch(pattern, model):
                return llm_class
        return None

    @classmethod
    def new_llm(cls, model: str) -> BaseLlm:
        """Create a model object for a name; raise the errors of `resolve`."""
        return cls.resolve(model)(model=model)


class UnknownModel(BaseLlm):
    """Model with an unsupported name: its agent can be created and listed, but calls fail (contract Q17)."""

    def setup_problems(self) -> list[SetupProblem]:
        remedy = "Correct the name, or register a class for it with LLMRegistry.register()."
        return [SetupProblem(f"No model class is registered for the model {self.model!r}", remedy)]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Raise an error that lists the supported names.

        Raises:
            ConfigurationError: always.
        """
        LLMRegistry.resolve(self.model)
        yield LlmResponse()  # makes this an async generator, as every implementation is
