"""Registry of model classes by model name."""

from __future__ import annotations

import re

from runtime.errors import ConfigurationError
from runtime.models.base_llm import BaseLlm


class LLMRegistry:
    """Maps model names to classes by the patterns of `supported_models()` (contract M1)."""

    _classes: dict[str, type[BaseLlm]] = {}

    @classmethod
    def register(cls, llm_class: type[BaseLlm]) -> None:
        """Register the class for the names it supports. A class registered later wins over an earlier one."""
        for pattern in llm_class.supported_models():
            cls._classes.pop(pattern, None)
            cls._classes[pattern] = llm_class

    @classmethod
    def resolve(cls, model: str) -> type[BaseLlm]:
        """Return the class for a model name.

        Raises:
            ConfigurationError: no class supports the name (contract Q17).
        """
        if found := cls._find(model):
            return found
        patterns = ", ".join(cls._classes)
        raise ConfigurationError(
            f"Model {model!r} not found: no class is registered for this name. Use a name that matches one of "
            f"{patterns}, give the agent a BaseLlm object as its model, or register a class with "
            "LLMRegistry.register()."
        )

    @classmethod
    def supports(cls, model: str) -> bool:
        """True when a class is registered for the model name."""
        return cls._find(model) is not None

    @classmethod
    def _find(cls, model: str) -> type[BaseLlm] | None:
        patterns = (pattern for pattern in reversed(cls._classes) if re.fullmatch(pattern, model))
        pattern = next(patterns, None)
        return cls._classes[pattern] if pattern else None

    @classmethod
    def new_llm(cls, model: str) -> BaseLlm:
        """Create a model object for a name; raises as `resolve` does."""
        return cls.resolve(model)(model=model)
