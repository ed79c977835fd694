"""The contract of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse


@dataclass(frozen=True)
class Capabilities:
    """What the engine must know of a model to ask it well.

    Attributes:
        schema_with_tools: an output schema may be asked for in a request that declares functions.
    """

    schema_with_tools: bool = False


class BaseLlm(BaseModel, ABC):
    """A model that agents can ask (spec M1). `model` is the name it is asked under."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    model: str

    @classmethod
    def supported_models(cls) -> list[str]:
        """Regular expressions of the model names that `LLMRegistry` gives to this class."""
        return []

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    @abstractmethod
    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request.

        Without `stream` exactly one response comes. With it, fragments come as they are made, marked
        `partial`, and at the end one response that is not partial and holds the whole answer. Closing the
        generator ends the call at once. The request is not changed.

        Raises:
            ModelError: the model could not be asked or gave nothing (spec E7). What goes wrong after a part
                of the answer has come is told by `error_code` of the last response instead.
        """
