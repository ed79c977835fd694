"""Model name → class."""

from __future__ import annotations

import re

from runtime.errors import ConfigurationError
from runtime.models.base_llm import BaseLlm


class LLMRegistry:
    """Finds the model class for a name by the patterns of `supported_models()` (spec M1)."""

    _classes: dict[str, type[BaseLlm]] = {}

    @classmethod
    def register(cls, llm_class: type[BaseLlm]) -> None:
        """Let the class answer for the names it supports. Of two that match a name the later one wins."""
        for pattern in llm_class.supported_models():
            cls._classes.pop(pattern, None)
            cls._classes[pattern] = llm_class

    @classmethod
    def resolve(cls, model: str) -> type[BaseLlm]:
        """The class for a model name.

        Raises:
            ConfigurationError: no class supports the name (spec Q17).
        """
        for pattern, llm_class in reversed(cls._classes.items()):
            if re.fullmatch(pattern, model):
                return llm_class
        known = ", ".join(cls._classes)
        raise ConfigurationError(
            f"No model class is known for the model name {model!r}. Use a name that matches one of {known}, "
            "give the agent a BaseLlm object as its model, or register a class with LLMRegistry.register()."
        )

    @classmethod
    def new_llm(cls, model: str) -> BaseLlm:
        """A model object for a name; raises as `resolve` does."""
        return cls.resolve(model)(model=model)
