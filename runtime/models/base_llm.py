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
    """Capabilities of a model that change how the engine builds requests.

    Attributes:
        schema_with_tools: True when one request may have both an output schema and function declarations.
    """

    schema_with_tools: bool = False


class BaseLlm(BaseModel, ABC):
    """A model that agents can call by the name `model` (contract M1)."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    model: str

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the model names that `LLMRegistry` maps to this class."""
        return []

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    @abstractmethod
    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request.

        Without `stream`, yield exactly one response. With `stream`, yield fragments marked `partial` as they arrive,
        then one non-partial response with the whole answer. Closing the generator ends the call immediately. The
        request is not changed.

        Raises:
            ModelError: the call failed before any part of the answer arrived (contract E7). A later failure is
                reported by `error_code` of the last response instead.
        """
