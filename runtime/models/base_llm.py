"""The contract of a model.

Agents hold a `BaseLlm`, or a name that `LLMRegistry` resolves to a subclass. Every subclass takes an `LlmRequest` and
yields `LlmResponse` objects; errors, retries and streaming are the same for all of them, so the engine does not know
which provider answers.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from runtime.errors import ConfigurationError, how_to_install
from runtime.models.embeddings import Embeddings
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse


@dataclass(frozen=True)
class Capabilities:
    """Capabilities that change how the engine builds requests for a model.

    Attributes:
        schema_with_tools: True if a request may have both an output schema and function declarations.
    """

    schema_with_tools: bool = False


@dataclass(frozen=True)
class SetupProblem:
    """A reason why every call of a model or a toolset will fail, and its remedy."""

    problem: str
    remedy: str

    @classmethod
    def missing_key(cls, variable: str, model: str) -> "SetupProblem":
        remedy = f"Set {variable} in the environment, or give the agent a model object with an api_key."
        return cls(f"No API key is set for the model {model!r}", remedy)

    @classmethod
    def missing_package(cls, package: str, model: str) -> "SetupProblem":
        problem = f"The package {package!r} is not installed for the model {model!r}"
        return cls(problem, how_to_install(package))


class BaseLlm(BaseModel, ABC):
    """Base class of the models that agents can call, identified by the name `model` (contract M1).

    A parameter that a model does not have is refused by name.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=(), extra="forbid")

    model: str

    asks_others: ClassVar[bool] = False
    """True for a model that delegates to other models and calls no provider."""
    is_scripted: ClassVar[bool] = False
    """True for a model whose script has answers for the agents' requests only, not for others such as titles."""

    makes_embeddings: ClassVar[bool] = False
    """True for a class with an `embed`."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return regular expressions of the model names that `LLMRegistry` maps to this class."""
        return []

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def setup_problems(self) -> list[SetupProblem]:
        """Return the reasons why calls will fail; no call is made to find them."""
        return []

    @abstractmethod
    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request.

        Without `stream`, yield exactly one response. With `stream`, yield pieces marked `partial` as they arrive,
        then one non-partial response with the whole answer. Closing the generator ends the call immediately. The
        request is not changed.

        Raises:
            ModelError: the call failed before any part of the answer arrived (contract E7). A later failure is
                reported by `error_code` of the last response instead.
        """

    async def embed(self, texts: Sequence[str], dimensions: int) -> Embeddings:
        """Return the vectors of the texts, with this many numbers each.

        Raises:
            ConfigurationError: the class of models makes no embeddings.
            ModelError: the call failed, or the server sent vectors of another length.
        """
        raise ConfigurationError(
            f"{type(self).__name__} makes no embeddings. Name a model of Gemini or OpenAICompatible."
        )
